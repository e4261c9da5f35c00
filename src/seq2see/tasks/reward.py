"""Learning from rewards: outputs of the model's own, drawn at random, and what they are worth beside the target."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor, nn

from seq2see.core.choice import choosing
from seq2see.core.memory import Memory
from seq2see.core.tree import expand
from seq2see.data.batch import Batch
from seq2see.data.sequences import PAD
from seq2see.data.tokenise import END, START, UNKNOWN
from seq2see.models.seq2seq import Decoder
from seq2see.nn.loss import output_cross_entropy
from seq2see.search.sample import draw

SAMPLES = 4  # outputs that are drawn for each source; each is judged by what the others earn
ORDER = 4  # tokens of the longest n-grams that are compared
ROOM = 5  # tokens by which a sample may be longer than the longest target of its batch
NEVER = [PAD, START, UNKNOWN]


def reward_loss(decoder: Decoder, memory: Memory, batch: Batch) -> Float[Tensor, ""]:
    """Wu et al. 2016, eq. 8: minus the expected GLEU of an output, for all sources of a batch together.

    Its gradient is that of - sum (r - b) log p(sample) / samples, with b the mean reward of the source's other samples.
    """
    samples = draw_samples(decoder, memory, longest=batch.targets.shape[1] + ROOM)
    rows = zip(samples.tolist(), batch.targets.repeat_interleave(SAMPLES, dim=0).tolist(), strict=True)
    earned = torch.tensor([measure_gleu(_cut(sample), _cut(target)) for sample, target in rows]).view(-1, SAMPLES)
    better = (earned - (earned.sum(dim=1, keepdim=True) - earned) / (SAMPLES - 1)).flatten()
    inputs = torch.cat([torch.full_like(samples[:, :1], START), samples[:, :-1]], dim=1)
    mask = _until_end(samples)
    with choosing():  # what hard attention chooses on the way is rewarded beside the likelihood, not here
        features = decoder.features(inputs.masked_fill(~mask, PAD), _repeat(memory))
    weights = (better / SAMPLES).unsqueeze(1).expand(mask.shape)[mask]
    output: Any = decoder.output
    total, _ = output_cross_entropy(features[mask], output.weight, output.bias, samples[mask], weights=weights)
    return total


@torch.no_grad()
def draw_samples(decoder: Decoder, memory: Memory, *, longest: int) -> Int[Tensor, "n t"]:
    """Some outputs for each source, neighbours together, drawn token by token; behind an end mark stands anything."""
    module: Any = decoder
    training = module.training
    module.eval()
    fixed, state = decoder.begin(memory)
    state = expand(state, SAMPLES)
    tokens = torch.full((len(memory.states) * SAMPLES,), START)
    written: list[Tensor] = []
    done = torch.zeros_like(tokens, dtype=torch.bool)
    while len(written) < longest and not done.all():
        logits, state = decoder.step(tokens, state, fixed)
        logits[:, NEVER] = -torch.inf
        tokens = draw(logits.softmax(dim=1), torch.rand(len(logits)))  # torch.multinomial takes twenty times as long
        written.append(tokens)
        done |= tokens == END
    nn.Module.train(module, training)
    return torch.stack(written, dim=1)


def measure_gleu(output: Sequence[int], target: Sequence[int]) -> float:
    """Wu et al. 2016, section 5: of all n-grams of one to four tokens, those in common over those of the longer."""
    ours, theirs = _count(output), _count(target)
    return sum((ours & theirs).values()) / max(ours.total(), theirs.total(), 1)


def _count(tokens: Sequence[int]) -> Counter[tuple[int, ...]]:
    sizes = range(1, ORDER + 1)
    return Counter(tuple(tokens[place : place + n]) for n in sizes for place in range(len(tokens) - n + 1))


def _cut(tokens: list[int]) -> list[int]:
    """What stands before the end mark."""
    return tokens[: tokens.index(END)] if END in tokens else tokens


def _until_end(samples: Int[Tensor, "n t"]) -> Bool[Tensor, "n t"]:
    """The tokens up to the end mark, with it."""
    ended = (samples == END).cumsum(dim=1)
    return (ended == 0) | ((ended == 1) & (samples == END))


def _repeat(memory: Memory) -> Memory:
    """A memory for each sample."""
    return replace(expand(replace(memory, grid=None), SAMPLES), grid=memory.grid)
