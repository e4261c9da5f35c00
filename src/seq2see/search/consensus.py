"""The vote of a beam's outputs, and of others drawn at random, on which of a beam's says best what they all say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from jaxtyping import Float
from torch import Tensor

from seq2see.search.hypothesis import Hypothesis, Limits, Step
from seq2see.search.sample import draw_several

LONGEST = 2  # tokens in a row that are compared
SHARE = 2 / 3  # of all voices that witnesses have: a beam knows little but variants of one output
TEMPERATURE = 0.6  # of witnesses: below 1, or too many would have words that label smoothing alone makes possible
SEED = 1

Text = tuple[int, ...]


def vote(
    found: Sequence[Hypothesis], witnesses: Sequence[Hypothesis] = (), *, power: float, precision: float = 0.5
) -> list[Hypothesis]:
    """The same outputs, scored by how far each agrees with all voices, from 0 to 1 (Kumar & Byrne 2004).

    The voice of each has the weight exp(score) ** power, with the score it had: so penalties count, and an output of
    few tokens, which is likely because it is short, does not outvote all others. Witnesses have a voice each, all
    alike, and cannot be chosen (as in Eikema & Aziz 2022).
    """
    if not found:
        return []
    voices = (power * torch.tensor([each.score for each in found], dtype=torch.float64)).softmax(dim=0)
    if witnesses:
        others = voices.new_full((len(witnesses),), SHARE / len(witnesses))
        voices = torch.cat([(1 - SHARE) * voices, others])
    texts, heard = [_strip(each) for each in found], [_strip(each) for each in (*found, *witnesses)]
    lengths = range(1, LONGEST + 1)
    agreement = torch.stack([_compare(texts, heard, length, precision) for length in lengths]).mean(dim=0)
    return [replace(each, score=score) for each, score in zip(found, (agreement @ voices).tolist(), strict=True)]


def draw_witnesses(step: Step, state: Any, fixed: Any, limits: Limits, *, count: int) -> list[list[Hypothesis]]:
    """Outputs of each source, drawn at random; all draw with the same numbers, so that company changes nothing."""
    if not count:
        return [[] for _ in limits.longest]
    stream = torch.Generator().manual_seed(SEED)
    return draw_several(
        step,
        state,
        fixed,
        replace(limits, watch=None),
        count=count,
        temperature=TEMPERATURE,
        chances=lambda rows: torch.rand(count, generator=stream)[rows % count],
    )


def _strip(one: Hypothesis) -> Text:
    """Its tokens without the end mark."""
    return one.tokens[:-1] if one.finished else one.tokens


def _compare(texts: Sequence[Text], heard: Sequence[Text], length: int, precision: float) -> Float[Tensor, "k m"]:
    """How much texts have in common with what is heard, in runs of some tokens: an F-measure."""
    runs = [Counter(zip(*(text[start:] for start in range(length)), strict=False)) for text in (*texts, *heard)]
    places = {run: place for place, run in enumerate(dict.fromkeys(run for each in runs for run in each))}
    counts = torch.zeros(len(runs), len(places), dtype=torch.float64)
    for row, each in enumerate(runs):
        for run, count in each.items():
            counts[row, places[run]] = count
    said, others = counts[: len(texts)].unsqueeze(1), counts[len(texts) :].unsqueeze(0)
    shared, sizes = torch.minimum(said, others).sum(dim=2), (said.sum(dim=2), others.sum(dim=2))
    whole = precision * sizes[0] + (1 - precision) * sizes[1]
    empty = sizes[0] + sizes[1] == 0  # two that are too short agree
    return torch.where(empty, 1.0, shared / whole.clamp(min=torch.finfo(whole.dtype).tiny))
