"""Decoding: a search, its rules and prefixes, from a configuration and decoding options."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from typing import Any

from seq2see.core.errors import SearchError, Seq2SeeError
from seq2see.core.registry import shorten, trust_named
from seq2see.search.factory import SearchSpec, choose_rules, choose_search, read_search
from seq2see.search.hypothesis import Search
from seq2see.search.options import DecodeOptions
from seq2see.search.rules import Rules
from seq2see.tasks.constraints import Prefix


@dataclass(frozen=True)
class Decoding:
    """Decoding options as a run applies them.

    Args:
        search: the search.
        rules: the constraints on every output.
        replace_unknown: whether unknown words are written, and then replaced by the source word with most attention.
        dictionary: the target word that replaces an unknown one, by its source word; None copies the source word.
    """

    search: Search
    rules: Rules = field(default_factory=Rules)
    replace_unknown: bool = False
    dictionary: Mapping[str, str] | None = None


def choose_decoding(
    configured: SearchSpec, options: DecodeOptions, *, search: Search | SearchSpec | None = None
) -> Decoding:
    """Return the search, rules and replacement of unknown words that follow from a configuration and options.

    Args:
        configured: section `search` of a configuration.
        options: what they change.
        search: a search, or the name or section of one, in place of the configured one; None keeps that.
    """
    trust_named(search)
    _, usual = read_search(configured)
    found, rules = _choose_search(configured if search is None else search, usual, options)
    return Decoding(found, choose_rules(rules, options), options.replace_unknown, options.dictionary)


@contextmanager
def explain_failures(rule: str) -> Iterator[None]:
    """Turn what tensors raise into one sentence, for the code inside a `with`; the cause stays with it.

    A model of a stranger may have sizes that fit its weights and nothing else, or need more memory than there is.

    Args:
        rule: the beginning of the message.
    """
    try:
        yield
    except (RuntimeError, MemoryError, ArithmeticError, IndexError, KeyError, TypeError, ValueError) as error:
        reason = shorten(f"{type(error).__name__}: {' '.join(str(error).split())}")[1:-1]
        raise Seq2SeeError(f"{rule}: {reason}; give other inputs, or train the run again.") from error


def _choose_search(given: object, usual: Rules, options: DecodeOptions) -> tuple[Search, Rules]:
    """Return a search as it is, or as a configuration names it; rules among its options replace the usual ones."""
    if isinstance(given, str | Mapping):
        named = isinstance(given, Mapping) and any(rule.name in given for rule in fields(Rules))
        return choose_search(given, options), read_search(given)[1] if named else usual
    if not isinstance(given, Search):
        raise SearchError(
            "search must be a search, such as seq2see.search.beam.Beam(width=5), or the name of one; got "
            f"{shorten(given)}."
        )
    idle = [*options.given("beam", "mbr", "sample"), *(["n_best"] if options.n_best is not None else [])]
    if idle:
        raise SearchError(f"{' and '.join(idle)} must be given to the search itself; got both; leave one of them out.")
    return given, usual


def spread_prefix(prefix: object, count: int) -> Sequence[Prefix]:
    """Return a prefix for each input; an empty sequence if all prefixes are blank.

    Args:
        prefix: a text or a tuple of ids, for all inputs, or a list with one for each.
        count: how many inputs there are.

    Raises:
        SearchError: the list has another length, or something else in it.
    """
    prefixes: list[Any] = (
        [prefix] * count if _is_prefix(prefix) else list(prefix) if isinstance(prefix, Sequence) else []
    )
    if not all(map(_is_prefix, prefixes)) or (count and not prefixes):
        raise SearchError(
            "a prefix must be a text or a tuple of ids, for all texts, or a list with one for each; got "
            f"{shorten(prefix)}."
        )
    if len(prefixes) != count:
        raise SearchError(
            f"there must be one prefix for all texts or one for each; got {len(prefixes)} for {count} texts."
        )
    return prefixes if any(one.strip() if isinstance(one, str) else one for one in prefixes) else ()


def _is_prefix(given: object) -> bool:
    return isinstance(given, str) or (isinstance(given, tuple) and all(isinstance(one, int) for one in given))
