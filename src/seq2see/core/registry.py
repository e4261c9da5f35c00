"""The table of all parts by group and name, and the way from `{kind: name, ...}` to an object.

A constructor's signature is the schema of its options. A parameter that carries the name of a group, and is a `Part`
or of no stated type, takes a part of that group. A parameter that nobody sets in a config is a size that follows from
the surroundings: `SIZES` lists those of each group, and a constructor names the ones it needs. Packages add parts
through the entry point `seq2see.<group>`; `my_file:MyScore` names a class of your own.
"""

import importlib
import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from importlib.metadata import entry_points
from typing import Any, Generic, TypeVar, get_args, get_origin

from pydantic import ConfigDict, TypeAdapter, ValidationError
from pydantic_core import ErrorDetails, to_json

from seq2see.core.errors import ConfigError
from seq2see.core.part_sizes import SIZES

T = TypeVar("T")
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
    "window": {"local-m": "seq2see.nn.window:LocalM", "local-p": "seq2see.nn.window:LocalP"},
    "position": {"sinusoidal": "seq2see.nn.position:Sinusoidal", "learned": "seq2see.nn.position:Learned"},
    "cell": {"lstm": "seq2see.nn.cell:Lstm", "gru": "seq2see.nn.cell:Gru"},
    "reader": {
        "none": "seq2see.models.readers.fixed_readers:NoReader",
        "summary": "seq2see.models.readers.fixed_readers:SummaryReader",
        "before": "seq2see.models.readers.attention_readers:BeforeReader",
        "after": "seq2see.models.readers.attention_readers:AfterReader",
        "bottom": "seq2see.models.readers.attention_readers:BottomReader",
        "gated": "seq2see.models.readers.gated_reader:GatedReader",
    },
    "initial_state": {
        "zeros": "seq2see.models.initial_state:ZeroState",
        "copy": "seq2see.models.initial_state:CopiedState",
        "projected": "seq2see.models.initial_state:ProjectedState",
        "mean": "seq2see.models.initial_state:MeanState",
        "input": "seq2see.models.initial_state:InputState",
    },
    "encoder": {
        "rnn": "seq2see.models.encoders.rnn_encoder:RnnEncoder",
        "conv": "seq2see.models.encoders.conv_encoder:ConvEncoder",
        "transformer": "seq2see.models.encoders.transformer_encoder:TransformerEncoder",
        "lstmn": "seq2see.models.encoders.lstmn_encoder:LstmnEncoder",
        "ntm": "seq2see.models.encoders.ntm_encoder:NtmEncoder",
        "none": "seq2see.models.encoders.no_encoder:NoEncoder",
        "cnn": "seq2see.models.encoders.cnn_encoder:CnnEncoder",
        "vit": "seq2see.models.encoders.vit_encoder:VitEncoder",
        "han": "seq2see.models.encoders.han_encoder:HanEncoder",
    },
    "pool": {
        "attention": "seq2see.nn.pool:AttentionPool",
        "mean": "seq2see.nn.pool:MeanPool",
        "max": "seq2see.nn.pool:MaxPool",
        "summary": "seq2see.nn.pool:SummaryPool",
    },
    "decoder": {
        "rnn": "seq2see.models.decoders.rnn_decoder:RnnDecoder",
        "conv": "seq2see.models.decoders.conv_decoder:ConvDecoder",
        "transformer": "seq2see.models.decoders.transformer_decoder:TransformerDecoder",
        "lstmn": "seq2see.models.decoders.lstmn_decoder:LstmnDecoder",
        "ntm": "seq2see.models.decoders.ntm_decoder:NtmDecoder",
    },
    "tokenizer": {
        "characters": "seq2see.data.tokenizers:Characters",
        "words": "seq2see.data.tokenizers:Words",
        "bpe": "seq2see.data.tokenizers:Bpe",
        "unigram": "seq2see.data.tokenizers:Unigram",
        "images": "seq2see.data.modalities.image:ImageModality",
        "documents": "seq2see.data.modalities.document:Documents",
        "labels": "seq2see.data.modalities.label_set:Labels",
    },
    "task": {
        "transduction": "seq2see.tasks.transduction:Transduction",
        "classification": "seq2see.tasks.classification:Classification",
    },
    "schedule": {
        "constant": "seq2see.training.schedules:ConstantSchedule",
        "noam": "seq2see.training.schedules:NoamSchedule",
        "inverse_sqrt": "seq2see.training.schedules:InverseSqrtSchedule",
        "cosine": "seq2see.training.schedules:CosineSchedule",
        "plateau": "seq2see.training.schedules:PlateauSchedule",
    },
    "renderer": {  # of the kinds of traces
        "attention": "seq2see.render.attention_renderer:AttentionRenderer",
        "document": "seq2see.render.document_renderer:DocumentRenderer",
    },
    "search": {
        "greedy": "seq2see.search.greedy:Greedy",
        "beam": "seq2see.search.beam:Beam",
        "sample": "seq2see.search.sample:Sample",
        "mbr": "seq2see.search.mbr:MinimumBayesRisk",
    },
}

_STRICT = ConfigDict(strict=True, arbitrary_types_allowed=True, allow_inf_nan=False)


@dataclass(frozen=True)
class Part(Generic[T]):
    """A class by its name, with checked options; a call with the sizes of its surroundings builds the object.

    Args:
        group: the role of the object, such as score or encoder.
        kind: its name in the table of the group.
        options: what a configuration says.
        path: where the configuration says it.
    """

    group: str
    kind: str
    options: Mapping[str, Any] = field(default_factory=dict)
    path: KeyPath = field(default=(), compare=False)

    def takes(self, name: str) -> bool:
        """Whether the constructor has a parameter of this name."""
        return name in _parameters(find(self.group, self.kind, path=self.path), self.path)

    def __call__(self, **given: object) -> T:
        """Build the object; of the sizes of its group the constructor gets those it names, all else it must know."""
        factory = find(self.group, self.kind, path=self.path)
        parameters = _parameters(factory, self.path)
        self._check_given(given, parameters)
        arguments = {**{name: value for name, value in given.items() if name in parameters}, **self.options}
        missing = [n for n, p in parameters.items() if p.default is p.empty and n not in arguments]
        if missing:
            raise ConfigError(self._explain_missing(missing[0], given), path=self.path)
        try:
            built: T = factory(**arguments)
        except ConfigError as error:
            raise error if error.path else ConfigError(str(error), path=self.path) from error
        return built

    def _check_given(self, given: Mapping[str, object], parameters: Mapping[str, inspect.Parameter]) -> None:
        sizes = SIZES.get(self.group, frozenset())
        for name in given:
            if name in self.options:
                raise ConfigError(
                    f"{self.group} {self.kind}: {name} follows from the surroundings; remove it from the config.",
                    path=(*self.path, name),
                )
            if name not in parameters and name not in sizes:
                known = sorted({*parameters, *sizes})
                raise ConfigError(
                    f"{self.group} {self.kind} takes no {name!r}{suggest(name, known)} (known: "
                    f"{', '.join(known) or 'none'}).",
                    path=self.path,
                )

    def _explain_missing(self, name: str, given: Mapping[str, object]) -> str:
        owner = f"{self.group} {self.kind}"
        if given and name in SIZES.get(self.group, ()):
            return f"{owner} needs {name}, but is given {', '.join(given)}; choose one for such sources."
        return f"{owner} needs the option {name}; add it to the config."


def part(group: str, spec: object, *, path: KeyPath = (), beside: Callable[..., object] | None = None) -> Part[T]:
    """Check `name` or `{kind: name, option: value}` against the constructor it names.

    Args:
        group: the role of the object.
        spec: what a configuration says, or a part, which stays as it is.
        path: where the configuration says it.
        beside: a further class whose options are permitted; the caller takes them out again.
    """
    if isinstance(spec, Part):
        return spec
    options = {"kind": spec} if isinstance(spec, str) else spec
    if not isinstance(options, Mapping) or not isinstance(options.get("kind"), str):
        raise ConfigError(f"{group} must be a name or {{kind: name, ...}}; got {shorten(spec)}.", path=path)
    kind = str(options["kind"])
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


def shorten(value: object) -> str:
    """A value as it is shown in a message."""
    shown = repr(value)
    return shown if len(shown) <= 80 else shown[:77] + "..."


def _import(place: str) -> Any:
    module, _, name = place.partition(":")
    return getattr(importlib.import_module(module), name)


def _load(load: Callable[[], object], rule: str, path: KeyPath) -> Any:
    try:
        found = load()
    except Exception as error:  # whatever the first run of somebody's file can raise
        detail = " ".join(f"{type(error).__name__}: {error}".split())
        raise ConfigError(f"{rule}; got {detail}.", path=path) from error
    if not callable(found):
        raise ConfigError(f"{rule}; got {shorten(found)}.", path=path)
    return found


def _parameters(factory: Callable[..., object], path: KeyPath) -> dict[str, inspect.Parameter]:
    try:
        parameters = inspect.signature(factory, eval_str=True).parameters
    except (TypeError, ValueError, NameError) as error:
        raise ConfigError(
            f"the options of {factory!r} cannot be read from its signature; {error}.", path=path
        ) from error
    return {n: p for n, p in parameters.items() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)}


def _check(name: str, value: object, parameters: dict[str, inspect.Parameter], owner: str, path: KeyPath) -> object:
    if name not in parameters:
        known = ", ".join(parameters) or "none"
        raise ConfigError(
            f"{owner} has no option {name!r}{suggest(name, list(parameters))} (known: {known}).", path=path
        )
    annotation = parameters[name].annotation
    if value is None and type(None) in get_args(annotation):
        return None  # an optional part that a preset has, left out
    if name in TABLE and (annotation is inspect.Parameter.empty or holds_part(annotation)):
        nested: Part[object] = part(name, value, path=path)
        return nested
    if annotation is inspect.Parameter.empty:
        return value
    try:
        # as JSON, because a config has lists where Python has tuples
        adapter: TypeAdapter[object] = TypeAdapter(annotation, config=_STRICT)
        return adapter.validate_json(to_json(value))
    except ValidationError as error:
        raise ConfigError(complain(".".join(path), error.errors()[0]), path=path) from error


def holds_part(annotation: object) -> bool:
    """Whether a parameter is a part, or may be one: `Part[Score]`, `Part[Window] | None`."""
    return any(each is Part or get_origin(each) is Part for each in (annotation, *get_args(annotation)))
