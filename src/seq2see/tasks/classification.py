"""From any source to a label: data, loss, prediction and metrics of a classifier."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor

from seq2see.config.schema import Config
from seq2see.core.product import quicken_products
from seq2see.core.registry import part
from seq2see.data.batch import Batch, Rows, collate, group_by_length
from seq2see.data.labels import LabelSet, split_labels
from seq2see.data.pairs import Pairs
from seq2see.data.sources import Cutter, Sources
from seq2see.data.store import Store
from seq2see.metrics.labels import accuracy, multi_label_f1, score_labels
from seq2see.metrics.text import Metric
from seq2see.models.classifier import Classifier, build_classifier
from seq2see.search.hypothesis import Search
from seq2see.tasks.calibration import fit_temperature, make_probabilities, mark_truth
from seq2see.tasks.task import Loss, Output

PREDICT_TOKENS = 16_384  # source positions that are read at once
PREDICT_ROWS = 64  # sources that are read at once
LIKELY = 0.5  # where a source may have several labels, those that are at least so probable are chosen


@dataclass(frozen=True)
class Classification:
    """The task with what it learned of sources and labels."""

    unit: ClassVar[str] = "sources"  # what its losses are sums over

    source: Cutter
    target: LabelSet
    longest_target: int = 1
    measure: None = None  # nothing is drawn
    temperature: float = 1.0  # what logits are divided by, so that probabilities are as often right as they say

    @classmethod
    def learn(cls, config: Config, pairs: Pairs, *, known: Mapping[str, Any] | None = None) -> "Classification":
        """Learn vocabulary and labels from the training data; sources that are `known` keep their own."""
        target = part("tokenizer", config.tokens.target or "labels", path=("tokens", "target"))().learn(pairs.target)
        source = (known or {}).get("source")
        if source is None:
            source = part("tokenizer", config.tokens.source, path=("tokens", "source"))().learn(pairs.source)
        return cls(source, target)

    def build(self, config: Config) -> Classifier:
        """A new model of the configured kind; its initial weights follow from the seed."""
        quicken_products()
        with torch.random.fork_rng(devices=[]):  # the caller's own random numbers stay as they are
            torch.manual_seed(config.seed)
            return build_classifier(
                encoder=part("encoder", config.model.encoder, path=("model", "encoder")),
                pool=part("pool", config.model.pool or "attention", path=("model", "pool")),
                source_sizes=self.source.sizes,
                classes=len(self.target),
                weights=self.target.balance if config.train.class_weights == "balanced" else None,
            )

    def loss(
        self,
        model: Classifier,
        batch: Batch,
        *,
        smoothing: float = 0.0,
        guessed: float = 0.0,
        rewarded: float = 0.0,
        taught: float = 0.0,
    ) -> Loss:
        """Cross-entropy, summed over sources; of several labels a source, of each against its absence."""
        logits = model(batch.source, batch.source_mask)
        truth = mark_truth(batch.targets, batch.target_mask, len(self.target)).to(logits.device)
        if self.target.many:
            smooth = truth * (1 - smoothing) + smoothing / 2
            total = F.binary_cross_entropy_with_logits(logits, smooth, pos_weight=model.weights, reduction="sum")
            nll = F.binary_cross_entropy_with_logits(logits.detach(), truth, reduction="sum")
        else:
            labels = batch.targets[:, 0]
            total = F.cross_entropy(logits, labels, model.weights, label_smoothing=smoothing, reduction="sum")
            nll = F.cross_entropy(logits.detach(), labels, reduction="sum")
        return Loss(total, nll, len(truth))

    @torch.inference_mode()
    def predict(
        self,
        model: Classifier,
        sources: Sequence[str],
        search: Search | None = None,
        *,
        others: Sequence[tuple["Classification", Classifier]] = (),
        **_: Any,
    ) -> list[list[Output]]:
        """Outputs for each source, the most probable label first, as many as the search gives; a blank one for nothing.

        `others` are models with the same labels, each with its task, whose probabilities are averaged with the model's.
        What else a search may be told does not concern labels.
        """
        rows, count = self._find_rows(sources), getattr(search, "n_best", 1)
        results: list[list[Output]] = [[Output("", 0.0, (), (), source)] for source in sources]
        some = [sources[row] for row in rows]
        theirs = [task.weigh(one, some)[:, self.target.match(task.target)] for task, one in others]
        mean = torch.stack([self.weigh(model, some), *theirs]).mean(dim=0)
        for row, chances in zip(rows, mean, strict=True):
            results[row] = self.read(chances, sources[row], count=count)
        return results

    def plan(self, sources: Sequence[str], search: Search | None = None, *, workers: int = 1) -> list[list[int]]:
        """The sources that are read together, batch by batch, for so many workers; blank ones are in none."""
        rows = self._find_rows(sources)
        batches = _group(self.source.prepare([sources[row] for row in rows]), workers=workers)
        return [[rows[place] for place in batch.tolist()] for batch in batches]

    @torch.inference_mode()
    def weigh(self, model: Classifier, sources: Sequence[str]) -> Float[Tensor, "b c"]:
        """The probabilities of all labels for each source, none of which is blank."""
        model.eval()
        ready = self.source.prepare(sources)
        logits = torch.zeros(len(sources), len(self.target))
        for rows in _group(ready):
            logits[torch.from_numpy(rows)] = model(*ready.gather(rows.tolist()))
        return make_probabilities(logits, temperature=self.temperature, many=self.target.many)

    def read(self, chances: Float[Tensor, " c"], source: str, *, count: int = 1) -> list[Output]:
        """Probabilities as outputs: all labels that are likely enough, at least one; or the best one and its rivals."""
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
    def settle(self, model: Classifier, store: Store) -> dict[str, Any]:
        """What is learned of the final weights from held-out data: the temperature."""
        model.eval()
        logits, truths = [], []
        for rows in _group(store.source):
            batch = collate(store, rows)
            logits.append(model(batch.source, batch.source_mask))
            truths.append(mark_truth(batch.targets, batch.target_mask, len(self.target)))
        return {"temperature": fit_temperature(torch.cat(logits), torch.cat(truths), many=self.target.many)}

    def recall(self, facts: Mapping[str, Any]) -> "Classification":
        """The task as it was when its weights were written."""
        return replace(self, temperature=facts.get("temperature", 1.0))

    def describe(self) -> str:
        """What it reads and chooses from, for people."""
        names = ", ".join(self.target.names[:6]) + (", ..." if len(self.target) > 6 else "")
        kinds = [f"{size:,} tokens" for name, size in self.source.sizes.items() if name == "vocabulary"]
        return ", ".join([*kinds, f"{len(self.target):,} labels ({names})"])

    def examine(self, pairs: Pairs) -> Pairs:
        """What outputs are compared with."""
        return pairs

    def agrees(self, text: str, reference: str) -> bool:
        """Whether the labels are those of the reference, in whatever order."""
        mine, theirs = (set(split_labels(labels, self.target.separator)) for labels in (text, reference))
        return mine == theirs

    def score(self, outputs: Sequence[Output], pairs: Pairs, **_: Any) -> list[Metric]:
        """Every metric of this task; of several labels a source, accuracy is the share of sources with all right."""
        chosen, right = [output.text for output in outputs], [target.strip() for target in pairs.target]
        if not self.target.many:
            return score_labels(chosen, right, confidences=[output.score for output in outputs])
        cut = [[sorted(split_labels(text, self.target.separator)) for text in side] for side in (chosen, right)]
        whole = [["|".join(labels) for labels in side] for side in cut]
        return [accuracy(*whole), *multi_label_f1(*cut)]

    def glance(self, outputs: Sequence[Output], pairs: Pairs) -> list[Metric]:
        """The metrics of this task that are quick enough for every look of a training: all."""
        return self.score(outputs, pairs)

    def _find_rows(self, sources: Sequence[str]) -> list[int]:
        """The sources that are not blank."""
        return [row for row, source in enumerate(sources) if not self.source.is_blank(source)]


def _group(sources: Sources, *, workers: int = 1) -> list[Rows]:
    """What is read together: neighbours in length, and never many at once."""
    batches = group_by_length(sources.lengths, budget=PREDICT_TOKENS, workers=workers) if len(sources) else []
    return [part for batch in batches for part in np.split(batch, range(PREDICT_ROWS, len(batch), PREDICT_ROWS))]
