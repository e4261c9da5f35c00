"""Small models and batches for the tests of objectives."""

from pathlib import Path
from typing import Any

import torch
import torch.nn.functional as F
from reversal import SMALL, configure, start, write_reversals

from seq2see.data.batch import Batch, collate
from seq2see.training.loop import TrainingLoop


def make(tmp_path: Path, **options: Any) -> tuple[TrainingLoop, Any, Batch]:
    """A training, its model without dropout, and a batch with all targets of its sources."""
    reader = {"kind": "before", "score": "additive", "normalise": options.pop("normalise", "softmax")}
    halves = {half: {**given, "dropout": 0.0} for half, given in SMALL.items()}
    data = write_reversals(tmp_path / "reversed.tsv", 16)
    data.write_text("".join(f"{line}{'abc'[: row % 4]}\n" for row, line in enumerate(data.read_text().splitlines())))
    model = {**halves, "decoder": {**halves["decoder"], "reader": reader}}
    loop = start(configure(data, model=model, **options), tmp_path / f"run{len(list(tmp_path.iterdir()))}").loop
    return loop, loop.model, collate(loop.store, torch.arange(6).numpy(), referring=True)


def weigh(model: Any, batch: Batch, smoothing: float = 0.0) -> torch.Tensor:
    """The summed cross-entropy of all target tokens, by torch's own loss."""
    logits = model(batch.source, batch.source_mask, batch.inputs)[batch.target_mask]
    return F.cross_entropy(logits, batch.targets[batch.target_mask], label_smoothing=smoothing, reduction="sum")
