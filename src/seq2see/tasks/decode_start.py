"""The start of decoding: what a model, or an ensemble, knows of a batch of sources before the first token."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from jaxtyping import Float, Int
from torch import Tensor

from seq2see.core.errors import SearchError, Seq2SeeError
from seq2see.core.memory import Memory
from seq2see.core.trace import Trace, tracing
from seq2see.models.seq2seq import Seq2Seq
from seq2see.search.ensemble import average
from seq2see.search.hypothesis import Step


@dataclass(frozen=True)
class DecodeStart:
    """Holds what a search is given for a batch of sources.

    Args:
        step: the step function of a decoder, or of an ensemble: from tokens, state and `fixed` to logits and the next
            state.
        state: the state before the first step, a tree with one row a source, which only `step` reads.
        fixed: what is constant for each source, a tree with one row a source, which only `step` reads.
        longest: how many tokens the output of each source may have, the end token included, unless the rules say
            otherwise, [b].
        coverage: reads off a state the attention that each hypothesis has paid to each source position, [n s]; None if
            nobody adds it up.
    """

    step: Step[Any, Any]
    state: object
    fixed: object
    longest: Int[Tensor, " b"]
    coverage: Callable[[Any], Tensor] | None = None


@dataclass(frozen=True)
class Covered:
    """Holds a decoder's state, and the attention that each hypothesis has paid to each source position so far.

    Args:
        inner: the decoder's own state.
        paid: the attention, summed over the steps, [n s]; it starts at 1 where the source is padding, which so counts
            as covered.
    """

    inner: object
    paid: Float[Tensor, "n s"]


def cover(start: DecodeStart, model: Seq2Seq, memory: Memory) -> DecodeStart:
    """Return the same start with a step that adds up the attention to the source.

    Args:
        start: the start of one model.
        model: that model, whose attention is recorded at each step.
        memory: what its encoder returned for the sources.

    Raises:
        SearchError: if the states of the memory are rows of a machine and not tokens; at the first step, if the model
            does not attend to every position of the source.
    """
    if memory.head_weights is not None:
        raise SearchError("leave out coverage_penalty: this model reads a memory whose rows stand for no source token.")

    def step(tokens: Tensor, state: Covered, fixed: object) -> tuple[Tensor, Covered]:
        try:
            with tracing(model) as trace:
                logits, inner = start.step(tokens, state.inner, fixed)
        except Seq2SeeError as error:
            raise SearchError(f"leave out coverage_penalty: {error}") from None
        return logits, Covered(inner, state.paid + look_up(trace, state.paid.shape))

    state = Covered(start.state, torch.where(memory.mask, 0.0, 1.0))
    return replace(start, step=step, state=state, coverage=lambda state: state.paid)


def look_up(trace: Trace, shape: torch.Size) -> Float[Tensor, "n s"]:
    """Return the attention of one step to the source, averaged over heads and over the layers that attend to it.

    A row of weights is a hypothesis, or a source with its hypotheses as queries; either way they come in order.

    Args:
        trace: the attention of one step.
        shape: the shape of the result: n hypotheses, s source positions.
    """
    maps = [trace.weights(name) for name in trace.source_names]
    means = [weights.mean(dim=1).reshape(shape) for weights in maps if weights.shape[-1] == shape[1]]
    if not means:
        raise SearchError("coverage_penalty needs attention to every position of the source; leave it out.")
    return torch.stack(means).mean(dim=0)


def renumber(start: DecodeStart, ids: Int[Tensor, " v"]) -> DecodeStart:
    """Return the same start for a vocabulary in another order.

    Args:
        start: the start of a model with a vocabulary of its own.
        ids: the ids that this model has for the tokens of the other vocabulary, in the order of the latter, [v].
    """

    def step(tokens: Tensor, state: object, fixed: object) -> tuple[Tensor, object]:
        logits, state = start.step(ids[tokens], state, fixed)
        return logits[:, ids], state

    return start if torch.equal(ids, torch.arange(len(ids))) else replace(start, step=step)


def join(starts: Sequence[DecodeStart]) -> DecodeStart:
    """Return one start from those of several models, whose probabilities are averaged (an ensemble).

    The longest output of a source is the longest one of any model, and the coverage is that of the first model.

    Args:
        starts: the starts of the models for the same sources and one vocabulary; at least one.
    """
    first = starts[0]
    if len(starts) == 1:
        return first
    paid = first.coverage
    return DecodeStart(
        step=average([one.step for one in starts]),
        state=tuple(one.state for one in starts),
        fixed=tuple(one.fixed for one in starts),
        longest=torch.stack([one.longest for one in starts]).amax(dim=0),
        coverage=None if paid is None else lambda states: paid(states[0]),
    )
