"""The vote of a beam's outputs on which of them says best what they all say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import torch
from jaxtyping import Float
from torch import Tensor

from seq2see.search.hypothesis import Hypothesis

LONGEST = 2  # tokens in a row that are compared


def vote(found: Sequence[Hypothesis], *, power: float) -> list[Hypothesis]:
    """The same outputs, scored by how far each agrees with all of them, from 0 to 1 (Kumar & Byrne 2004).

    The voice of each has the weight exp(score) ** power, with the score it had: so penalties count, and an output of
    few tokens, which is likely because it is short, does not outvote all others.
    """
    if not found:
        return []
    voices = (power * torch.tensor([each.score for each in found], dtype=torch.float64)).softmax(dim=0)
    texts = [each.tokens[:-1] if each.finished else each.tokens for each in found]
    agreement = torch.stack([_compare(texts, length) for length in range(1, LONGEST + 1)]).mean(dim=0)
    return [replace(each, score=score) for each, score in zip(found, (agreement @ voices).tolist(), strict=True)]


def _compare(texts: Sequence[tuple[int, ...]], length: int) -> Float[Tensor, "k k"]:
    """How much texts have in common, in runs of some tokens: an F-measure."""
    runs = [Counter(zip(*(text[start:] for start in range(length)), strict=False)) for text in texts]
    places = {run: place for place, run in enumerate(dict.fromkeys(run for each in runs for run in each))}
    counts = torch.zeros(len(texts), len(places), dtype=torch.float64)
    for row, each in enumerate(runs):
        for run, count in each.items():
            counts[row, places[run]] = count
    shared = torch.minimum(counts.unsqueeze(1), counts.unsqueeze(0)).sum(dim=2)
    said = counts.sum(dim=1)
    whole = said.unsqueeze(1) + said.unsqueeze(0)
    return torch.where(whole > 0, 2 * shared / whole.clamp(min=1), 1.0)  # two that are too short agree
