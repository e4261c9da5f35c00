"""What differs between two configurations of a run."""

from collections.abc import Mapping
from typing import Any

MAX_CHANGES, MAX_CHARACTERS = 12, 80  # that a message shows: keys, and of each of its texts


def describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the keys that differ between two configurations, as `key: old -> new`; empty if none differs.

    Args:
        before: the old configuration, as nested dictionaries.
        after: the new one.
    """
    old, new = dict(_flatten(before)), dict(_flatten(after))
    keys = [key for key in [*old, *(new.keys() - old.keys())] if old.get(key) != new.get(key)]
    shown = [f"{_cut(key)}: {_show(old, key)} -> {_show(new, key)}" for key in keys[:MAX_CHANGES]]
    more = [f"and {len(keys) - MAX_CHANGES} more"] if len(keys) > MAX_CHANGES else []
    return ", ".join([*shown, *more])


def _show(flat: Mapping[str, Any], key: str) -> str:
    return _cut(str(flat[key])) if key in flat else "not set"


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else f"{text[: MAX_CHARACTERS - 3]}..."


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in tree.items():
        flat += _flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(prefix + key, value)]
    return flat
