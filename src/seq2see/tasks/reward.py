"""Learning from rewards: outputs of the model's own, drawn at random, and what they are worth beside the targets."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.memory import Memory
from seq2see.core.tree import select
from seq2see.data.batch import Batch
from seq2see.data.sequences import PAD, pad
from seq2see.data.store import Store
from seq2see.data.tokenise import END, START, UNKNOWN
from seq2see.metrics.cider import Cider
from seq2see.models.seq2seq import Decoder
from seq2see.nn.loss import output_cross_entropy
from seq2see.search.hypothesis import Limits
from seq2see.search.sample import draw_several

Measure = Callable[[Sequence[int], Sequence[Sequence[int]]], float]  # of an output beside all targets of its source

SAMPLES = 4  # outputs that are drawn for each source; each is judged by what the others earn
ORDER = 4  # tokens of the longest n-grams that are compared
ROOM = 5  # tokens by which a sample may be longer than the longest target of all sources in its batch
NEVER = [PAD, START, UNKNOWN]
IMPOSSIBLE = -1e4  # a logit of what is never drawn: its probability is 0, and all gradients are finite
# samples are drawn from the model's probabilities to the power of 1 / TEMPERATURE, and these are what learns: a model
# that learned with label smoothing gives a tenth to words that do not fit, and most outputs would have one of them
TEMPERATURE = 0.5


def build_measure(kind: str, store: Store) -> Measure:
    """What outputs earn: GLEU, or CIDEr-D by how rare n-grams are among the targets of a store."""
    if kind == "gleu":
        return measure_best
    return Cider([store.references(rows[0]) for rows in store.kin])


def reward_loss(decoder: Decoder, memory: Memory, batch: Batch, measure: Measure) -> Float[Tensor, ""]:
    """Wu et al. 2016, eq. 8: minus the expected reward of an output, for all sources of a batch together.

    Its gradient is that of - sum (r - b) log p(sample) / samples, with b the mean reward of the source's other samples.
    """
    module: Any = decoder
    training = module.training
    module.eval()  # the very model that draws is weighed; what dropout would leave of it is another one
    longest = max(len(each) for references in batch.references for each in references)
    written = draw_samples(decoder, memory, longest=longest + ROOM)
    references = [each for each in batch.references for _ in range(SAMPLES)]
    earned = torch.tensor([measure(*pair) for pair in zip(written, references, strict=True)])
    others = (earned.view(-1, SAMPLES).sum(dim=1).repeat_interleave(SAMPLES) - earned) / (SAMPLES - 1)
    weights = (earned - others) / SAMPLES
    shortest_first = torch.tensor([len(each) for each in written]).argsort()
    parts = shortest_first.split(len(memory.states))  # few are long, and the others need not wait for them
    total = torch.stack([_weigh_samples(decoder, memory, written, weights, some) for some in parts]).sum()
    module.train(training)
    return total


def _weigh_samples(
    decoder: Decoder,
    memory: Memory,
    written: Sequence[tuple[int, ...]],
    weights: Float[Tensor, " n"],
    rows: Int[Tensor, " some"],
) -> Float[Tensor, ""]:
    """Minus the weighted log-probabilities of some samples, summed."""
    samples, mask = pad([written[row] for row in rows.tolist()])
    inputs = torch.cat([torch.full_like(samples[:, :1], START), samples[:, :-1]], dim=1)
    sources = replace(select(replace(memory, grid=None), rows // SAMPLES), grid=memory.grid)
    features = decoder.features(inputs.masked_fill(~mask, PAD), sources)
    output: Any = decoder.output
    counts = weights[rows].unsqueeze(1).expand(mask.shape)[mask]
    bias = (output.bias / TEMPERATURE).index_fill(0, torch.tensor(NEVER), IMPOSSIBLE)
    total, _ = output_cross_entropy(features[mask] / TEMPERATURE, output.weight, bias, samples[mask], weights=counts)
    return total


@torch.no_grad()
def draw_samples(decoder: Decoder, memory: Memory, *, longest: int) -> list[tuple[int, ...]]:
    """Some outputs for each source, neighbours together, the end mark last if it was reached."""
    fixed, state = decoder.begin(memory)
    limits = Limits(START, END, torch.full((len(memory.states),), longest), banned=NEVER)
    found = draw_several(
        decoder.step,
        state,
        fixed,
        limits,
        count=SAMPLES,
        temperature=TEMPERATURE,
        chances=lambda rows: torch.rand(len(rows)),
    )
    return [hypothesis.tokens for hypotheses in found for hypothesis in hypotheses]


def measure_best(output: Sequence[int], references: Sequence[Sequence[int]]) -> float:
    """GLEU beside the target that is most like the output; the end mark is no token of it."""
    return max(measure_gleu(_strip(output), _strip(each)) for each in references)


def measure_gleu(output: Sequence[int], target: Sequence[int]) -> float:
    """Wu et al. 2016, section 5: of all n-grams of one to four tokens, those in common over those of the longer."""
    ours, theirs = _count(output), _count(target)
    return sum((ours & theirs).values()) / max(ours.total(), theirs.total(), 1)


def _count(tokens: Sequence[int]) -> Counter[tuple[int, ...]]:
    sizes = range(1, ORDER + 1)
    return Counter(tuple(tokens[place : place + n]) for n in sizes for place in range(len(tokens) - n + 1))


def _strip(tokens: Sequence[int]) -> list[int]:
    """Without marks."""
    return [token for token in tokens if token not in (PAD, END)]
