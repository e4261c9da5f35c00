"""A trained run in Python: `seq2see.load("runs/x").predict("...")`."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from os import PathLike
from pathlib import Path
from typing import TYPE_CHECKING, Unpack, overload

from seq2see.config.schema import Config
from seq2see.core.errors import SearchError, Seq2SeeError
from seq2see.core.interventions import list_interventions
from seq2see.core.plural import say_count
from seq2see.core.special_tokens import UNKNOWN
from seq2see.core.trust import trusting
from seq2see.data.formats.given_sources import Source, Sources, is_single, list_sources
from seq2see.data.modalities.target import match_targets
from seq2see.explain.attention_agreement import NOT_MEASURED, AttentionAgreement
from seq2see.explain.copy_unknown import replace_unknown
from seq2see.explain.forced_output import encode_target
from seq2see.explain.occlusion import measure_drops
from seq2see.explain.output_trace import OutputTrace
from seq2see.explain.text_attention import explain_text
from seq2see.models.classifier import Classifier
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.runs.agreement_file import read_agreement
from seq2see.runs.decoding import Decoding, choose_decoding, explain_failures, spread_prefix
from seq2see.runs.folder import RunFolder
from seq2see.runs.prediction import Prediction
from seq2see.runs.predictions import Predictions
from seq2see.runs.sandbox import try_apart
from seq2see.search.factory import SearchSpec, read_options, read_search
from seq2see.search.hypothesis import Search, SearchObserver
from seq2see.search.options import DecodeKeywords, DecodeOptions
from seq2see.search.rules import Rules
from seq2see.system.devices import choose_device
from seq2see.tasks.classification import Classification
from seq2see.tasks.constraints import Prefix
from seq2see.tasks.task import Output, Task
from seq2see.tasks.transduction import Transduction

if TYPE_CHECKING:
    from seq2see.runs.evaluation import Evaluation

Prefixes = Prefix | Sequence[Prefix]
Paths = str | Path | Sequence[str | Path]


@dataclass(frozen=True)
class Run:
    """A model with its tokenizers, ready for raw text.

    Args:
        folder: the run folder.
        config: the configuration of the run.
        task: the task, with its tokenizers.
        model: the model that the task has built, with the weights that predict.
        others: further runs whose probabilities are averaged with those of this one (an ensemble).
        agreement: how far its attention agrees with leave-one-out occlusion on held-out inputs, if that was measured.
        trust: whether it was loaded as a trusted one; processes that predict together load it the same way.
        evaluation: the evaluation at the end of the training that returned this run; None for a loaded run.
    """

    folder: RunFolder
    config: Config
    task: Task
    model: Network
    others: tuple["Run", ...] = ()
    agreement: AttentionAgreement = NOT_MEASURED
    trust: bool = False
    evaluation: "Evaluation | None" = field(default=None, repr=False, compare=False)

    def __repr__(self) -> str:
        """Return three lines: what the run does and where it lies, its model, and what its attention is worth."""
        kinds = f"{self.task.source.name} to {'text' if self.task.writes_text else 'label'}"
        more = f", with {say_count(len(self.others), 'further run')}" if self.others else ""
        count = sum(parameter.numel() for parameter in self.model.parameters())
        return (
            f"Run({self.folder.path}): {kinds}{more}\n"
            f"  model: {self.config.preset or 'no preset'}, {say_count(count, 'parameter')}\n"
            f"  {self.agreement}"
        )

    @overload
    def predict(  # type: ignore[overload-overlap]
        self,
        inputs: Source,
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
        inputs: Sources,
        *,
        search: Search | SearchSpec | None = None,
        prefix: Prefixes = "",
        decoding: Decoding | None = None,
        observer: SearchObserver | None = None,
        **options: Unpack[DecodeKeywords],
    ) -> Predictions: ...
    def predict(
        self,
        inputs: Source | Sources,
        *,
        search: Search | SearchSpec | None = None,
        prefix: Prefixes = "",
        decoding: Decoding | None = None,
        observer: SearchObserver | None = None,
        **options: Unpack[DecodeKeywords],
    ) -> Prediction | Predictions:
        """Return a prediction for each input, in order; a single input gives a single prediction.

        Args:
            inputs: a text, an image (its path, or one of Pillow, NumPy `[y x (c)]` or torch `[(c) y x]`), several of
                them (a list, an array, a column), or a data frame, of which the column is taken that the run was
                trained on, or else the only one of texts or images.
            search: a search, or one as a configuration has it: {"kind": "beam", "width": 5}; None: the configured one.
            prefix: what outputs begin with: one for all inputs, or one for each, as text or as a tuple of ids.
            decoding: what `choose_decoding` returns, in place of a search and options; None makes it from them.
            observer: an observer of the search, called at its steps (`seq2see.search.observers`); None: none.
            options: the fields of `seq2see.DecodeOptions`, such as beam=5, n_best=3 or no_repeat=3.
        """
        texts = self._list_inputs(inputs)
        if decoding is not None and (search is not None or options):
            raise SearchError("decoding stands for a search and all options; leave them out, or leave out decoding.")
        chosen = decoding or self.choose_decoding(read_options(options) if options else None, search=search)
        prefixes = spread_prefix(prefix, len(texts))
        predictions = Predictions(self._wrap(outputs) for outputs in self.decode(texts, prefixes, chosen, observer))
        return predictions[0] if is_single(inputs) else predictions

    def choose_decoding(
        self, options: DecodeOptions | None = None, *, search: Search | SearchSpec | None = None
    ) -> Decoding:
        """Return the search, rules and replacement of unknown words that follow from the configuration and the options.

        Args:
            options: what they change; None: nothing.
            search: a search, or its name as in a configuration; None takes the configured one.
        """
        return choose_decoding(self.config.search, options or DecodeOptions(), search=search)

    def _list_inputs(self, inputs: object) -> list[str]:
        """Return the texts, or the paths of images, of one or several inputs."""
        fields = self.config.data.fields
        return [self.task.source.check(one) for one in list_sources(inputs, usual=fields[0] if fields else None)]

    @property
    def transduction(self) -> tuple[Transduction, Seq2Seq]:
        """Return task and model of a run that writes texts; an error for one that chooses labels."""
        return self.task.as_transduction(self.model)

    @property
    def classification(self) -> tuple[Classification, Classifier]:
        """Return task and model of a run that chooses labels; an error for one that writes texts."""
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
            fields: the columns of source and target; None finds them by their names.
            bleu_tokenizer: the tokenizer of sacrebleu for BLEU, such as 13a, intl or zh.
            workers: processes that predict together; 0 chooses as many as make it faster.
            options: the fields of `seq2see.DecodeOptions`, such as beam=5 or no_repeat=3.
        """
        from seq2see.runs.analysis import evaluate

        chosen = read_options(options)
        return evaluate(
            self, data, fields=fields, bleu_tokenizer=bleu_tokenizer, workers=workers, decode_options=chosen
        )

    def explain(self, source: Source, *, target: str | None = None, occlusion: bool = False) -> OutputTrace:
        """Return the attention of the model while it writes its own output, or a text of yours.

        Args:
            source: the source: a text, or the path of an image.
            target: the text that the model is made to write; None takes its own output.
            occlusion: whether to measure the probability drop without each word, sentence or region, too.
        """
        if target is None:
            own = self.predict(source)
            return own.faithfulness if occlusion else own.attention
        output = encode_target(self.task, self.task.source.check(source), target)
        trace = explain_text(*self.transduction, output.source, output.ids).with_run_agreement(self.agreement)
        return measure_drops(self.task, self.model, trace, output) if occlusion else trace

    def save(self, path: str | PathLike[str]) -> None:
        """Copy the whole run folder, to share it.

        Args:
            path: the new folder, which must not exist yet.
        """
        if self.others:
            raise Seq2SeeError("several runs together have no folder of their own; save each of them.")
        self.folder.copy_to(Path(path))

    @property
    def rules(self) -> Rules:
        """Return the rules of the configuration."""
        return read_search(self.config.search)[1]

    def decode(
        self,
        texts: Sequence[str],
        prefixes: Sequence[Prefix],
        decoding: Decoding,
        observer: SearchObserver | None = None,
    ) -> list[list[Output]]:
        """Return the outputs for each text, best first; a blank text has a blank output.

        Args:
            texts: the texts, or the paths of images.
            prefixes: what each output begins with; empty: nothing is given.
            decoding: the search and its rules.
            observer: an observer of the search; None: nobody observes.
        """
        with explain_failures(f"the run {self.folder.path} cannot predict this"):
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
        try:
            trace = explain_text(*self.transduction, output.source, output.ids)
        except Seq2SeeError as error:
            raise SearchError(f"leave out replace_unknown: {error}") from None
        return replace_unknown(output, trace, self.transduction[0].target, decoding.dictionary, ban=decoding.rules.ban)

    def _wrap(self, outputs: Sequence[Output]) -> Prediction:
        if not outputs:
            raise SearchError(f"nothing was found: the weights of {self.folder.path} are not numbers; train it again.")
        changes = list_interventions(self.model)
        first, *others = [Prediction(**vars(output), run=self, interventions=changes) for output in outputs]
        return replace(first, alternatives=tuple(others))


def load(path: Paths, *, trust: bool = False, sandbox: bool = False, device: str = "auto") -> Run:
    """Load a run folder, or several as one run that averages the probabilities of all (an ensemble).

    Args:
        path: the folder, or a list of several, which need the same target vocabulary and may differ in all else;
            configuration and attention are those of the first.
        trust: whether the run may execute the code of its own that it names.
        sandbox: whether the run is first opened in a process with limits on memory and time and without a network, and
            is refused if it does not predict there. That takes some seconds.
        device: where the models compute: `cpu`, `cuda`, `cuda:1`, `mps` or `xpu`; `auto` takes the best there is.
    """
    if trust and sandbox:
        raise Seq2SeeError(
            "a sandbox is for runs that are not trusted, because code of a run would be executed here after its trial; "
            "got trust and sandbox; leave out one of them."
        )
    paths = [path] if isinstance(path, str | Path) else list(path) if isinstance(path, Iterable) else []
    if not paths:
        raise SearchError(f"load needs the path of a run folder, or several; got {path!r}.")
    folders = [RunFolder(Path(one)) for one in paths]
    for folder in folders if sandbox else ():
        try_apart(folder)
    with trusting(trust):
        first, *others = [_open(folder, trust=trust, device=device) for folder in folders]
    for other in others:
        if match_targets(first.task.target, other.task.target) is None:
            raise SearchError(
                f"runs that predict together must have the same target vocabulary; {first.folder.path} and "
                f"{other.folder.path} have different ones; train them with the same data and the same tokens.target."
            )
    return replace(first, others=tuple(others))


def _open(folder: RunFolder, *, trust: bool, device: str) -> Run:
    config, task, model = folder.open(trust=trust)
    return Run(folder, config, task, model.to(choose_device(device)), agreement=read_agreement(folder), trust=trust)
