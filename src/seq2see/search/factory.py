"""From the `search:` of a configuration and decoding options to a search and its rules."""

from collections.abc import Mapping
from dataclasses import fields, replace
from typing import TYPE_CHECKING

from pydantic import TypeAdapter, ValidationError
from pydantic_core import to_json

from seq2see.core.errors import SearchError
from seq2see.core.registry import KeyPath, Part, complain, part, shorten, suggest
from seq2see.search.hypothesis import Search
from seq2see.search.options import OPTIONS, DecodeOptions
from seq2see.search.rules import Rules

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

SearchSpec = str | Mapping[str, object]  # a name, or {kind: name, option: value}
DEFAULT_WIDTH = 5
ADAPTER = TypeAdapter(DecodeOptions)


def read_options(given: Mapping[str, object]) -> DecodeOptions:
    """Check decoding options by name.

    Args:
        given: values by the names of the fields of `DecodeOptions`; a list may be given for a tuple.

    Raises:
        SearchError: with one sentence on the first option that is unknown or does not fit.
    """
    try:
        # as JSON, so that a list may be given for a tuple
        return ADAPTER.validate_json(to_json(given, fallback=repr))
    except ValidationError as error:
        raise SearchError(_explain(error.errors()[0])) from None


def _explain(problem: "ErrorDetails") -> str:
    name = ".".join(str(step) for step in problem["loc"])
    if problem["type"] == "unexpected_keyword_argument":
        known = [each.name for each in OPTIONS]
        hint = suggest(name, known) or f" (known: {', '.join(known)})."
        return f"there is no decoding option {shorten(name)}{hint}"
    return complain(name, problem)


def read_search(spec: SearchSpec, *, path: KeyPath = ("search",)) -> tuple[Part[Search], Rules]:
    """Return the search that a configuration names, and the rules that are among its options.

    Args:
        spec: a name, or `{kind: name, option: value}`.
        path: the keys of the configuration that lead to it, for error messages.
    """
    found: Part[Search] = part("search", spec, path=path, beside=Rules)
    names = {field.name for field in fields(Rules)}
    rules = Rules(**{name: value for name, value in found.options.items() if name in names})
    return replace(found, options={n: value for n, value in found.options.items() if n not in names}), rules


def choose_rules(rules: Rules, options: DecodeOptions) -> Rules:
    """Return the configured rules, with those that the options give in their place.

    Args:
        rules: the configured rules.
        options: decoding options; what they leave open stays as configured.
    """
    named = {field.name: getattr(rules, field.name) for field in fields(Rules)}
    return Rules(**{**named, **options.arguments("rules")})


def choose_search(spec: SearchSpec, options: DecodeOptions | None = None) -> Search:
    """Return the configured search with what the options change.

    A beam width replaces the configured search by a beam, an option of sampling replaces it by sampling, and an MBR
    power puts minimum Bayes risk decoding around the beam.

    Args:
        spec: the configured search, a name or `{kind: name, option: value}`; its rules are ignored.
        options: decoding options; None changes nothing.

    Raises:
        SearchError: if the options contradict each other or the search.
    """
    options = options or DecodeOptions()
    configured, _ = read_search(spec)
    if options.given("sample"):
        return _choose_sampling(configured, options)
    inner = configured.options["search"] if configured.kind == "mbr" else configured
    several = configured.kind == "greedy" and (options.n_best or 1) > 1
    if options.beam is None and not several and inner.kind != "beam":
        idle = options.given("beam", "mbr")
        if idle:
            names = " and ".join(idle)
            raise SearchError(f"{names} must go with a beam; got the search {configured.kind}; give a beam as well.")
        return _build(configured, {} if options.n_best is None else {"n_best": options.n_best})
    return _choose_beam(configured, inner, options)


def _choose_sampling(configured: Part[Search], options: DecodeOptions) -> Search:
    clash = options.given("beam", "mbr")
    if clash:
        names = " and ".join(options.given("sample")), " and ".join(clash)
        raise SearchError(f"{names[0]} must go with sampling; got {names[1]} of a beam as well; leave one of them out.")
    several = {} if options.n_best is None else {"n_best": options.n_best}
    kept = configured if configured.kind == "sample" else Part("search", "sample")
    return _build(kept, {**options.arguments("sample"), **several})


def _choose_beam(configured: Part[Search], inner: Part[Search], options: DecodeOptions) -> Search:
    """Return a beam, or minimum Bayes risk decoding around one."""
    kept = dict(inner.options) if inner.kind == "beam" else {}
    outer = dict(configured.options) if configured.kind == "mbr" else {}
    usual = outer.pop("n_best", kept.pop("n_best", 1)) if options.beam is None else 1
    for part_options in (kept, outer):
        part_options.pop("n_best", None)
    n_best = usual if options.n_best is None else options.n_best
    width = max(kept.get("width", DEFAULT_WIDTH), n_best) if inner.kind == "beam" else n_best
    beam = {**kept, "kind": "beam", "width": width, **options.arguments("beam")}
    mbr = options.arguments("mbr")
    if mbr.get("power", configured.kind == "mbr"):
        return _build(part("search", {**outer, "kind": "mbr", "search": beam, **mbr, "n_best": n_best}), {})
    idle = [name for name, value in options.given("mbr").items() if value]
    if idle:
        names = " and ".join(idle)
        raise SearchError(
            f"{names} must go with minimum Bayes risk decoding; got none; give mbr_power above 0 as well."
        )
    return _build(part("search", {**beam, "n_best": n_best}), {})


def _build(found: Part[Search], options: Mapping[str, object]) -> Search:
    """Build the search of a part, with some options in place of its own."""
    search: Search = part("search", {**found.options, "kind": found.kind, **options})()
    return search
