"""Attention on plain tensors, without a model: `seq2see.attend`."""

from collections.abc import Mapping, Sequence
from functools import reduce
from typing import TYPE_CHECKING, Annotated, Literal, overload

import torch
from annotated_types import Gt
from jaxtyping import Float
from torch import Tensor

from seq2see.core.errors import AttentionError, ConfigError
from seq2see.core.registry import Part, part, trust_named
from seq2see.core.trace import tracing
from seq2see.nn.attend import Attend
from seq2see.nn.normalise import Softmax
from seq2see.nn.score import Score

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

ScoreSpec = str | Mapping[str, object] | Score  # a name of the registry, {kind: name, option: value}, or a module


class TemperatureScaled(Score):
    """Divides the scores of another score by a temperature: below 1 attention is sharper, above 1 flatter.

    Args:
        score: the score to divide.
        temperature: the divisor, above 0.
    """

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
    query: "Tensor | ArrayLike",
    keys: "Tensor | ArrayLike",
    values: "Tensor | ArrayLike",
    *,
    score: ScoreSpec = "scaled_dot",
    mask: "Tensor | ArrayLike | None" = None,
    temperature: float = 1.0,
    weights: Literal[False] = False,
) -> Tensor: ...
@overload
def attend(
    query: "Tensor | ArrayLike",
    keys: "Tensor | ArrayLike",
    values: "Tensor | ArrayLike",
    *,
    score: ScoreSpec = "scaled_dot",
    mask: "Tensor | ArrayLike | None" = None,
    temperature: float = 1.0,
    weights: Literal[True],
) -> tuple[Tensor, Tensor]: ...
def attend(
    query: "Tensor | ArrayLike",
    keys: "Tensor | ArrayLike",
    values: "Tensor | ArrayLike",
    *,
    score: ScoreSpec = "scaled_dot",
    mask: "Tensor | ArrayLike | None" = None,
    temperature: float = 1.0,
    weights: bool = False,
) -> Tensor | tuple[Tensor, Tensor]:
    """Return the context softmax(score(query, keys) / temperature) @ values, and the weights if they are asked for.

    Bahdanau et al. 2015 (arXiv:1409.0473), eq. 5-6; Vaswani et al. 2017 (arXiv:1706.03762), eq. 1.

    Args:
        query: [t q], [b t q] or [b h t q]; like keys, values and mask a tensor, an array of NumPy or a nested list. Of
            different types of floats, the wider one is taken.
        keys: [s k], with the same leading axes.
        values: [s d], with the same leading axes.
        score: a name such as scaled_dot, {kind: name, option: value}, or a Score module. A score with weights that must
            be learned needs the module.
        mask: bool, True where a query may attend to a key; its shape must broadcast to [t s], [b t s] or [b h t s].
            None allows all keys; a query without any key gets zeros.
        temperature: divides the scores; above 0, below 1 attention is sharper, above 1 flatter.
        weights: return the weights as well.

    Returns:
        The context, [t d], [b t d] or [b h t d]; with `weights` the pair (context, weights), whose weights are [t s],
        [b t s] or [b h t s].

    Raises:
        AttentionError: if shapes, types, mask or temperature do not fit.
        ConfigError: if the score has no such name, or needs learned weights.
    """
    query, keys, values = _read_floats(query=query, keys=keys, values=values)
    mask = None if mask is None else _read("mask", mask)
    _check(query, keys, values, mask, temperature)
    module = Attend(score=TemperatureScaled(_find_score(score, query, keys), temperature), normalise=Softmax())
    queries, prepared, contents = (_add_axes(tensor) for tensor in (query, keys, values))
    allowed = None if mask is None else mask.expand(*query.shape[:-1], keys.shape[-2])
    allowed = None if allowed is None else _add_axes(allowed)
    if not weights:
        return module(queries, module.prepare(prepared), contents, allowed).reshape(*query.shape[:-1], -1)
    with tracing(module) as trace:
        context: Tensor = module(queries, module.prepare(prepared), contents, allowed)
    seen = trace.weights(trace.names[0])
    return context.reshape(*query.shape[:-1], -1), seen.reshape(*query.shape[:-1], -1)


def _read(name: str, given: "Tensor | ArrayLike") -> Tensor:
    try:
        return torch.as_tensor(given)
    except (TypeError, ValueError, RuntimeError):
        raise AttentionError(
            f"{name} must be a tensor, an array or a nested list of numbers; got {type(given).__name__}."
        ) from None


def _read_floats(**given: "Tensor | ArrayLike") -> list[Tensor]:
    """Return the arrays as tensors of one type of floats, the widest that they have."""
    tensors = [_read(name, one) for name, one in given.items()]
    types = [one.dtype for one in tensors if one.is_floating_point()] or [torch.get_default_dtype()]
    if any(one.is_complex() for one in tensors):
        raise AttentionError(
            f"query, keys and values must be real numbers; got {_name_types(tensors)}; take real parts."
        )
    return [one.to(reduce(torch.promote_types, types)) for one in tensors]


def _name_types(tensors: Sequence[Tensor]) -> str:
    return " and ".join(str(tensor.dtype).removeprefix("torch.") for tensor in tensors)


def _find_score(score: ScoreSpec, query: Tensor, keys: Tensor) -> Score:
    if isinstance(score, Score):
        if any(parameter.dtype != query.dtype for parameter in score.parameters()):
            raise AttentionError(
                f"the score must have the type of query, keys and values, {_name_types([query])}; got a score of "
                f"{_name_types(list(score.parameters())[:1])}; convert one of them with .to()."
            )
        return score
    trust_named(score)
    named: Part[Score] = part("score", score)
    built: Score = named(query_size=query.shape[-1], key_size=keys.shape[-1])
    if any(parameter.ndim for parameter in built.parameters()):
        kind = type(built)
        raise ConfigError(
            f"the {named.kind} score has weights that must be learned, so its name is not enough; give the module that "
            f"has them, an instance of {kind.__module__}.{kind.__name__}."
        )
    return built.to(query.dtype)


def _check(query: Tensor, keys: Tensor, values: Tensor, mask: Tensor | None, temperature: float) -> None:
    """Raise an AttentionError if shapes, mask or temperature do not fit."""
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
    expected = torch.Size((*query.shape[:-1], keys.shape[-2]))
    if mask is not None and (mask.dtype != torch.bool or not _broadcasts(mask.shape, expected)):
        raise AttentionError(
            f"the mask must be bool, True where a query may attend to a key, and fit the shape {list(expected)}; got "
            f"{str(mask.dtype).removeprefix('torch.')} of shape {list(mask.shape)}."
        )


def _broadcasts(shape: torch.Size, expected: torch.Size) -> bool:
    """Tell whether a tensor of one shape can be broadcast to another."""
    pairs = zip(reversed(shape), reversed(expected), strict=False)
    return len(shape) <= len(expected) and all(mine in (1, theirs) for mine, theirs in pairs)


def _add_axes(tensor: Tensor) -> Tensor:
    """Add the axes of sources and heads before the last two: [t q] is one source, [b t q] has one head."""
    while tensor.ndim < 4:
        tensor = tensor.unsqueeze(0 if tensor.ndim == 2 else 1)
    return tensor
