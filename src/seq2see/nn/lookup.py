"""A soft lookup: attention on plain tensors, for whoever has queries, keys and values and no model."""

from typing import Annotated, Any, Literal, overload

import torch
from annotated_types import Gt
from jaxtyping import Float
from torch import Tensor

from seq2see.core.errors import AttentionError, ConfigError
from seq2see.core.registry import part
from seq2see.core.trace import tracing
from seq2see.nn.attend import Attend
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Score


class Tempered(Score):
    """The scores of another one, divided by a temperature: below 1 sharper, above 1 flatter."""

    def __init__(self, score: Score, temperature: Annotated[float, Gt(0)]) -> None:
        super().__init__()
        self.inner, self.temperature, self.content = score, temperature, score.content

    def prepare(self, keys: Float[Tensor, "b h s k"]) -> Float[Tensor, "b h s _"]:
        return self.inner.prepare(keys)

    def forward(self, query: Float[Tensor, "b h t q"], keys: Float[Tensor, "b h s _"]) -> Float[Tensor, "b h t s"]:
        return self.inner(query, keys) / self.temperature

    def fused_scale(self, size: int) -> float | None:
        scale = self.inner.fused_scale(size)
        return None if scale is None else scale / self.temperature


@overload
def attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    score: Any = "scaled_dot",
    mask: Tensor | None = None,
    temperature: float = 1.0,
    weights: Literal[False] = False,
) -> Tensor: ...
@overload
def attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    score: Any = "scaled_dot",
    mask: Tensor | None = None,
    temperature: float = 1.0,
    weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attend(
    query: Tensor,
    keys: Tensor,
    values: Tensor,
    *,
    score: Any = "scaled_dot",
    mask: Tensor | None = None,
    temperature: float = 1.0,
    weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """softmax(score(query, keys) / temperature) @ values, for tensors [t q], [s k], [s d], with [b] or [b h] before.

    The score is a name of the registry, {kind: name, ...} or a Score of your own. The mask is bool, True where a query
    may attend to a key, of a shape that fits [t s] or [b h t s]. With `weights`, context and weights are returned.
    """
    _check(query, keys, values, mask, temperature)
    module = Attend(score=Tempered(_find_score(score, query, keys), temperature), normalise=Softmax())
    queries, prepared, contents = (_spread(tensor) for tensor in (query, keys, values))
    allowed = None if mask is None else mask.expand(*query.shape[:-1], keys.shape[-2])
    allowed = None if allowed is None else _spread(allowed)
    if not weights:
        return module(queries, module.prepare(prepared), contents, allowed).reshape(*query.shape[:-1], -1)
    with tracing(module) as trace:
        context: Tensor = module(queries, module.prepare(prepared), contents, allowed)
    seen = trace.weights(trace.names[0])
    return context.reshape(*query.shape[:-1], -1), seen.reshape(*query.shape[:-1], -1)


def _find_score(score: Any, query: Tensor, keys: Tensor) -> Score:
    if isinstance(score, Score):
        return score
    named = part("score", score)
    built: Score = named(query_size=query.shape[-1], key_size=keys.shape[-1])
    if any(parameter.ndim for parameter in built.parameters()):
        kind = type(built)
        raise ConfigError(
            f"the {named.kind} score has weights that must be learned, so its name is not enough; give the module that "
            f"has them, an instance of {kind.__module__}.{kind.__name__}."
        )
    return built.to(query.dtype)


def _check(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, temperature: float) -> None:
    """Say in one sentence what does not fit."""
    shapes = " and ".join(str(list(tensor.shape)) for tensor in (query, keys, values))
    dimensions = {tensor.ndim for tensor in (query, keys, values)}
    if len(dimensions) > 1 or not dimensions <= {2, 3, 4}:
        raise AttentionError(f"query, keys and values must all have 2, 3 or 4 dimensions; got shapes {shapes}.")
    if keys.shape[:-1] != values.shape[:-1] or query.shape[:-2] != keys.shape[:-2]:
        raise AttentionError(
            "there must be one value for each key, and as many sets of keys as of queries; "
            f"got query, keys and values of shapes {shapes}."
        )
    if not temperature > 0:
        raise AttentionError(f"temperature must be above 0; got {temperature}.")
    room = torch.Size((*query.shape[:-1], keys.shape[-2]))
    if mask is not None and (mask.dtype != torch.bool or not _fits(mask.shape, room)):
        raise AttentionError(
            f"the mask must be bool, True where a query may attend to a key, and fit the shape {list(room)}; got "
            f"{str(mask.dtype).removeprefix('torch.')} of shape {list(mask.shape)}."
        )


def _fits(shape: torch.Size, room: torch.Size) -> bool:
    """Whether a tensor of one shape can be spread over another."""
    pairs = zip(reversed(shape), reversed(room), strict=False)
    return len(shape) <= len(room) and all(mine in (1, theirs) for mine, theirs in pairs)


def _spread(tensor: Tensor) -> Tensor:
    """With a dimension for sources and one for heads before the last two: [t q] is one source, [b t q] one head."""
    while tensor.ndim < 4:
        tensor = tensor.unsqueeze(0 if tensor.ndim == 2 else 1)
    return tensor
