"""A task: it joins data, model, prediction and metrics, whatever is read and whatever comes out."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from jaxtyping import Float
from pydantic import JsonValue
from torch import Tensor

from seq2see.config.schema import Config, Train
from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import find
from seq2see.core.token import Token
from seq2see.data.batch import Batch
from seq2see.data.modalities.modality import Modality, Target
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.minimum_risk import Reward
from seq2see.objectives.objective import Loss, Objective
from seq2see.search.hypothesis import Search, SearchObserver
from seq2see.search.rules import Rules

if TYPE_CHECKING:
    from seq2see.models.classifier import Classifier
    from seq2see.tasks.classification import Classification
    from seq2see.tasks.transduction import Transduction

Prefix = str | tuple[int, ...]  # what an output begins with, as a text or as ids


@dataclass(frozen=True)
class Output:
    """One predicted text or label."""

    text: str
    score: float  # what the search ranks by
    tokens: tuple[Token, ...]  # with confidences; the end mark last if it was reached
    ids: tuple[int, ...]
    source: str
    finished: bool = True  # False: it was cut at the longest length that is tried
    probabilities: Mapping[str, float] | None = None  # of all labels, the likeliest first; None for a text


@dataclass(frozen=True)
class Task(ABC):
    """What training, prediction and evaluation know of a task.

    Args:
        source: how sources are read.
        target: what outputs consist of.
        longest_target: tokens of the longest target in training.
    """

    name: ClassVar[str]  # in a configuration
    unit: ClassVar[str]  # what losses are sums over: tokens or sources
    writes_text: ClassVar[bool]  # whether outputs are texts that a search finds token by token; else they are labels

    source: Modality
    target: Target
    longest_target: int = 0

    @classmethod
    @abstractmethod
    def learn(
        cls, config: Config, pairs: Pairs, *, source: Modality | None = None, target: Target | None = None
    ) -> "Task":
        """Learn both sides from the training data; a side that is given stays as it is."""

    @classmethod
    @abstractmethod
    def list_labels(cls, config: Config, target: str) -> list[str]:
        """The labels of a target, before anything is learned; a text has none."""

    @abstractmethod
    def build(self, config: Config) -> Network:
        """A new model of the configured kind; its initial weights follow from the seed."""

    @abstractmethod
    def objective(
        self, train: Train, *, teachers: Sequence[Seq2Seq] = (), reward: Reward | None = None
    ) -> Objective[Any]:
        """What a training minimises, for the models that this task builds."""

    @abstractmethod
    def loss(self, model: Network, batch: Batch) -> Loss:
        """The negative log-likelihood of a batch, for validation."""

    @abstractmethod
    def predict(
        self,
        model: Network,
        sources: Sequence[str],
        search: Search,
        *,
        rules: Rules | None = None,
        prefixes: Sequence[Prefix] = (),
        unknown: bool = False,
        others: Sequence[tuple["Task", Network]] = (),
        observer: SearchObserver | None = None,
    ) -> list[list[Output]]:
        """Outputs for each source, best first; a blank source has a blank output.

        Args:
            model: a model that this task has built.
            sources: texts, or the paths of images.
            search: how a text is found; of labels, how many are listed.
            rules: constraints on every text.
            prefixes: what each text begins with.
            unknown: whether a text may contain the unknown token.
            others: tasks and models whose probabilities are averaged with those of `model` (an ensemble).
            observer: is told of every step of the search.
        """

    @abstractmethod
    def plan(self, sources: Sequence[str], search: Search, *, workers: int = 1) -> list[list[int]]:
        """The rows of sources that are predicted together, batch by batch; blank ones are in none."""

    @abstractmethod
    def score_output(self, model: Network, given: tuple[Tensor, Tensor], output: Output) -> Float[Tensor, " b"]:
        """How likely an output is for each source of a batch.

        That is the log-probability of a text, and the probability of a label (of several labels: the mean).
        """

    @abstractmethod
    def score(
        self, outputs: Sequence[Output], pairs: Pairs, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
    ) -> list[Metric]:
        """Every metric of outputs beside their references."""

    @abstractmethod
    def likelihood_metrics(self, model: Network, pairs: Pairs) -> list[Metric]:
        """The metrics that need the likelihood of given targets: perplexity, where targets are texts."""

    @abstractmethod
    def validation_metrics(self, outputs: Sequence[Output], pairs: Pairs, *, nll: float) -> dict[str, float]:
        """Metrics by name that are quick enough for every validation; `nll` is the mean of a token or source."""

    @abstractmethod
    def is_correct(self, text: str, reference: str) -> bool:
        """Whether an output is what its reference says."""

    def group_references(self, pairs: Pairs) -> Pairs:
        """The pairs with all references of a source together, if a source may have several."""
        return pairs

    def calibrate(self, model: Network, store: Store) -> dict[str, JsonValue]:
        """What is learned about the final weights from held-out data, to be saved with them."""
        return {}

    @abstractmethod
    def with_saved_state(self, facts: Mapping[str, JsonValue]) -> "Task":
        """The task as it was when its weights were written."""

    @abstractmethod
    def describe(self) -> str:
        """What it reads and writes, for people."""

    def as_transduction(self, model: Network) -> "tuple[Transduction, Seq2Seq]":
        """This task and its model, if it writes texts; else an error."""
        raise Seq2SeeError("this needs a run that writes texts, and this run chooses labels.")

    def as_classification(self, model: Network) -> "tuple[Classification, Classifier]":
        """This task and its model, if it chooses labels; else an error."""
        raise Seq2SeeError("this needs a run that chooses labels, and this run writes texts.")


def find_task(name: str) -> type[Task]:
    """The class of a task."""
    found: type[Task] = find("task", name)
    return found
