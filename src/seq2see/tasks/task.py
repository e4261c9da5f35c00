"""A task: it joins data, model, prediction and metrics, whatever is read and whatever comes out."""

import math
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
from seq2see.data.modalities.modality import Modality
from seq2see.data.modalities.target import Target
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

TINY = 1e-300  # stands for a probability of 0, which has no logarithm
Prefix = str | tuple[int, ...]  # what an output begins with, as a text or as ids


@dataclass(frozen=True)
class Output:
    """Holds one predicted text or label; a blank source has an output without text, tokens and ids.

    Args:
        text: the text, or the labels joined by their separator.
        score: of a text, what the search ranks by (with the usual length penalty of 1, the mean log-probability of a
            token); of a label its probability, of several labels the smallest one.
        tokens: the tokens of a text with their confidences, the end mark last if it was reached; empty for labels.
        ids: the ids of these tokens, without the start mark; for labels their numbers.
        source: the source as it was given.
        finished: whether the output ended by itself; False if it was cut at the longest length.
        probabilities: the probability of every label, the largest first; None for a text.
    """

    text: str
    score: float
    tokens: tuple[Token, ...]
    ids: tuple[int, ...]
    source: str
    finished: bool = True
    probabilities: Mapping[str, float] | None = None

    @property
    def confidence(self) -> float | None:
        """The probability of a label; of a text the geometric mean of its tokens' probabilities; None if blank."""
        if self.probabilities:
            return self.score
        known = [token.confidence for token in self.tokens if token.confidence is not None]
        return math.exp(sum(math.log(max(one, TINY)) for one in known) / len(known)) if known else None

    @property
    def probability(self) -> float | None:
        """Return the model's probability of the whole output, 0 to 1; None for a blank source.

        Of a text it is the product of the confidences of its tokens, the end mark included; of a text that was cut, of
        the tokens that are there. Of a label it is the score.
        """
        if not self.tokens:
            return self.score if self.probabilities else None
        confidences = [token.confidence for token in self.tokens if token.confidence is not None]
        return math.prod(confidences) if len(confidences) == len(self.tokens) else None


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
        """Learn how to read sources and targets from the training data; a side that is given stays as it is.

        Args:
            config: the configuration, whose section `tokens` says how texts are divided into tokens.
            pairs: the training data.
            source: how sources are read, from another run; None to learn it.
            target: what outputs consist of, from another run; None to learn it.
        """

    @classmethod
    @abstractmethod
    def list_labels(cls, config: Config, target: str) -> list[str]:
        """Return the labels of a target, before anything is learned; a text has none.

        Args:
            config: the configuration, which says what separates the labels of one source.
            target: the target as the data has it.
        """

    @abstractmethod
    def build(self, config: Config) -> Network:
        """Return a new model of the configured kind; its initial weights follow from the seed.

        Args:
            config: the configuration with its sections `model` and `tokens` and its `seed`.
        """

    @abstractmethod
    def objective(
        self, train: Train, *, teachers: Sequence[Seq2Seq] = (), reward: Reward | None = None
    ) -> Objective[Any]:
        """Return the training objective, for the models that this task builds.

        Args:
            train: the section `train` of the configuration.
            teachers: the models whose probabilities are distilled; none without distillation.
            reward: the reward of minimum risk training; None without it.
        """

    @abstractmethod
    def loss(self, model: Network, batch: Batch) -> Loss:
        """Return the negative log-likelihood of a batch, for validation: no label smoothing, no further terms.

        Args:
            model: a model that this task has built.
            batch: padded sources and targets.
        """

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
        """Return outputs for each source, best first; a blank source has a blank output.

        Args:
            model: a model that this task has built.
            sources: texts, or the paths of images.
            search: how a text is found; of labels, how many are listed.
            rules: constraints on every text; None for none.
            prefixes: what each text begins with, one for each source; empty if none has a prefix.
            unknown: whether a text may contain the unknown token.
            others: tasks and models whose probabilities are averaged with those of `model` (an ensemble).
            observer: is told of every step of the search; it knows the sources by their rows.
        """

    @abstractmethod
    def plan(self, sources: Sequence[str], search: Search, *, workers: int = 1) -> list[list[int]]:
        """Return the rows of the sources that are predicted together, batch by batch; blank ones are in none.

        Args:
            sources: texts, or the paths of images.
            search: how a text is found; with more than two hypotheses a source, fewer sources are in a batch of texts.
            workers: the processes that share the batches; a few batches are cut anew so that all processes have work.
        """

    @abstractmethod
    def score_output(self, model: Network, given: tuple[Tensor, Tensor], output: Output) -> Float[Tensor, " b"]:
        """Return how likely an output is for each source of a batch.

        That is the log-probability of a text, and the probability of a label (of several labels: the mean).

        Args:
            model: a model that this task has built.
            given: a batch of sources and its mask, as the encoder takes them.
            output: the output whose likelihood is computed.
        """

    @abstractmethod
    def score(
        self, outputs: Sequence[Output], pairs: Pairs, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
    ) -> list[Metric]:
        """Return every metric of outputs beside their references.

        Args:
            outputs: one output for each source.
            pairs: the sources in the same order with their references.
            bleu_tokenizer: the tokenizer of sacrebleu for BLEU of texts; it has no effect on captions and labels.
        """

    @abstractmethod
    def likelihood_metrics(self, model: Network, pairs: Pairs) -> list[Metric]:
        """Return the metrics that need the likelihood of given targets: perplexity, where targets are texts.

        Args:
            model: a model that this task has built.
            pairs: the sources with the targets whose likelihood is computed.
        """

    @abstractmethod
    def validation_metrics(self, outputs: Sequence[Output], pairs: Pairs, *, nll: float) -> dict[str, float]:
        """Return metrics by name that are quick enough for every validation.

        Args:
            outputs: one output for each source.
            pairs: the sources in the same order with their references.
            nll: the mean negative log-likelihood of a target token (of a label: of a source), in nats.
        """

    @abstractmethod
    def is_correct(self, text: str, reference: str) -> bool:
        """Return whether an output is what its reference says.

        Args:
            text: the output: a text, or labels joined by their separator.
            reference: the target of the data.
        """

    def group_references(self, pairs: Pairs) -> Pairs:
        """Return the pairs with all references of a source together, if a source may have several.

        Args:
            pairs: the pairs of a split.
        """
        return pairs

    def calibrate(self, model: Network, store: Store) -> dict[str, JsonValue]:
        """Return what is learned about the final weights from held-out data, by name; `with_saved_state` reads it.

        Args:
            model: the model with its final weights; it may be put into evaluation mode.
            store: the held-out data.
        """
        return {}

    @abstractmethod
    def with_saved_state(self, facts: Mapping[str, JsonValue]) -> "Task":
        """Return the task as it was when its weights were written.

        Args:
            facts: what was saved with the weights, among it what `calibrate` returned and the `longest_target` of
                training.
        """

    @abstractmethod
    def describe(self) -> str:
        """Return what the task reads and writes, as text."""

    def as_transduction(self, model: Network) -> "tuple[Transduction, Seq2Seq]":
        """Return this task and its model, if it writes texts; else raise an error.

        Args:
            model: a model that this task has built.
        """
        raise Seq2SeeError("this needs a run that writes texts, and this run chooses labels.")

    def as_classification(self, model: Network) -> "tuple[Classification, Classifier]":
        """Return this task and its model, if it chooses labels; else raise an error.

        Args:
            model: a model that this task has built.
        """
        raise Seq2SeeError("this needs a run that chooses labels, and this run writes texts.")


def find_task(name: str) -> type[Task]:
    """Return the class of a task.

    Args:
        name: its name in a configuration: transduction, classification or that of a plug-in.
    """
    found: type[Task] = find("task", name)
    return found
