"""Attention weights of any framework as a trace: arrays in, a trace out."""

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float32

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.data.formats.image_file import read_image
from seq2see.data.modalities.image_cells import name_cells
from seq2see.data.modalities.modality import Grid
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, Side
from seq2see.explain.image_grid import ImageArray

if TYPE_CHECKING:
    from numpy.typing import ArrayLike
    from PIL.Image import Image

WORD_START = ("▁", "Ġ")  # how tokenizers write that a token begins a word: SentencePiece, GPT-2
WORD_CONTINUES = "##"  # or that it does not: BERT
TOLERANCE = 1e-3  # weights of half precision do not end at exactly 0 and 1

# which side attends to which, by what is in a name; the cross-attention of a decoder goes by many names
NAMED_SIDES: tuple[tuple[str, tuple[Side, Side]], ...] = (
    (r"cross|enc(oder)?_?dec|decoder\b.*(encoder_attn|multihead_attn|src_attn)", ("target", "source")),
    ("encoder", ("source", "source")),
    ("decoder", ("target", "target")),
)

Weights = Float32[np.ndarray, "h t s"]


def from_arrays(
    weights: "ArrayLike | Sequence[object] | Mapping[str, object]",
    queries: Sequence[str] | None = None,
    keys: Sequence[str] | None = None,
    *,
    image: "str | Path | Image | ArrayLike | None" = None,
    grid: Grid | None = None,
) -> AttentionTrace:
    """Return a trace of attention weights that you computed elsewhere: a page in a notebook, or `.save("page.html")`.

    Args:
        weights: an array or tensor of any framework, [queries keys], [heads queries keys] or the same with a batch of
            one in front; or a list of them, one for each layer, also with different numbers of heads; or such lists by
            name, with `encoder`, `decoder` or `cross` in it.
        queries: a token for each query.
        keys: a token for each key; without keys and image, the queries attend to themselves.
        image: instead of keys, an image that is attended to: a file, or pixels [rows columns 3].
        grid: rows and columns of the cells of the image; a square unless it is given.
    """
    arrays = dict(_list_maps(weights, ""))
    if not arrays:
        raise AttentionError("there are no weights; give an array or a list of them.")
    square = [array for array in arrays.values() if array.shape[1] == array.shape[2]]
    uneven = [array for array in arrays.values() if array.shape[1] != array.shape[2]]
    first = (uneven or square)[0]  # cross-attention says how many queries and keys there are
    if image is not None:
        grid = grid or _guess_grid(first.shape[2])
    alone = keys is None and image is None and not uneven  # then it is self-attention
    query_tokens = None if alone else _label(queries, first.shape[1], "query")
    key_tokens = None if grid else _label(queries if alone else keys, first.shape[2], "key")
    if query_tokens is not None and not uneven and len(query_tokens) != first.shape[1]:
        # else the map would pass for the self-attention of the keys
        raise AttentionError(
            f"weights must fit {len(query_tokens)} queries; got {first.shape[1]} x {first.shape[2]}; give as many "
            "queries as rows."
        )
    return _join(arrays, query_tokens, key_tokens, grid, None if image is None else _read_image(image))


def _join(
    arrays: Mapping[str, Weights],
    queries: Sequence[str] | None,
    keys: Sequence[str] | None,
    grid: Grid | None,
    image: ImageArray | None,
) -> AttentionTrace:
    source, columns = ("image", name_cells(grid)) if grid is not None else write_text(keys or ())
    target, rows = (source, columns) if queries is None else write_text(queries)
    alone = queries is None
    sizes = {"target": len(rows), "source": len(columns)}
    maps = tuple(AttentionMap(name, array, *_find_sides(name, array, sizes, alone)) for name, array in arrays.items())
    return AttentionTrace(source, target, columns, rows, maps, grid, image)


def _list_maps(weights: object, name: str) -> Iterator[tuple[str, Weights]]:
    """Yield every map by a name that says which layer it is."""
    if isinstance(weights, Mapping):
        for key, value in weights.items():
            yield from _list_maps(value, f"{name}{key}")
    elif isinstance(weights, list | tuple) and _are_layers(weights):
        for number, layer in enumerate(weights, 1):
            yield from _list_maps(layer, f"{name}, layer {number}" if name else f"layer {number}")
    else:
        yield name or "attention", _check_weights(_to_numpy(weights), name or "attention")


def _are_layers(parts: Sequence[object]) -> bool:
    """Whether these are several arrays; lists of nothing but numbers are one array."""
    if any(hasattr(part, "shape") or isinstance(part, Mapping) for part in parts):
        return True
    try:
        return np.asarray(parts, dtype=np.float32).ndim > 4
    except (TypeError, ValueError):
        return any(isinstance(inner, list | tuple) and inner and isinstance(inner[0], list | tuple) for inner in parts)


def _to_numpy(value: object) -> object:
    """Return an array of any framework as one of NumPy's; what is no array stays as it is."""
    for step in ("detach", "cpu", "float", "resolve_conj"):
        if type(value).__module__.startswith("torch"):
            value = getattr(value, step)()
    try:
        return np.asarray(value)
    except (TypeError, ValueError):
        return value


def _check_weights(value: object, name: str) -> Weights:
    try:
        array = np.asarray(value, dtype=np.float32)
    except (TypeError, ValueError):
        raise AttentionError(f"the weights of {name} must be numbers in rows of one length.") from None
    while array.ndim > 3 and array.shape[0] == 1:
        array = array[0]
    array = array[None] if array.ndim == 2 else array
    if array.ndim != 3 or 0 in array.shape:
        shape = " x ".join(map(str, array.shape)) or "a single number"
        raise AttentionError(f"{name} must be [heads queries keys] of one input; got {shape}; choose one of the batch.")
    low, high = float(np.nanmin(array)), float(np.nanmax(array))
    if low < -TOLERANCE or high > 1 + TOLERANCE:
        raise AttentionError(
            f"weights must lie between 0 and 1; {name} has {low:.3g} to {high:.3g}; give them after the softmax."
        )
    return np.ascontiguousarray(array)


def _label(tokens: Sequence[str] | None, count: int, kind: str) -> list[str]:
    """Return the given tokens, or numbers where there are none."""
    return (
        [f"{kind} {number}" for number in range(1, count + 1)] if tokens is None else [str(token) for token in tokens]
    )


def write_text(tokens: Sequence[str]) -> tuple[str, tuple[Token, ...]]:
    """Return tokens of any tokenizer as a text with offsets, so that the tokens of one word are side by side.

    Args:
        tokens: the tokens with their marks: `▁` or `Ġ` before a word's first token, or `##` before all but the first.
            Without any mark each token is a word.

    Returns:
        The text, and its tokens without marks.
    """
    marked = any(token.startswith(WORD_START) for token in tokens)
    text, placed = "", []
    for number, token in enumerate(tokens):
        begins = token.startswith(WORD_START) if marked else not token.startswith(WORD_CONTINUES)
        bare = token[1:] if marked and begins else token.removeprefix(WORD_CONTINUES) if not begins else token
        text += " " if begins and number and bare else ""
        placed.append(Token(bare, len(text), len(text) + len(bare)))
        text += bare
    return text, tuple(placed)


def _find_sides(name: str, array: Weights, sizes: Mapping[str, int], alone: bool) -> tuple[Side, Side]:
    """Return which side attends to which, by the name where it says so, else by the sizes."""
    fits: list[tuple[Side, Side]] = [("source", "source")] if alone else [("target", "source")]
    if not alone:
        fits += [("source", "source"), ("target", "target")]
    named = next((pair for pattern, pair in NAMED_SIDES if re.search(pattern, name.lower())), None)
    fits.sort(key=lambda sides: sides != named)
    for queries, keys in fits:
        if array.shape[1:] == (sizes[queries], sizes[keys]):
            return queries, keys
    wanted = f"{sizes['target']} queries and {sizes['source']} keys"
    raise AttentionError(f"{name} must fit {wanted}; got {array.shape[1]} x {array.shape[2]}; give as many tokens.")


def _guess_grid(cells: int) -> Grid:
    side = math.isqrt(cells)
    if side * side != cells:
        raise AttentionError(
            f"the cells of an image must form a grid; got {cells}; give grid=(rows, columns) without a class token."
        )
    return side, side


def _read_image(image: object) -> ImageArray:
    from PIL import Image

    if isinstance(image, str | Path):
        image = read_image(image)
    if isinstance(image, Image.Image):
        return np.array(image.convert("RGB"))
    pixels = np.asarray(_to_numpy(image))
    if pixels.ndim == 3 and pixels.shape[0] == 3 != pixels.shape[2]:
        pixels = pixels.transpose(1, 2, 0)
    if pixels.ndim != 3 or pixels.shape[2] != 3:
        raise AttentionError(
            f"an image must be a file or pixels [rows columns 3]; got {' x '.join(map(str, pixels.shape))}."
        )
    if pixels.dtype != np.uint8:
        pixels = (255 * (pixels - pixels.min()) / max(float(np.ptp(pixels)), 1e-9)).astype(np.uint8)
    return np.ascontiguousarray(pixels)
