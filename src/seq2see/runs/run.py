"""A trained run in Python: `seq2see.load("runs/x").predict("...")`."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from html import escape
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from seq2see.config.schema import Config
from seq2see.core.errors import AttentionError, SearchError, Seq2SeeError
from seq2see.core.special_tokens import UNKNOWN
from seq2see.data.modalities.modality import match_targets
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.classifier_attention import explain_label, explain_layers
from seq2see.explain.copy_unknown import replace_unknown
from seq2see.explain.occlusion import measure_drops
from seq2see.explain.output_trace import OutputTrace
from seq2see.explain.text_attention import explain_text, trace_without_attention
from seq2see.models.classifier import Classifier
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.runs.decoding import Decoding, choose_decoding, spread_prefix
from seq2see.runs.folder import RunFolder
from seq2see.search.factory import SearchSpec, read_options, read_search
from seq2see.search.hypothesis import Search, SearchObserver
from seq2see.search.options import DecodeKeywords, DecodeOptions
from seq2see.search.rules import Rules
from seq2see.tasks.classification import Classification
from seq2see.tasks.constraints import Prefix
from seq2see.tasks.task import Output, Task
from seq2see.tasks.transduction import Transduction

if TYPE_CHECKING:
    from seq2see.runs.evaluation import Evaluation

One = str | PathLike[str]  # a text, or where an image is
Prefixes = Prefix | Sequence[Prefix]


@dataclass(frozen=True)
class Prediction(Output):
    """One output of a run; in a notebook it shows itself with its attention."""

    run: "Run" = field(kw_only=True, repr=False, compare=False)
    alternatives: tuple["Prediction", ...] = ()  # further outputs of an n-best list, best first

    def __str__(self) -> str:
        return self.text

    @cached_property
    def attention(self) -> OutputTrace:
        """The attention of the model while it wrote exactly this output; of several runs, that of the first."""
        if not self.ids:
            raise Seq2SeeError("a blank source has no attention to show.")
        if not self.run.task.writes_text:
            return explain_label(*self.run.classification, self)
        trace = explain_text(*self.run.transduction, self.source, self.ids)
        # our own tokens, which differ where a source word stands for an unknown one; as sure as the run was of them
        tokens = zip(self.tokens, trace.target_tokens, strict=True)
        shown = tuple(replace(token, confidence=seen.confidence) for token, seen in tokens)
        return replace(trace, target=self.text, target_tokens=shown)

    @cached_property
    def layers(self) -> AttentionTrace:
        """Behind the label of a text: its self-attention in every layer of the encoder, head by head."""
        if self.run.task.writes_text or not self.ids:
            raise Seq2SeeError("layers are those behind the label of a text; see attention.")
        return explain_layers(*self.run.classification, self)

    @cached_property
    def faithfulness(self) -> OutputTrace:
        """The attention behind the output, beside the probability drop without each word, sentence or region."""
        try:
            trace = self.attention
        except AttentionError:  # occlusion needs none
            trace = trace_without_attention(self.run.task, self)
        return measure_drops(self.run.task, self.run.model, trace, self)

    def _repr_html_(self) -> str:
        heading = f"<p><code>{escape(self.source)}</code> → <b>{escape(self.text)}</b></p>"
        try:
            return heading + self.attention._repr_html_()
        except Seq2SeeError as error:
            return f"{heading}<p>{escape(str(error))}</p>"


@dataclass(frozen=True)
class Run:
    """A model with its tokenizers, ready for raw text."""

    folder: RunFolder
    config: Config
    task: Task
    model: Network  # that its task has built
    others: tuple["Run", ...] = ()  # further runs, whose probabilities are averaged with this one's

    @overload
    def predict(  # type: ignore[overload-overlap]
        self,
        inputs: One,
        *,
        search: Search | SearchSpec | None = None,
        prefix: Prefixes = "",
        decoding: Decoding | None = None,
        observer: SearchObserver | None = None,
        **options: Unpack[DecodeKeywords],
    ) -> Prediction: ...
    @overload
    def predict(
        self,
        inputs: Sequence[One],
        *,
        search: Search | SearchSpec | None = None,
        prefix: Prefixes = "",
        decoding: Decoding | None = None,
        observer: SearchObserver | None = None,
        **options: Unpack[DecodeKeywords],
    ) -> list[Prediction]: ...
    def predict(
        self,
        inputs: One | Sequence[One],
        *,
        search: Search | SearchSpec | None = None,
        prefix: Prefixes = "",
        decoding: Decoding | None = None,
        observer: SearchObserver | None = None,
        **options: Unpack[DecodeKeywords],
    ) -> Prediction | list[Prediction]:
        """A prediction for each input, in order; a single input gives a single prediction.

        Args:
            inputs: a text, the path of an image, or a list of them.
            search: a search, or its name as in a configuration: "greedy", {"kind": "beam", "width": 5}. If none is
                given, the configured one.
            prefix: what outputs begin with: one for all inputs, or one for each, as text or as a tuple of ids.
            decoding: what `choose_decoding` gives, in place of a search and options.
            observer: is told of every step of the search (`seq2see.search.observers`).
            options: the fields of `seq2see.DecodeOptions`, such as beam=5, n_best=3 or no_repeat=3.
        """
        texts = self._list_inputs(inputs)
        if decoding is not None and (search is not None or options):
            raise SearchError("decoding stands for a search and all options; leave them out, or leave out decoding.")
        chosen = decoding or self.choose_decoding(read_options(options) if options else None, search=search)
        prefixes = spread_prefix(prefix, len(texts))
        predictions = [self._wrap(outputs) for outputs in self.decode(texts, prefixes, chosen, observer)]
        return predictions[0] if isinstance(inputs, str | PathLike) else predictions

    def choose_decoding(
        self, options: DecodeOptions | None = None, *, search: Search | SearchSpec | None = None
    ) -> Decoding:
        """The search, rules and replacement of unknown words that follow from the configuration and the options."""
        return choose_decoding(self.config.search, options or DecodeOptions(), search=search)

    def _list_inputs(self, inputs: object) -> list[str]:
        """The texts, or the paths of images, that somebody gave, one or several."""
        check = self.task.source.check
        if isinstance(inputs, str | PathLike | Mapping) or not isinstance(inputs, Iterable):
            return [check(inputs)]
        return [check(one) for one in inputs]

    @property
    def transduction(self) -> tuple[Transduction, Seq2Seq]:
        """Task and model of a run that writes texts; an error for one that chooses labels."""
        return self.task.as_transduction(self.model)

    @property
    def classification(self) -> tuple[Classification, Classifier]:
        """Task and model of a run that chooses labels; an error for one that writes texts."""
        return self.task.as_classification(self.model)

    def __fspath__(self) -> str:
        return str(self.folder.path)  # so that a run may stand where the path of its folder may

    def evaluate(
        self,
        data: object,
        *,
        fields: tuple[str, str] | None = None,
        bleu_tokenizer: str = "13a",
        workers: int = 0,
        **options: Unpack[DecodeKeywords],
    ) -> "Evaluation":
        """Predict all sources of some data, and score the predictions against its targets.

        Args:
            data: anything that `seq2see.train` takes as data: a path, pairs, a data frame ...
            fields: the columns of source and target, where their names do not say it.
            bleu_tokenizer: how sacrebleu cuts texts for BLEU.
            workers: processes that predict together; 0: as many as are worth it.
            options: the fields of `seq2see.DecodeOptions`, such as beam=5 or no_repeat=3.
        """
        from seq2see.runs.analysis import evaluate

        chosen = read_options(options)
        return evaluate(
            self, data, fields=fields, bleu_tokenizer=bleu_tokenizer, workers=workers, decode_options=chosen
        )

    def save(self, path: One) -> None:
        """Copy the whole run folder, to share it; a path where something is already is refused."""
        if self.others:
            raise Seq2SeeError("several runs together have no folder of their own; save each of them.")
        self.folder.copy_to(Path(path))

    @property
    def rules(self) -> Rules:
        """The rules of the configuration."""
        return read_search(self.config.search)[1]

    def decode(
        self,
        texts: Sequence[str],
        prefixes: Sequence[Prefix],
        decoding: Decoding,
        observer: SearchObserver | None = None,
    ) -> list[list[Output]]:
        """Outputs for each text, best first."""
        results = self.task.predict(
            self.model,
            texts,
            decoding.search,
            rules=decoding.rules,
            prefixes=prefixes,
            unknown=decoding.replace_unknown,
            others=[(other.task, other.model) for other in self.others],
            observer=observer,
        )
        if not decoding.replace_unknown:
            return results
        return [[self._replace(one, decoding) if UNKNOWN in one.ids else one for one in row] for row in results]

    def _replace(self, output: Output, decoding: Decoding) -> Output:
        task, model = self.transduction
        try:
            trace = explain_text(task, model, output.source, output.ids)
        except Seq2SeeError as error:
            raise SearchError(f"leave out replace_unknown: {error}") from None
        return replace_unknown(output, trace, task.target, decoding.dictionary, ban=decoding.rules.ban)

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
        if match_targets(first.task.target, other.task.target) is None:
            raise SearchError(
                f"runs that predict together must have the same target vocabulary; {first.folder.path} and "
                f"{other.folder.path} have different ones; train them with the same data and the same tokens.target."
            )
    return replace(first, others=tuple(others))


def _load(path: Path, *, trust: bool) -> Run:
    folder = RunFolder(path)
    return Run(folder, *folder.open(trust=trust))
