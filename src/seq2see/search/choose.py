"""From the `search:` of a configuration, and what somebody wishes now, to a search and its rules."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import Any

from seq2see.core.errors import SearchError
from seq2see.core.registry import KeyPath, Part, part
from seq2see.search.hypothesis import Search
from seq2see.search.rules import Rules


def read_search(spec: Any, *, path: KeyPath = ("search",)) -> tuple[Part, Rules]:
    """The search that a configuration names, and the rules that stand among its options."""
    found = part("search", spec, path=path, beside=Rules)
    names = {field.name for field in fields(Rules)}
    rules = Rules(**{name: value for name, value in found.options.items() if name in names})
    return replace(found, options={n: value for n, value in found.options.items() if n not in names}), rules


def choose_search(
    spec: Any, *, beam: int | None = None, n_best: int = 1, options: Mapping[str, Any] | None = None
) -> Search:
    """The configured search, unless a beam is wished for; `options` are those of a beam, such as its penalties."""
    configured, _ = read_search(spec)
    wishes = dict(options or {})
    if beam is None and (configured.kind != "greedy" or n_best == 1):
        if wishes and configured.kind != "beam":
            names = " and ".join(wishes)
            raise SearchError(f"{names} must go with a beam; got the search {configured.kind}; give a beam as well.")
        wide = {"width": max(configured.options.get("width", 5), n_best)} if configured.kind == "beam" else {}
        several = {"n_best": n_best} if n_best != 1 else {}
        return _check_vote(_build({**configured.options, "kind": configured.kind, **wide, **several, **wishes}), wishes)
    kept = configured.options if configured.kind == "beam" else {}
    width = n_best if beam is None else beam
    return _check_vote(_build({**kept, "kind": "beam", "width": width, "n_best": n_best, **wishes}), wishes)


def _build(spec: Mapping[str, Any]) -> Search:
    search: Search = part("search", spec)()
    return search


def _check_vote(search: Search, wishes: Mapping[str, Any]) -> Search:
    """Refuse what is wished for a vote that is not held."""
    idle = [name for name in ("witnesses", "precision") if wishes.get(name)]
    if idle and not getattr(search, "consensus", 0.0):
        raise SearchError(f"{' and '.join(idle)} must go with a vote; got none; give a consensus above 0 as well.")
    return search
