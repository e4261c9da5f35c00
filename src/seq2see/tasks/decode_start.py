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
    """What a search is given for a batch of sources."""

    step: Step[Any, Any]  # of any decoder: its state is a tree that only it reads
    state: object
    fixed: object
    longest: Int[Tensor, " b"]  # tokens an output may have, unless max_length says otherwise
    coverage: Callable[[Any], Tensor] | None = None  # of a state: the attention paid to each source position [n s]


@dataclass(frozen=True)
class Covered:
    """A decoder's state, and the attention each hypothesis has paid to each source position so far."""

    inner: object
    paid: Float[Tensor, "n s"]  # 1 where the source is padded: that is covered


def cover(start: DecodeStart, model: Seq2Seq, memory: Memory) -> DecodeStart:
    """The same start with a step that adds up the attention of `model`."""
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
    """The attention of one step to the source, averaged over heads and Attends.

    A row of weights is a hypothesis, or a source with its hypotheses as queries; either way they come in order.
    """
    maps = [trace.weights(name) for name in trace.source_names]
    means = [weights.mean(dim=1).reshape(shape) for weights in maps if weights.shape[-1] == shape[1]]
    if not means:
        raise SearchError("coverage_penalty needs attention to every position of the source; leave it out.")
    return torch.stack(means).mean(dim=0)


def renumber(start: DecodeStart, ids: Int[Tensor, " v"]) -> DecodeStart:
    """The same start for a vocabulary in another order: `ids` are the model's own ids in that order."""

    def step(tokens: Tensor, state: object, fixed: object) -> tuple[Tensor, object]:
        logits, state = start.step(ids[tokens], state, fixed)
        return logits[:, ids], state

    return start if torch.equal(ids, torch.arange(len(ids))) else replace(start, step=step)


def join(starts: Sequence[DecodeStart]) -> DecodeStart:
    """One start from those of several models, whose probabilities are averaged; the first one's coverage counts."""
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
