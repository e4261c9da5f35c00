"""JSON text: written so that every parser accepts it (the standard has no NaN), and read with limits."""

import json
import math
from collections.abc import Iterable, Mapping
from typing import Any

MAX_DEPTH = 32  # of lists and objects inside each other
MAX_CONTAINERS = 2_000_000  # lists and objects in one text


def write_payload(value: object, *, escaped: bool = False) -> str:
    """Return a value as JSON text; NaN and infinity become null.

    Args:
        value: dicts, lists, tuples, texts, numbers, booleans and None.
        escaped: write letters beyond ASCII as escapes.
    """
    try:
        return json.dumps(value, ensure_ascii=escaped, allow_nan=False)
    except ValueError:
        return json.dumps(_drop_nan(value), ensure_ascii=escaped, allow_nan=False)


def _drop_nan(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _drop_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def read_json(text: str | bytes, *, depth: int = MAX_DEPTH, nan: bool = False) -> Any:
    """Return the value of JSON text that may come from a stranger.

    Args:
        text: JSON, in which a key must occur once in its object.
        depth: how many lists and objects may be inside each other.
        nan: whether NaN and infinity may occur, which are no JSON.

    Raises:
        ValueError: the text is no JSON, a key occurs twice, or it is too deep or has too many lists and objects.
    """
    data = text.encode(errors="surrogatepass") if isinstance(text, str) else text
    if data.count(b"[") + data.count(b"{") > MAX_CONTAINERS:
        raise ValueError(f"there are more than {MAX_CONTAINERS:,} lists and objects")
    try:
        value = json.loads(
            text,
            object_pairs_hook=_join_pairs,
            parse_constant=None if nan else _refuse_constant,
            parse_float=None if nan else _read_float,
        )
    except RecursionError:
        raise ValueError(f"lists and objects are more than {depth} deep") from None
    level = [value]
    for _ in range(depth + 1):
        level = [item for each in level for item in _list_items(each) if isinstance(item, dict | list)]
    if level:
        raise ValueError(f"lists and objects are more than {depth} deep")
    return value


def _list_items(value: object) -> Iterable[object]:
    return value.values() if isinstance(value, dict) else value if isinstance(value, list) else ()


def _join_pairs(pairs: list[tuple[str, object]]) -> dict[str, object]:
    joined = dict(pairs)
    if len(joined) < len(pairs):
        raise ValueError("a key occurs twice in one object")
    return joined


def _refuse_constant(name: str) -> object:
    raise ValueError(f"{name} is no JSON")


def _read_float(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise ValueError(f"{digits[:20]} is out of range")
    return value
