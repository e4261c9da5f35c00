"""Validation while training: shared by all worker processes, and the same however many they are."""

from collections.abc import Sequence

import torch

from seq2see.config.schema import Config
from seq2see.data.batch import Batch, collate, plan_batches
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.models.network import Network
from seq2see.search.greedy import Greedy
from seq2see.tasks.task import Output, Task
from seq2see.training.data_parallel import Share


def measure(task: Task, pairs: Pairs, store: Store, config: Config, share: Share) -> dict[str, float]:
    """Loss (and perplexity) over the whole split, and quick metrics of its first pairs, decoded greedily."""
    lengths = store.source.lengths, store.target.lengths
    plan = plan_batches(*lengths, budget=config.train.batch_tokens, seed=0, epoch=0)
    losses = share(weigh, (collate(store, rows) for rows in plan))
    mean = sum(nll for nll, _ in losses) / sum(tokens for _, tokens in losses)
    examples = task.group_references(pairs)
    some = examples.take(range(min(config.train.validation_pairs, len(examples))))
    outputs = _predict(task, some.source, share)
    return {"valid_loss": mean, **task.validation_metrics(outputs, some, nll=mean)}


@torch.inference_mode()
def weigh(task: Task, model: Network, batch: Batch) -> tuple[float, int]:
    """The negative log-likelihood of a batch, and how many tokens it has."""
    model.eval()
    loss = task.loss(model, batch)
    return loss.nll.item(), loss.tokens


def decode(task: Task, model: Network, sources: Sequence[str]) -> list[Output]:
    """The likeliest outputs of sources, found greedily."""
    model.eval()
    return [rows[0] for rows in task.predict(model, sources, Greedy())]


def _predict(task: Task, sources: Sequence[str], share: Share) -> list[Output]:
    """An output for each source; the batches are those that one process would make."""
    plan = task.plan(sources, Greedy())
    results = [Output("", 0.0, (), (), source) for source in sources]
    for rows, outputs in zip(plan, share(decode, ([sources[row] for row in rows] for rows in plan)), strict=True):
        for row, output in zip(rows, outputs, strict=True):
            results[row] = output
    return results
