"""A task: data, loss, prediction and metrics behind one face, whatever is read and whatever comes out."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol, runtime_checkable

from jaxtyping import Float
from torch import Tensor

from seq2see.config.schema import Config
from seq2see.core.registry import find
from seq2see.core.token import Token
from seq2see.data.batch import Batch
from seq2see.data.pairs import Pairs
from seq2see.data.sources import Cutter
from seq2see.data.store import Store
from seq2see.metrics.text import Metric
from seq2see.search.hypothesis import Search


@dataclass(frozen=True)
class Loss:
    """Sums over the target tokens of a batch."""

    total: Float[Tensor, ""]  # what is minimised
    nll: Float[Tensor, ""]  # negative log-likelihood, without smoothing
    tokens: int


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


@runtime_checkable
class Task(Protocol):
    """What training, prediction and review know of a task."""

    unit: ClassVar[str]  # what losses are sums over: tokens or sources

    @property
    def source(self) -> Cutter: ...
    @property
    def target(self) -> Any: ...  # turns targets into ids: a tokenizer, or labels
    @property
    def longest_target(self) -> int: ...
    def build(self, config: Config) -> Any: ...
    def loss(
        self,
        model: Any,
        batch: Batch,
        *,
        smoothing: float = 0.0,
        guessed: float = 0.0,
        rewarded: float = 0.0,
        taught: float = 0.0,
    ) -> Loss: ...
    def predict(self, model: Any, sources: Sequence[str], search: Search) -> Sequence[Sequence[Output]]: ...
    def describe(self) -> str: ...
    def examine(self, pairs: Pairs) -> Pairs: ...
    def agrees(self, text: str, reference: str) -> bool: ...  # whether an output is what its reference says
    def score(self, outputs: Sequence[Output], pairs: Pairs, *, bleu_tokenizer: str = ...) -> list[Metric]: ...
    def glance(self, outputs: Sequence[Output], pairs: Pairs) -> list[Metric]: ...
    def settle(self, model: Any, store: Store) -> dict[str, Any]: ...  # facts about final weights, from held-out data
    def recall(self, facts: Mapping[str, Any]) -> Any: ...  # the task as it was when its weights were written


def learn_task(config: Config, pairs: Pairs, *, known: Mapping[str, Any] | None = None) -> Any:
    """The task of a configuration, with all it learns from the training data before any model exists."""
    return find("task", config.task).learn(config, pairs, known=known)


def read_task(name: str, source: Cutter, target: Any) -> Any:
    """The task of a run, with what it learned."""
    return find("task", name)(source, target)
