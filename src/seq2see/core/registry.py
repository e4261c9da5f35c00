"""The table of all parts by group and name, and the way from `{kind: name, ...}` to an object.

A constructor's signature is the schema of its options. A parameter that carries the name of a group, and is a `Part`
or of no stated type, takes a part of that group; a parameter that nobody sets in a config (a size that follows from
the surroundings) is given by the caller. Packages add parts through the entry point `seq2see.<group>`;
`my_file:MyScore` names a class of your own.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, get_args

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

from seq2see.core.errors import ConfigError

KeyPath = tuple[str, ...]

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
    "normalise": {
        "softmax": "seq2see.nn.normalise:Softmax",
        "sparsemax": "seq2see.nn.normalise:Sparsemax",
        "hard": "seq2see.nn.normalise:Hard",
    },
    "window": {"monotonic": "seq2see.nn.window:Monotonic", "predictive": "seq2see.nn.window:Predictive"},
    "position": {"sinusoidal": "seq2see.nn.position:Sinusoidal", "learned": "seq2see.nn.position:Learned"},
    "cell": {"lstm": "seq2see.nn.cell:Lstm", "gru": "seq2see.nn.cell:Gru"},
    "reader": {
        "nothing": "seq2see.models.readers:Nothing",
        "summary": "seq2see.models.readers:Summary",
        "before": "seq2see.models.readers:Before",
        "after": "seq2see.models.readers:After",
        "bottom": "seq2see.models.readers:Bottom",
        "gated": "seq2see.models.gate:Gated",
    },
    "start": {
        "zeros": "seq2see.models.starts:Zeros",
        "carry": "seq2see.models.starts:Carry",
        "summary": "seq2see.models.starts:Summary",
        "mean": "seq2see.models.starts:Mean",
        "input": "seq2see.models.starts:Input",
    },
    "encoder": {
        "rnn": "seq2see.models.encoders.rnn:RnnEncoder",
        "conv": "seq2see.models.encoders.conv:ConvEncoder",
        "transformer": "seq2see.models.encoders.transformer:TransformerEncoder",
        "lstmn": "seq2see.models.encoders.lstmn:LstmnEncoder",
        "ntm": "seq2see.models.encoders.ntm:NtmEncoder",
        "nothing": "seq2see.models.encoders.nothing:Nothing",
        "cnn": "seq2see.models.encoders.cnn:CnnEncoder",
        "patches": "seq2see.models.encoders.patches:PatchEncoder",
        "hierarchy": "seq2see.models.encoders.hierarchy:Hierarchy",
    },
    "pool": {
        "attention": "seq2see.nn.pool:Attention",
        "mean": "seq2see.nn.pool:Mean",
        "max": "seq2see.nn.pool:Max",
        "summary": "seq2see.nn.pool:Summary",
    },
    "decoder": {
        "rnn": "seq2see.models.decoders.rnn:RnnDecoder",
        "conv": "seq2see.models.decoders.conv:ConvDecoder",
        "transformer": "seq2see.models.decoders.transformer:TransformerDecoder",
        "lstmn": "seq2see.models.decoders.lstmn:LstmnDecoder",
        "ntm": "seq2see.models.decoders.ntm:NtmDecoder",
    },
    "tokenizer": {
        "characters": "seq2see.data.tokenise:Characters",
        "words": "seq2see.data.tokenise:Words",
        "bpe": "seq2see.data.tokenise:Bpe",
        "unigram": "seq2see.data.tokenise:Unigram",
        "pictures": "seq2see.data.pictures:Pictures",
        "documents": "seq2see.data.documents:Documents",
        "labels": "seq2see.data.labels:Labels",
    },
    "task": {
        "transduction": "seq2see.tasks.transduction:Transduction",
        "classification": "seq2see.tasks.classification:Classification",
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

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Part:
    """A named class with its checked options, waiting for the sizes that its surroundings give."""

    group: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    path: KeyPath = field(default=(), compare=False)  # where the configuration names it

    def __call__(self, **given: Any) -> Any:
        """Build the object; of `given`, the constructor gets what its signature names."""
        factory = find(self.group, self.kind, path=self.path)
        parameters = _parameters(factory, self.path)
        owner = f"{self.group} {self.kind}"
        for name in self.options.keys() & given.keys():
            raise ConfigError(
                f"{owner}: {name} follows from the surroundings; remove it from the config.", path=(*self.path, name)
            )
        arguments = {**{name: value for name, value in given.items() if name in parameters}, **self.options}
        missing = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise ConfigError(f"{owner} needs the option {missing[0]}; add it to the config.", path=self.path)
        try:
            return factory(**arguments)
        except ConfigError as error:
            raise error if error.path else ConfigError(str(error), path=self.path) from error


def part(group: str, spec: Any, *, path: KeyPath = (), beside: Any = None) -> Part:
    """Check `name` or `{kind: name, option: value}` against the constructor it names.

    Options of the class `beside` may stand among its own; who permits them takes them out again.
    """
    if isinstance(spec, Part):
        return spec
    options = {"kind": spec} if isinstance(spec, str) else spec
    if not isinstance(options, Mapping) or not isinstance(options.get("kind"), str):
        raise ConfigError(f"{group} must be a name or {{kind: name, ...}}; got {shorten(spec)}.", path=path)
    kind = options["kind"]
    parameters = _parameters(find(group, kind, path=(*path, "kind")), path)
    parameters |= {} if beside is None else _parameters(beside, path)
    checked = {
        str(name): _check(str(name), value, parameters, f"{group} {kind}", (*path, str(name)))
        for name, value in options.items()
        if name != "kind"
    }
    return Part(group, kind, checked, path)


def is_foreign(kind: str) -> bool:
    """Whether a kind names code outside this package's table and entry points: `my_file:MyScore`."""
    return ":" in kind


def names(group: str) -> list[str]:
    """All names of a group: ours, and those of installed packages."""
    return [*TABLE[group], *(entry.name for entry in entry_points(group=f"seq2see.{group}"))]


def find(group: str, kind: str, *, path: KeyPath = ()) -> Any:
    """The class behind a name."""
    if kind in TABLE[group]:
        return _import(TABLE[group][kind])
    for entry in entry_points(group=f"seq2see.{group}", name=kind):
        return _load(entry.load, f"{group} {kind!r} of an installed package must be a class", path)
    if is_foreign(kind):
        rule = f"{kind!r} must name a class as file:Class, with file.py beside the config, the data or in this folder"
        return _load(lambda: _import(kind), rule, path)
    hint = suggest(kind, names(group))
    raise ConfigError(f"there is no {group} named {kind!r}{hint} (known: {', '.join(names(group))}).", path=path)


def suggest(word: str, known: Sequence[str]) -> str:
    """A "did you mean" for a mistyped word, or nothing."""
    close = get_close_matches(word, known, n=1, cutoff=0.6)
    return f"; did you mean {close[0]!r}?" if close else ""


def complain(name: str, problem: ErrorDetails) -> str:
    """What pydantic found wrong with a value, as a sentence of ours."""
    message = re.sub(r"^\w+ should", "must", problem["msg"].removeprefix("Value error, "))
    expected = re.findall("'([^']*)'", problem["ctx"]["expected"]) if problem["type"] == "literal_error" else []
    hint = suggest(str(problem["input"]), expected)
    if not name:  # a rule about several keys; the whole configuration would tell nobody anything
        return f"it {message}."
    return f"{name} {message[0].lower() + message[1:]}; got {shorten(problem['input'])}{hint or '.'}"


def shorten(value: Any) -> str:
    """A value as it is shown in a message."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _import(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _load(load: Callable[[], Any], rule: str, path: KeyPath) -> Any:
    try:
        found = load()
    except Exception as error:  # whatever the first run of somebody's file can raise
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"{rule}; got {detail}.", path=path) from error
    if not callable(found):
        raise ConfigError(f"{rule}; got {shorten(found)}.", path=path)
    return found


def _parameters(factory: Any, path: KeyPath) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(factory, eval_str=True).parameters
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(
            f"the options of {factory!r} cannot be read from its signature; {error}.", path=path
        ) from error
    return {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _check(name: str, value: Any, parameters: dict[str, inspect.Parameter], owner: str, path: KeyPath) -> Any:
    if name not in parameters:
        known = ", ".join(parameters) or "none"
        raise ConfigError(
            f"{owner} has no option {name!r}{suggest(name, list(parameters))} (known: {known}).", path=path
        )
    annotation = parameters[name].annotation
    if value is None and type(None) in get_args(annotation):
        return None  # an optional part that a preset has, left out
    if name in TABLE and (annotation in (Part, inspect.Parameter.empty) or Part in get_args(annotation)):
        return part(name, value, path=path)
    if annotation is inspect.Parameter.empty:
        return value
    try:
        # as JSON, because a config has lists where Python has tuples
        adapter = TypeAdapter(annotation, config=_STRICT)
        return adapter.validate_json(to_json(value))
    except ValidationError as error:
        raise ConfigError(complain(".".join(path), error.errors()[0]), path=path) from error
