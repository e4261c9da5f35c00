"""The table of all parts by group and name, and the way from `{kind: name, ...}` to an object.

A constructor's signature is the schema of its options. A parameter that carries the name of a group takes a part of
that group; a parameter that nobody sets in a config (a size that follows from the surroundings) is given by the
caller. Packages add parts through the entry point `seq2see.<group>`; `my_file:MyScore` names a class of your own.
"""

import importlib
import importlib.metadata
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

from pydantic import ConfigDict, TypeAdapter, ValidationError

from seq2see.core.errors import ConfigError

TABLE: dict[str, dict[str, str]] = {
    "score": {
        "dot": "seq2see.nn.score:Dot",
        "scaled_dot": "seq2see.nn.score:ScaledDot",
        "general": "seq2see.nn.score:General",
        "additive": "seq2see.nn.score:Additive",
        "concat": "seq2see.nn.score:Additive",  # Luong's v.tanh(W[q;k]) is Bahdanau's v.tanh(Wq + Uk), W cut in two
        "location": "seq2see.nn.score:Location",
        "cosine": "seq2see.nn.score:Cosine",
    },
    "normalise": {"softmax": "seq2see.nn.normalise:Softmax"},
    "cell": {"lstm": "seq2see.nn.cell:Lstm", "gru": "seq2see.nn.cell:Gru"},
    "reader": {
        "nothing": "seq2see.models.readers:Nothing",
        "summary": "seq2see.models.readers:Summary",
        "before": "seq2see.models.readers:Before",
        "after": "seq2see.models.readers:After",
    },
    "start": {
        "zeros": "seq2see.models.starts:Zeros",
        "carry": "seq2see.models.starts:Carry",
        "summary": "seq2see.models.starts:Summary",
        "mean": "seq2see.models.starts:Mean",
    },
    "encoder": {"rnn": "seq2see.models.encoders.rnn:RnnEncoder"},
    "decoder": {"rnn": "seq2see.models.decoders.rnn:RnnDecoder"},
    "tokenizer": {
        "characters": "seq2see.data.tokenise:Characters",
        "words": "seq2see.data.tokenise:Words",
        "bpe": "seq2see.data.tokenise:Bpe",
        "unigram": "seq2see.data.tokenise:Unigram",
    },
    "schedule": {
        "constant": "seq2see.train.schedule:Constant",
        "noam": "seq2see.train.schedule:Noam",
        "inverse_sqrt": "seq2see.train.schedule:InverseSqrt",
        "cosine": "seq2see.train.schedule:Cosine",
        "plateau": "seq2see.train.schedule:Plateau",
    },
    "search": {
        "greedy": "seq2see.search.greedy:Greedy",
        "beam": "seq2see.search.beam:Beam",
        "sample": "seq2see.search.sample:Sample",
    },
}


@dataclass(frozen=True)
class Part:
    """A named class with its checked options, waiting for the sizes that its surroundings give."""

    group: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, **given: Any) -> Any:
        """Build the object; of `given`, the constructor gets what its signature names."""
        factory = find(self.group, self.kind)
        parameters = _parameters(factory)
        for name in self.options.keys() & given.keys():
            raise ConfigError(
                f"{self.group} {self.kind}: {name} follows from the surroundings; remove it from the config."
            )
        arguments = {**{name: value for name, value in given.items() if name in parameters}, **self.options}
        missing = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise ConfigError(f"{self.group} {self.kind} needs the option {missing[0]}; add it to the config.")
        return factory(**arguments)


def part(group: str, spec: Any, *, path: tuple[str, ...] = ()) -> Part:
    """Check `name` or `{kind: name, option: value}` against the constructor it names."""
    if isinstance(spec, Part):
        return spec
    options = {"kind": spec} if isinstance(spec, str) else spec
    if not isinstance(options, Mapping) or not isinstance(options.get("kind"), str):
        raise ConfigError(f"{group} must be a name or {{kind: name, ...}}; got {spec!r}.", path=path)
    options = dict(options)
    kind = options.pop("kind")
    parameters = _parameters(find(group, kind, path=(*path, "kind")))
    checked = {
        name: _check(name, value, parameters, f"{group} {kind}", (*path, name)) for name, value in options.items()
    }
    return Part(group, kind, checked)


def is_foreign(kind: str) -> bool:
    """Whether a kind names code outside this package's table and entry points: `my_file:MyScore`."""
    return ":" in kind


def names(group: str) -> list[str]:
    """All names of a group: ours, and those of installed packages."""
    return [
        *TABLE[group],
        *(entry.name for entry in importlib.metadata.entry_points(group=f"seq2see.{group}")),
    ]


def find(group: str, kind: str, *, path: tuple[str, ...] = ()) -> Any:
    """The class behind a name."""
    if kind in TABLE[group]:
        return _load(TABLE[group][kind], path)
    for entry in importlib.metadata.entry_points(group=f"seq2see.{group}", name=kind):
        return entry.load()
    if is_foreign(kind):
        return _load(kind, path)
    hint = suggest(kind, names(group))
    raise ConfigError(f"there is no {group} named {kind!r}{hint} (known: {', '.join(names(group))}).", path=path)


def suggest(word: str, known: list[str]) -> str:
    """A "did you mean" for a mistyped word, or nothing."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def _load(place: str, path: tuple[str, ...]) -> Any:
    module, _, name = place.partition(":")
    try:
        return getattr(importlib.import_module(module), name)
    except (ImportError, AttributeError) as error:
        raise ConfigError(
            f"{place!r} must name a class as file:Class, with file.py beside the config, the data or in this folder; "
            f"{error}.",
            path=path,
        ) from error


def _parameters(factory: Any) -> dict[str, inspect.Parameter]:
    parameters = inspect.signature(factory, eval_str=True).parameters
    return {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _check(name: str, value: Any, parameters: dict[str, inspect.Parameter], owner: str, path: tuple[str, ...]) -> Any:
    if name not in parameters:
        known = ", ".join(parameters) or "none"
        raise ConfigError(
            f"{owner} has no option {name!r}{suggest(name, list(parameters))} (known: {known}).", path=path
        )
    if name in TABLE:
        return part(name, value, path=path)
    try:
        adapter = TypeAdapter(parameters[name].annotation, config=ConfigDict(strict=True))
        return adapter.validate_python(value)
    except ValidationError as error:
        detail = error.errors()[0]["msg"]
        raise ConfigError(f"{'.'.join(path)}: {detail}; got {value!r}.", path=path) from error
