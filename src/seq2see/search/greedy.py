"""Greedy search."""

from typing import Any

from seq2see.search.hypothesis import Hypothesis, Limits, Step
from seq2see.search.walk import walk


class Greedy:
    """The likeliest token at every step."""

    width = 1

    def __call__(self, step: Step, state: Any, fixed: Any, limits: Limits) -> list[list[Hypothesis]]:
        return [[row] for row in walk(step, state, fixed, limits, choose=lambda logprobs, _: logprobs.argmax(dim=1))]
