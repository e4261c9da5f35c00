"""A payload as JSON text that every reader takes: JSON has no NaN."""

import json
import math
from collections.abc import Mapping
from typing import Any


def write_payload(value: Any, *, escaped: bool = False) -> str:
    """The text, letters beyond ASCII as they are or escaped; a NaN of a diverged run becomes null."""
    try:
        return json.dumps(value, ensure_ascii=escaped, allow_nan=False)
    except ValueError:
        return json.dumps(_drop_nan(value), ensure_ascii=escaped, allow_nan=False)


def _drop_nan(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _drop_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_drop_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
