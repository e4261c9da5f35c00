"""A look at the held-out data while training: shared by all processes, and the same however many they are."""

from collections.abc import Mapping, Sequence
from typing import Any

import torch

from seq2see.config.schema import Config
from seq2see.data.batch import Batch, collate, plan_batches
from seq2see.data.pairs import Pairs
from seq2see.data.store import Store
from seq2see.search.greedy import Greedy
from seq2see.tasks.task import Output, Task
from seq2see.tasks.transduction import Transduction, to_perplexity
from seq2see.train.distributed import Share


def measure(task: Any, pairs: Pairs, store: Store, config: Config, share: Share) -> dict[str, float]:
    """Loss (and perplexity) over the whole split, and quick metrics of its first pairs, decoded greedily."""
    lengths = store.source.lengths, store.target.lengths
    plan = plan_batches(*lengths, budget=config.train.batch_tokens, seed=0, epoch=0)
    losses = share(weigh, (collate(store, rows) for rows in plan))
    mean = sum(nll for nll, _ in losses) / sum(tokens for _, tokens in losses)
    examples = task.examine(pairs)
    some = examples.take(range(min(config.train.evaluate_pairs, len(examples))))
    outputs = _predict(task, some.source, share)
    scores: Mapping[str, Any] = {metric.name: metric.value for metric in task.glance(outputs, some)}
    more = {"perplexity": to_perplexity(mean)} if isinstance(task, Transduction) else {}
    return {"valid_loss": mean, **scores, **more}


@torch.inference_mode()
def weigh(task: Task, model: Any, batch: Batch) -> tuple[float, int]:
    """The negative log-likelihood of a batch, and how many tokens it has."""
    model.eval()
    loss = task.loss(model, batch)
    return loss.nll.item(), loss.tokens


def decode(task: Task, model: Any, sources: Sequence[str]) -> list[Output]:
    """The likeliest outputs of sources, found greedily."""
    model.eval()
    return [rows[0] for rows in task.predict(model, sources, Greedy())]


def _predict(task: Any, sources: Sequence[str], share: Share) -> list[Output]:
    """An output for each source; the batches are those that one process would make."""
    plan = task.plan(sources, Greedy())
    results = [Output("", 0.0, (), (), source) for source in sources]
    for rows, outputs in zip(plan, share(decode, ([sources[row] for row in rows] for rows in plan)), strict=True):
        for row, output in zip(rows, outputs, strict=True):
            results[row] = output
    return results
