"""Classification: from any source to a label, or to several."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import torch
from jaxtyping import Float
from pydantic import JsonValue
from torch import Tensor

from seq2see.config.schema import Config, Train
from seq2see.core.errors import CheckpointError, ConfigError
from seq2see.core.registry import part, shorten
from seq2see.data.batch import Batch, Rows, collate, group_by_length
from seq2see.data.modalities.label_set import LabelSet, split_labels
from seq2see.data.modalities.learn import learn_labels, learn_modality
from seq2see.data.modalities.modality import Modality, Sources
from seq2see.data.modalities.target import Target, match_targets
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.metrics.labels import accuracy, multi_label_f1, score_labels
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric
from seq2see.models.classifier import Classifier, build_classifier
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.build import build_label_objective
from seq2see.objectives.label_cross_entropy import mark_labels
from seq2see.objectives.minimum_risk import Reward
from seq2see.objectives.objective import Loss, Objective
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Search, SearchObserver
from seq2see.search.rules import Rules
from seq2see.system.blas import quicken_products
from seq2see.tasks.calibration import fit_temperature, make_probabilities
from seq2see.tasks.task import Output, Prefix, Task

PLAIN = Train()  # no label smoothing, no class weights
PREDICT_TOKENS = 16_384  # source positions that are read at once
PREDICT_ROWS = 64  # sources that are read at once
ONE_LABEL = Greedy()  # lists the most probable label alone
MIN_TEMPERATURE, MAX_TEMPERATURE = 1e-3, 1e3  # far beyond what `fit_temperature` returns
LIKELY = 0.5  # where a source may have several labels, those of at least this probability are chosen


@dataclass(frozen=True)
class Classification(Task):
    """The task of choosing a label for each source, or several.

    Args:
        source: how sources are read.
        target: the labels to choose from.
        longest_target: the largest number of labels that one source has in training.
        temperature: what logits are divided by before they become probabilities; `calibrate` fits it.
    """

    name: ClassVar[str] = "classification"
    unit: ClassVar[str] = "sources"
    writes_text: ClassVar[bool] = False

    source: Modality
    target: LabelSet
    longest_target: int = 1
    temperature: float = 1.0

    @classmethod
    def learn(
        cls, config: Config, pairs: Pairs, *, source: Modality | None = None, target: Target | None = None
    ) -> "Classification":
        """Learn vocabulary and labels from the training data; a side that is given keeps its own."""
        labels = None if target is None else target.label_set
        return cls(
            source or learn_modality(config.tokens.source, pairs.source, path=("tokens", "source")),
            labels or learn_labels(config.tokens.target, pairs.target, path=("tokens", "target")),
        )

    @classmethod
    def list_labels(cls, config: Config, target: str) -> list[str]:
        """Return the labels of a target."""
        return split_labels(target, config.label_separator)

    def build(self, config: Config) -> Classifier:
        """Return a new model of the configured kind; its initial weights follow from the seed."""
        quicken_products()
        with torch.random.fork_rng(devices=[]):  # the caller's own random numbers stay as they are
            torch.manual_seed(config.seed)
            return build_classifier(
                encoder=part("encoder", config.model.encoder, path=("model", "encoder")),
                pool=part("pool", config.model.pool or "attention", path=("model", "pool")),
                source_sizes=self.source.sizes,
                classes=len(self.target),
            )

    def objective(
        self, train: Train = PLAIN, *, teachers: Sequence[Seq2Seq] = (), reward: Reward | None = None
    ) -> Objective[Classifier]:
        """Return the training objective: the cross-entropy of the labels, without teachers or rewards."""
        if teachers or reward is not None:
            raise ConfigError(
                "a classifier must be trained without train.distillation and train.minimum_risk, which are for models "
                "that write texts; leave them out."
            )
        return build_label_objective(train, self.target)

    def loss(self, model: Network, batch: Batch) -> Loss:
        """Return the negative log-likelihood of a batch, for validation."""
        return self.objective()(Classifier.of(model), batch, 0)

    @torch.inference_mode()
    def predict(
        self,
        model: Network,
        sources: Sequence[str],
        search: Search = ONE_LABEL,
        *,
        rules: Rules | None = None,
        prefixes: Sequence[Prefix] = (),
        unknown: bool = False,
        others: Sequence[tuple[Task, Network]] = (),
        observer: SearchObserver | None = None,
    ) -> list[list[Output]]:
        """Return outputs for each source, the most probable label first, as many as the search lists.

        The other models have the same labels. Rules, prefixes and observers are for texts, and have no effect.
        """
        rows, count = self._find_rows(sources), getattr(search, "n_best", 1)
        results: list[list[Output]] = [[Output("", 0.0, (), (), source)] for source in sources]
        some = [sources[row] for row in rows]
        ensemble = [task.as_classification(one) for task, one in others]
        theirs = [task.weigh(one, some)[:, match_targets(self.target, task.target)] for task, one in ensemble]
        mean = torch.stack([self.weigh(Classifier.of(model), some), *theirs]).mean(dim=0)
        for row, chances in zip(rows, mean, strict=True):
            results[row] = self.read(chances, sources[row], count=count)
        return results

    def plan(self, sources: Sequence[str], search: Search = ONE_LABEL, *, workers: int = 1) -> list[list[int]]:
        """Return the rows of the sources that are read together, batch by batch; blank ones are in none."""
        rows = self._find_rows(sources)
        batches = _group(self.source.prepare([sources[row] for row in rows]), workers=workers)
        return [[rows[place] for place in batch.tolist()] for batch in batches]

    @torch.inference_mode()
    def weigh(self, model: Classifier, sources: Sequence[str]) -> Float[Tensor, "b c"]:
        """Return the probabilities of all labels for each source.

        Args:
            model: a model that this task has built; it is put into evaluation mode.
            sources: texts, documents or the paths of images, none of which is blank.
        """
        model.eval()
        ready = self.source.prepare(sources)
        logits = torch.zeros(len(sources), len(self.target))
        for rows in _group(ready):
            logits[torch.from_numpy(rows)] = model(*model.place(ready.gather(rows.tolist()))).cpu()
        return make_probabilities(logits, temperature=self.temperature, many=self.target.many)

    def read(self, chances: Float[Tensor, " c"], source: str, *, count: int = 1) -> list[Output]:
        """Return probabilities as outputs, with the most probable label first.

        Where a source may have several labels, there is one output with all labels of probability `LIKELY` or more; if
        there are none, with the most probable label.

        Args:
            chances: the probability of every label, [c].
            source: the source as it was given.
            count: how many labels to list, each as one output; it has no effect where a source may have several labels.
        """
        order = chances.argsort(descending=True, stable=True).tolist()
        values = chances.tolist()
        named = {self.target.names[number]: values[number] for number in order}
        if self.target.many:
            chosen = [number for number in order if values[number] >= LIKELY] or order[:1]
            return [
                Output(self.target.join(chosen), values[chosen[-1]], (), tuple(chosen), source, probabilities=named)
            ]
        return [
            Output(self.target.names[number], values[number], (), (number,), source, probabilities=named)
            for number in order[:count]
        ]

    @torch.inference_mode()
    def score_output(self, model: Network, given: tuple[Tensor, Tensor], output: Output) -> Float[Tensor, " b"]:
        """Return the probability of a label, or the mean of several, for each source of a batch."""
        logits = model(*model.place(given)).cpu()
        chances = make_probabilities(logits, temperature=self.temperature, many=self.target.many)
        return chances[:, list(output.ids)].mean(dim=1)

    @torch.inference_mode()
    def calibrate(self, model: Network, store: Store) -> dict[str, JsonValue]:
        """Return the temperature (Guo et al. 2017, arXiv:1706.04599), fitted on held-out data."""
        model.eval()
        logits, truths = [], []
        for rows in _group(store.source):
            batch = collate(store, rows)
            logits.append(model(*model.place((batch.source, batch.source_mask))).cpu())
            truths.append(mark_labels(batch.targets, batch.target_mask, len(self.target)))
        return {"temperature": fit_temperature(torch.cat(logits), torch.cat(truths), many=self.target.many)}

    def with_saved_state(self, facts: Mapping[str, JsonValue]) -> "Classification":
        """Return the task with the temperature that was saved with its weights."""
        if self.target.label_set is None:
            raise CheckpointError("the target must be labels; got the tokenizer of a text; copy the run again.")
        temperature = facts.get("temperature", 1.0)
        if not isinstance(temperature, int | float) or not MIN_TEMPERATURE <= temperature <= MAX_TEMPERATURE:
            raise CheckpointError(
                f"a temperature must be a number above 0; got {shorten(temperature)}; copy the run again."
            )
        return replace(self, temperature=float(temperature))

    def as_classification(self, model: Network) -> "tuple[Classification, Classifier]":
        """Return this task and its model."""
        return self, Classifier.of(model)

    def describe(self) -> str:
        """Return what the task reads and which labels it chooses from, as text."""
        names = ", ".join(self.target.names[:6]) + (", ..." if len(self.target) > 6 else "")
        known = self.source.tokenizer
        counts = [] if known is None else [f"{len(known):,} tokens"]
        return ", ".join([*counts, f"{len(self.target):,} labels ({names})"])

    def is_correct(self, text: str, reference: str) -> bool:
        """Return whether the labels are those of the reference, in whatever order."""
        mine, theirs = (set(split_labels(labels, self.target.separator)) for labels in (text, reference))
        return mine == theirs

    def score(
        self, outputs: Sequence[Output], pairs: Pairs, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
    ) -> list[Metric]:
        """Return every metric of this task.

        Where a source may have several labels, accuracy is the share of sources whose labels are all right.
        """
        chosen, right = [output.text for output in outputs], [target.strip() for target in pairs.target]
        if not self.target.many:
            return score_labels(chosen, right, confidences=[output.score for output in outputs])
        cut = [[sorted(split_labels(text, self.target.separator)) for text in side] for side in (chosen, right)]
        whole = [["|".join(labels) for labels in side] for side in cut]
        return [accuracy(*whole), *multi_label_f1(*cut)]

    def likelihood_metrics(self, model: Network, pairs: Pairs) -> list[Metric]:
        """Return no metric: probabilities of labels are measured by their calibration."""
        return []

    def validation_metrics(self, outputs: Sequence[Output], pairs: Pairs, *, nll: float) -> dict[str, float]:
        """Return all metrics of `score`, for they are quick."""
        return {metric.name: metric.value for metric in self.score(outputs, pairs)}

    def _find_rows(self, sources: Sequence[str]) -> list[int]:
        """Return the rows of the sources that are not blank."""
        return [row for row, source in enumerate(sources) if not self.source.is_blank(source)]


def _group(sources: Sources, *, workers: int = 1) -> list[Rows]:
    """Return the rows that are read together: neighbours in length, at most `PREDICT_ROWS` at once."""
    batches = group_by_length(sources.lengths, budget=PREDICT_TOKENS, workers=workers) if len(sources) else []
    return [part for batch in batches for part in np.split(batch, range(PREDICT_ROWS, len(batch), PREDICT_ROWS))]
