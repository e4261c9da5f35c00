"""What differs between two configurations of a run."""

from collections.abc import Mapping
from typing import Any


def describe_changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> str:
    """Return the keys that differ between two configurations, as `key: old -> new`; empty if none differs.

    Args:
        before: the old configuration, as nested dictionaries.
        after: the new one.
    """
    old, new = dict(_flatten(before)), dict(_flatten(after))
    keys = [key for key in [*old, *(new.keys() - old.keys())] if old.get(key) != new.get(key)]
    return ", ".join(f"{key}: {old.get(key, 'not set')} -> {new.get(key, 'not set')}" for key in keys)


def _flatten(tree: Mapping[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    flat: list[tuple[str, Any]] = []
    for key, value in tree.items():
        flat += _flatten(value, f"{prefix}{key}.") if isinstance(value, Mapping) else [(prefix + key, value)]
    return flat
