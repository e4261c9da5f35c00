"""Greedy search."""

from jaxtyping import Float, Int
from torch import Tensor

from seq2see.search.beam import top
from seq2see.search.hypothesis import Fixed, Hypothesis, Limits, State, Step
from seq2see.search.walk import walk


class Greedy:
    """Takes the likeliest token at every step.

    So y_t = argmax_y p(y | y_1 ... y_{t-1}, x), until the end token or the limit. It returns one output a source, with
    the mean log-probability of its tokens as score.
    """

    width = 1
    reports_margins = True

    def __call__(self, step: Step[State, Fixed], state: State, fixed: Fixed, limits: Limits) -> list[list[Hypothesis]]:
        def choose(logprobs: Float[Tensor, "n v"], sources: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
            if limits.observer is not None:
                first, second = logprobs.topk(2, dim=1).values.unbind(dim=1)
                limits.observer.decide(sources, first - second)
            return top(logprobs, 1)[1].squeeze(1)

        return [[row] for row in walk(step, state, fixed, limits, choose=choose)]
