"""A trained run in Python: `seq2see.load("runs/x").predict("...")`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from html import escape
from os import PathLike, fspath
from pathlib import Path
from typing import Any, overload

from seq2see.config.schema import Config
from seq2see.core.errors import AttentionError, SearchError, Seq2SeeError, TokenError
from seq2see.core.registry import shorten
from seq2see.core.text import is_text
from seq2see.data.tokenise import UNKNOWN
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.choice import explain_label, explain_layers
from seq2see.inspect.document import DocumentTrace
from seq2see.inspect.explain import explain, show_bare
from seq2see.inspect.unknown import replace_unknown
from seq2see.inspect.worth import measure_worth
from seq2see.search.choose import choose_search, read_search
from seq2see.search.hypothesis import Search, Watch
from seq2see.search.rules import Rules
from seq2see.tasks.demands import Prefix
from seq2see.tasks.task import Output
from seq2see.train.folder import RunFolder

One = str | PathLike[str]  # a text, or where a picture is
Prefixes = Prefix | Sequence[Prefix]


@dataclass(frozen=True)
class Prediction(Output):
    """One output of a run; in a notebook it shows itself with its attention."""

    run: "Run" = field(kw_only=True, repr=False, compare=False)
    alternatives: tuple["Prediction", ...] = ()  # further outputs of an n-best list, best first

    def __str__(self) -> str:
        return self.text

    @cached_property
    def attention(self) -> AttentionTrace | DocumentTrace:
        """What the model looked at while it wrote exactly this output; of several runs together, the first one."""
        if not self.ids:
            raise Seq2SeeError("a blank source has no attention to show.")
        if self.probabilities is not None:
            return explain_label(self.run.task, self.run.model, self)
        trace = explain(self.run.task, self.run.model, self.source, self.ids)
        # our own tokens, which differ where a source word stands for an unknown one; as sure as the run was of them
        tokens = zip(self.tokens, trace.target_tokens, strict=True)
        shown = tuple(replace(token, confidence=seen.confidence) for token, seen in tokens)
        return replace(trace, target=self.text, target_tokens=shown)

    @cached_property
    def layers(self) -> AttentionTrace:
        """Behind a label for a text: how its tokens look at each other in every layer of the encoder, head by head."""
        if self.probabilities is None or not self.ids:
            raise Seq2SeeError("layers are those behind the label of a text; see attention.")
        return explain_layers(self.run.task, self.run.model, self)

    @cached_property
    def faithfulness(self) -> AttentionTrace | DocumentTrace:
        """The attention behind the output beside what leaving out every word, sentence or region does to it."""
        try:
            trace = self.attention
        except AttentionError:  # leaving out says what such a model goes by, too
            trace = show_bare(self.run.task, self)
        return measure_worth(self.run.task, self.run.model, trace, self)

    def _repr_html_(self) -> str:
        heading = f"<p><code>{escape(self.source)}</code> → <b>{escape(self.text)}</b></p>"
        try:
            return heading + self.attention._repr_html_()
        except Seq2SeeError as error:
            return f"{heading}<p>{escape(str(error))}</p>"


@dataclass(frozen=True)
class Decoding:
    """How outputs are found."""

    search: Search
    rules: Rules = field(default_factory=Rules)
    replace_unknown: bool | Mapping[str, str] = False  # with a dictionary, or with the source words themselves


@dataclass(frozen=True)
class Run:
    """A model with its tokenizers, ready for raw text."""

    folder: RunFolder
    config: Config
    task: Any  # a Task
    model: Any  # that its task has built
    others: tuple["Run", ...] = ()  # further runs, whose probabilities are averaged with this one's

    @overload
    def predict(  # type: ignore[overload-overlap]
        self,
        inputs: One,
        *,
        beam: int | None = None,
        n_best: int = 1,
        search: Search | str | Mapping[str, Any] | None = None,
        rules: Rules | None = None,
        prefix: Prefixes = "",
        replace_unknown: bool | Mapping[str, str] = False,
        watch: Watch | None = None,
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        inputs: Sequence[One],
        *,
        beam: int | None = None,
        n_best: int = 1,
        search: Search | str | Mapping[str, Any] | None = None,
        rules: Rules | None = None,
        prefix: Prefixes = "",
        replace_unknown: bool | Mapping[str, str] = False,
        watch: Watch | None = None,
    ) -> list[Prediction]: ...
    def predict(
        self,
        inputs: One | Sequence[One],
        *,
        beam: int | None = None,
        n_best: int = 1,
        search: Search | str | Mapping[str, Any] | None = None,
        rules: Rules | None = None,
        prefix: Prefixes = "",
        replace_unknown: bool | Mapping[str, str] = False,
        watch: Watch | None = None,
    ) -> Prediction | list[Prediction]:
        """A prediction for each text, in order; one text gives one prediction.

        The search is the configured one unless you give the width of a beam (1: greedy) or a search of your own (or
        its name, as in a configuration: "greedy", {"kind": "beam", "width": 5}); the rules too. A prefix is what
        outputs begin with: one for all, or one for each text, as text or as a tuple of ids.
        `replace_unknown` lets the model write words it does not know, and puts there the source word it looked at, or
        your dictionary's entry, unless it is banned. A `watch` looks on while it works (`seq2see.search.watch`).
        """
        texts = self._list_inputs(inputs)
        if search is None:
            chosen, own = choose_search(self.config.search, beam=beam, n_best=n_best), self.rules
        else:
            chosen, own = _build_search(search, self.rules)
        how = Decoding(chosen, own if rules is None else rules, replace_unknown)
        prefixes = spread_prefix(prefix, len(texts))
        predictions = [self._wrap(outputs) for outputs in self.decode(texts, prefixes, how, watch)]
        return predictions[0] if isinstance(inputs, str | PathLike) else predictions

    def _list_inputs(self, inputs: Any) -> list[str]:
        """The texts, or the paths of pictures, that somebody gave, one or several."""
        pictures = self.config.reads_pictures
        several = not isinstance(inputs, str | PathLike | Mapping) and isinstance(inputs, Iterable)
        texts = list(inputs) if several else [inputs]
        for text in texts:
            if not isinstance(text, str) and not (pictures and isinstance(text, PathLike)):
                wanted = "the path of a picture" if pictures else "a text"
                raise TokenError(f"predict takes {wanted}, or a list of them; got {type(text).__name__}.")
            if not pictures and not is_text(str(text)):
                raise TokenError(f"texts must be Unicode that can be written; got {shorten(text)}; mend its bytes.")
        return [fspath(text) for text in texts]

    @property
    def rules(self) -> Rules:
        """The rules of the configuration."""
        return read_search(self.config.search)[1]

    def decode(
        self, texts: Sequence[str], prefixes: Sequence[Prefix], how: Decoding, watch: Watch | None = None
    ) -> list[list[Output]]:
        """Outputs for each text, best first."""
        results = self.task.predict(
            self.model,
            texts,
            how.search,
            rules=how.rules,
            prefixes=prefixes,
            unknown=how.replace_unknown is not False,
            others=[(other.task, other.model) for other in self.others],
            watch=watch,
        )
        if how.replace_unknown is False:
            return results
        return [[self._replace(output, how) if UNKNOWN in output.ids else output for output in row] for row in results]

    def _replace(self, output: Output, how: Decoding) -> Output:
        dictionary = how.replace_unknown if isinstance(how.replace_unknown, Mapping) else None
        try:
            trace = explain(self.task, self.model, output.source, output.ids)
        except Seq2SeeError as error:
            raise SearchError(f"leave out replace_unknown: {error}") from None
        return replace_unknown(output, trace, self.task.target, dictionary, ban=how.rules.ban)

    def _wrap(self, outputs: Sequence[Output]) -> Prediction:
        if not outputs:
            raise SearchError(
                f"nothing could be written: the weights of {self.folder.path} are not numbers; train it again."
            )
        first, *others = [Prediction(**vars(output), run=self) for output in outputs]
        return replace(first, alternatives=tuple(others))


def load(path: str | Path | Sequence[str | Path], *, trust: bool = False) -> Run:
    """Load a run folder; `trust` lets it run code of its own, if it names any.

    Several paths give one run that averages the probabilities of all. They need the same target vocabulary, and may
    differ in everything else; configuration and attention are those of the first.
    """
    paths = [path] if isinstance(path, str | Path) else list(path) if isinstance(path, Iterable) else []
    if not paths:
        raise SearchError(f"load needs the path of a run folder, or several; got {path!r}.")
    first, *others = [_load(Path(one), trust=trust) for one in paths]
    for other in others:
        if first.task.target.match(other.task.target) is None:
            raise SearchError(
                f"runs that predict together must have the same target vocabulary; {first.folder.path} and "
                f"{other.folder.path} have different ones; train them with the same data and the same tokens.target."
            )
    return replace(first, others=tuple(others))


def _load(path: Path, *, trust: bool) -> Run:
    folder = RunFolder(path)
    return Run(folder, *folder.open(trust=trust))


def spread_prefix(prefix: Any, count: int) -> Sequence[Prefix]:
    """A prefix for each of the texts, or nothing."""
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


def _build_search(given: Any, usual: Rules) -> tuple[Search, Rules]:
    """A search as it is, or as a configuration names it; rules that stand among its options replace the usual ones."""
    if isinstance(given, str | Mapping):
        named = isinstance(given, Mapping) and any(rule.name in given for rule in fields(Rules))
        return choose_search(given), read_search(given)[1] if named else usual
    if isinstance(given, Search):
        return given, usual
    raise SearchError(
        f"search must be a search, such as seq2see.search.beam.Beam(width=5), or the name of one; got {shorten(given)}."
    )


def _is_prefix(given: Any) -> bool:
    return isinstance(given, str) or (isinstance(given, tuple) and all(isinstance(one, int) for one in given))
