"""JSON text that every parser accepts: the JSON standard has no NaN."""

import json
import math
from collections.abc import Mapping


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
