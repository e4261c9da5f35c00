"""Minimum risk training: the model maximises the expected reward of the outputs that it samples."""

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

# from the ids of an output and of all targets of its source to a number: the higher, the better
Reward = Callable[[Sequence[int], Sequence[Sequence[int]]], float]

SAMPLES_PER_SOURCE = 4  # the baseline of each is the mean reward of the others
LONGEST_NGRAM = 4  # tokens
EXTRA_TOKENS = 5  # by which a sample may be longer than the longest target of all sources in its batch
NEVER_SAMPLED = [PAD, START, UNKNOWN]
IMPOSSIBLE = -1e4  # the logit of a token that is never sampled: its probability is 0, and all gradients are finite
# samples come from the model's probabilities to the power of 1 / TEMPERATURE, and training changes the probabilities
# of that sharper distribution: a model trained with label smoothing gives a tenth to words that do not fit, and most
# outputs sampled from its plain probabilities would have one of them
TEMPERATURE = 0.5


class MinimumRisk(LossTerm):
    """Mixes the loss so far L with the risk R: (1 - weight) L + weight R.

    For each source x, R = - E_{y ~ p(y | x)} r(y, y*) is the risk of Shen et al. 2016 (arXiv:1512.02433) with the loss
    -r, and minus eq. 8 of Wu et al. 2016 (arXiv:1609.08144). The mixture with the likelihood is eq. 9 of the latter,
    with weights that add up to 1. REINFORCE estimates the gradient of R from samples, each against the mean reward of
    the other samples of its source: self-critical training (Rennie et al. 2017, arXiv:1612.00563, eq. 7) with a
    leave-one-out baseline.

    Args:
        reward: r, of an output given all targets of its source.
        weight: the weight of the risk, from 0 to 1; the rest is that of the loss so far.
        start: the share of the updates, from 0 to 1, that come first with the likelihood alone.
        updates: all updates of the training.
    """

    def __init__(self, *, reward: Reward, weight: float, start: float, updates: int) -> None:
        self.reward, self.weight, self.start, self.updates = reward, weight, start, updates

    def needs_references(self, step: int) -> bool:
        """Return whether the risk is part of the loss at an update, because rewards compare samples with all targets.

        Args:
            step: the number of the update, from 1.
        """
        return step > self.start * self.updates

    def add(self, total: Float[Tensor, ""], forward: ForwardPass, step: int) -> Float[Tensor, ""]:
        """Return the mixture of the loss so far and the risk; before the risk starts, the loss so far."""
        if not self.needs_references(step):
            return total
        risk = expected_risk(forward.model.decoder, forward.memory, forward.batch, self.reward)
        return (1 - self.weight) * total + self.weight * risk


def build_reward(kind: str, store: Store) -> Reward:
    """Return the reward of a name.

    Args:
        kind: `gleu`, or `cider`: CIDEr-D.
        store: the training data; CIDEr-D takes from it how rare each n-gram is.
    """
    if kind == "gleu":
        return best_gleu
    return Cider([store.references(rows[0]) for rows in store.rows_by_source])


def expected_risk(decoder: Decoder, memory: Memory, batch: Batch, reward: Reward) -> Float[Tensor, ""]:
    """Return a sum over all sources of a batch whose gradient estimates that of R; its value is not R.

    It is - sum (r - b) log p(sample) / samples, with b the mean reward of the source's other samples, and p at
    `TEMPERATURE`. The decoder computes in evaluation mode, and its mode is restored afterwards.

    Args:
        decoder: the decoder that samples and learns.
        memory: what the encoder returned for the sources.
        batch: the batch, which must carry all targets of its sources as `references`.
        reward: r, of an output given all targets of its source.
    """
    training = decoder.training
    decoder.train(False)  # dropout would make the model that learns another one than the model that sampled
    try:
        return _estimate_risk(decoder, memory, batch, reward)
    finally:
        decoder.train(training)


def _estimate_risk(decoder: Decoder, memory: Memory, batch: Batch, reward: Reward) -> Float[Tensor, ""]:
    """Return what `expected_risk` returns, of a decoder in evaluation mode."""
    longest = max(len(each) for references in batch.references for each in references)
    samples = sample_outputs(decoder, memory, longest=longest + EXTRA_TOKENS)
    references = [each for each in batch.references for _ in range(SAMPLES_PER_SOURCE)]
    rewards = torch.tensor([reward(*pair) for pair in zip(samples, references, strict=True)])
    sums = rewards.view(-1, SAMPLES_PER_SOURCE).sum(dim=1).repeat_interleave(SAMPLES_PER_SOURCE)
    baseline = (sums - rewards) / (SAMPLES_PER_SOURCE - 1)
    weights = (rewards - baseline) / SAMPLES_PER_SOURCE
    shortest_first = torch.tensor([len(each) for each in samples]).argsort()
    parts = shortest_first.split(len(memory.states))  # few samples are long, and the others need not be padded to them
    return torch.stack([_weighted_nll(decoder, memory, samples, weights, some) for some in parts]).sum()


def _weighted_nll(
    decoder: Decoder,
    memory: Memory,
    samples: Sequence[tuple[int, ...]],
    weights: Float[Tensor, " n"],
    rows: Int[Tensor, " some"],
) -> Float[Tensor, ""]:
    """Return minus the weighted log-probabilities of some samples, summed."""
    device = memory.states.device
    targets, mask = (part.to(device) for part in pad([samples[row] for row in rows.tolist()]))
    rows = rows.to(device)
    inputs = torch.cat([torch.full_like(targets[:, :1], START), targets[:, :-1]], dim=1)
    sources = replace(select(replace(memory, grid=None), rows // SAMPLES_PER_SOURCE), grid=memory.grid)
    features = decoder.features(inputs.masked_fill(~mask, PAD), sources)
    output = decoder.output
    counts = weights.to(device)[rows].unsqueeze(1).expand(mask.shape)[mask]
    bias = (output.bias / TEMPERATURE).index_fill(0, torch.tensor(NEVER_SAMPLED, device=device), IMPOSSIBLE)
    total, _ = output_cross_entropy(features[mask] / TEMPERATURE, output.weight, bias, targets[mask], weights=counts)
    return total


@torch.no_grad()
def sample_outputs(decoder: Decoder, memory: Memory, *, longest: int) -> list[tuple[int, ...]]:
    """Return `SAMPLES_PER_SOURCE` outputs for each source, those of one source together, without the start token.

    The end token is last where it was reached before the longest length.

    Args:
        decoder: the decoder that samples, at `TEMPERATURE`.
        memory: what the encoder returned for the sources.
        longest: how many tokens an output may have, the end token included.
    """
    fixed, state = decoder.begin(memory)
    limits = Limits(
        START, END, memory.mask.new_full((len(memory.mask),), longest, dtype=torch.long), banned=NEVER_SAMPLED
    )
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
    """Return GLEU with the target that is most like the output; padding and the end token do not count.

    Args:
        output: the ids of the output.
        references: the ids of each target of its source; at least one.
    """
    return max(gleu(_strip(output), _strip(each)) for each in references)


def gleu(output: Sequence[int], target: Sequence[int]) -> float:
    """Return GLEU, from 0 to 1: of all n-grams of one to four tokens, those in common over those of the longer text.

    Wu et al. 2016 (arXiv:1609.08144), section 5.2: the smaller one of precision and recall.

    Args:
        output: the ids of the output, without the end token.
        target: the ids of the target, without the end token.
    """
    ours, theirs = _count_ngrams(output), _count_ngrams(target)
    return sum((ours & theirs).values()) / max(ours.total(), theirs.total(), 1)


def _count_ngrams(tokens: Sequence[int]) -> Counter[tuple[int, ...]]:
    sizes = range(1, LONGEST_NGRAM + 1)
    return Counter(tuple(tokens[place : place + n]) for n in sizes for place in range(len(tokens) - n + 1))


def _strip(tokens: Sequence[int]) -> list[int]:
    """Return the tokens without padding and end token."""
    return [token for token in tokens if token not in (PAD, END)]
