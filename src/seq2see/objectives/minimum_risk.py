"""Minimum risk training: outputs that the model samples become likelier by the reward that they earn."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.core.special_tokens import END, PAD, START, UNKNOWN
from seq2see.core.tree import select
from seq2see.data.batch import Batch
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pad
from seq2see.metrics.cider import Cider
from seq2see.models.seq2seq import Decoder
from seq2see.nn.cross_entropy import output_cross_entropy
from seq2see.objectives.forward_pass import ForwardPass, LossTerm
from seq2see.search.hypothesis import Limits
from seq2see.search.sample import draw_several

Reward = Callable[[Sequence[int], Sequence[Sequence[int]]], float]  # of an output, given all targets of its source

SAMPLES_PER_SOURCE = 4  # the baseline of each is the mean reward of the others
LONGEST_NGRAM = 4  # tokens
EXTRA_TOKENS = 5  # by which a sample may be longer than the longest target of all sources in its batch
NEVER_SAMPLED = [PAD, START, UNKNOWN]
IMPOSSIBLE = -1e4  # the logit of a token that is never sampled: its probability is 0, and all gradients are finite
# samples come from the model's probabilities to the power of 1 / TEMPERATURE, and these are what learns: a model that
# learned with label smoothing gives a tenth to words that do not fit, and most outputs would have one of them
TEMPERATURE = 0.5


class MinimumRisk(LossTerm):
    """Expected reward training: (1 - weight) L + weight * R, with R = - E_{y ~ p(y | x)} r(y, y*) for each source x.

    R is the risk of Shen et al. 2016 (arXiv:1512.02433) with the loss -r, and minus eq. 8 of Wu et al. 2016
    (arXiv:1609.08144); the mixture with the likelihood is their eq. 9, with weights that add up to 1. The gradient of R
    is estimated by REINFORCE from samples, each against the mean reward of the other samples of its source: the
    self-critical training of Rennie et al. 2017 (arXiv:1612.00563, eq. 7) with a leave-one-out baseline.

    Args:
        reward: r, of an output given all targets of its source.
        weight: of the risk; the rest is that of the likelihood.
        start: share of the updates of a training that come before, with the likelihood alone.
        updates: of the training.
    """

    def __init__(self, *, reward: Reward, weight: float, start: float, updates: int) -> None:
        self.reward, self.weight, self.start, self.updates = reward, weight, start, updates

    def needs_references(self, step: int) -> bool:
        """Whether outputs are rewarded at an update."""
        return step > self.start * self.updates

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """The mixture of the loss so far and the risk, once the updates with the likelihood alone are over."""
        if not self.needs_references(step):
            return total
        risk = expected_risk(forward.model.decoder, forward.memory, forward.batch, self.reward)
        return (1 - self.weight) * total + self.weight * risk


def build_reward(kind: str, store: Store) -> Reward:
    """The reward of a name.

    Args:
        kind: `gleu`, or `cider`: CIDEr-D.
        store: the training data; CIDEr-D takes from it how rare each n-gram is.
    """
    if kind == "gleu":
        return best_gleu
    return Cider([store.references(rows[0]) for rows in store.rows_by_source])


def expected_risk(decoder: Decoder, memory: Memory, batch: Batch, reward: Reward) -> Float[Tensor, ""]:
    """R for all sources of a batch together.

    Its gradient is that of - sum (r - b) log p(sample) / samples, with b the mean reward of the source's other samples.
    """
    training = decoder.training
    decoder.train(False)  # the very model that samples is the one that learns; dropout would make another one of it
    longest = max(len(each) for references in batch.references for each in references)
    samples = sample_outputs(decoder, memory, longest=longest + EXTRA_TOKENS)
    references = [each for each in batch.references for _ in range(SAMPLES_PER_SOURCE)]
    rewards = torch.tensor([reward(*pair) for pair in zip(samples, references, strict=True)])
    sums = rewards.view(-1, SAMPLES_PER_SOURCE).sum(dim=1).repeat_interleave(SAMPLES_PER_SOURCE)
    baseline = (sums - rewards) / (SAMPLES_PER_SOURCE - 1)
    weights = (rewards - baseline) / SAMPLES_PER_SOURCE
    shortest_first = torch.tensor([len(each) for each in samples]).argsort()
    parts = shortest_first.split(len(memory.states))  # few samples are long, and the others need not be padded to them
    total = torch.stack([_weighted_nll(decoder, memory, samples, weights, some) for some in parts]).sum()
    decoder.train(training)
    return total


def _weighted_nll(
    decoder: Decoder,
    memory: Memory,
    samples: Sequence[tuple[int, ...]],
    weights: Float[Tensor, " n"],
    rows: Int[Tensor, " some"],
) -> Float[Tensor, ""]:
    """Minus the weighted log-probabilities of some samples, summed."""
    targets, mask = pad([samples[row] for row in rows.tolist()])
    inputs = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], dim=1)
    sources = replace(select(replace(memory, grid=None), rows // SAMPLES_PER_SOURCE), grid=memory.grid)
    features = decoder.features(inputs.masked_fill(~mask, PAD), sources)
    output = decoder.output
    counts = weights[rows].unsqueeze(1).expand(mask.shape)[mask]
    bias = (output.bias / TEMPERATURE).index_fill(0, torch.tensor(NEVER_SAMPLED), IMPOSSIBLE)
    total, _ = output_cross_entropy(features[mask] / TEMPERATURE, output.weight, bias, targets[mask], weights=counts)
    return total


@torch.no_grad()
def sample_outputs(decoder: Decoder, memory: Memory, *, longest: int) -> list[tuple[int, ...]]:
    """Some outputs for each source, those of one source together, with the end token last if it was reached."""
    fixed, state = decoder.begin(memory)
    limits = Limits(START, END, torch.full((len(memory.states),), longest), banned=NEVER_SAMPLED)
    found = draw_several(
        decoder.step,
        state,
        fixed,
        limits,
        count=SAMPLES_PER_SOURCE,
        temperature=TEMPERATURE,
        chances=lambda rows: torch.rand(len(rows)),
    )
    return [hypothesis.tokens for hypotheses in found for hypothesis in hypotheses]


def best_gleu(output: Sequence[int], references: Sequence[Sequence[int]]) -> float:
    """GLEU with the target that is most like the output; the end token does not count."""
    return max(gleu(_strip(output), _strip(each)) for each in references)


def gleu(output: Sequence[int], target: Sequence[int]) -> float:
    """Wu et al. 2016, section 5.2: of all n-grams of one to four tokens, those in common over those of the longer."""
    ours, theirs = _count_ngrams(output), _count_ngrams(target)
    return sum((ours & theirs).values()) / max(ours.total(), theirs.total(), 1)


def _count_ngrams(tokens: Sequence[int]) -> Counter[tuple[int, ...]]:
    sizes = range(1, LONGEST_NGRAM + 1)
    return Counter(tuple(tokens[place : place + n]) for n in sizes for place in range(len(tokens) - n + 1))


def _strip(tokens: Sequence[int]) -> list[int]:
    """The tokens without padding and end token."""
    return [token for token in tokens if token not in (PAD, END)]
