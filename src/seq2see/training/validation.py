"""Validation while training: shared by all processes, and the same however many they are."""

from collections.abc import Sequence

import torch

from seq2see.config.schema import Config
from seq2see.data.batch import Batch, Rows, collate, plan_batches
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.models.network import Network
from seq2see.search.greedy import Greedy
from seq2see.tasks.task import Output, Task
from seq2see.training.data_parallel import Share


def measure(task: Task, pairs: Pairs, store: Store, config: Config, share: Share) -> dict[str, float]:
    """Return the validation loss, and quick metrics of the first validation pairs, decoded greedily.

    Args:
        task: the task of the run.
        pairs: the validation pairs as texts, of which train.validation_pairs sources are decoded.
        store: the same pairs as ids; the loss is the mean over all of its tokens (sources, for labels).
        config: the configuration of the run.
        share: calls a function for many items, in all processes.

    Returns:
        `valid_loss` and the metrics of the task, by name.
    """
    lengths = store.source.lengths, store.target.lengths
    plan = plan_batches(*lengths, budget=config.train.batch_tokens, seed=0, epoch=0)

    def weigh_rows(task: Task, model: Network, rows: Rows) -> tuple[float, int]:
        return weigh(task, model, collate(store, rows))

    losses = share(weigh_rows, plan)
    mean = sum(nll for nll, _ in losses) / sum(tokens for _, tokens in losses)
    examples = task.group_references(pairs)
    some = examples.take(range(min(config.train.validation_pairs, len(examples))))
    outputs = _predict(task, some.source, share)
    return {"valid_loss": mean, **task.validation_metrics(outputs, some, nll=mean)}


@torch.inference_mode()
def weigh(task: Task, model: Network, batch: Batch) -> tuple[float, int]:
    """Return the summed negative log-likelihood of a batch, and how many tokens (sources, for labels) it has.

    Args:
        task: the task of the run.
        model: the model, which is set to evaluation mode.
        batch: the batch, padded.
    """
    model.eval()
    loss = task.loss(model, batch.to(model.device))
    return loss.nll.item(), loss.tokens


def decode(task: Task, model: Network, sources: Sequence[str]) -> list[Output]:
    """Return the greedily decoded output of each source.

    Args:
        task: the task of the run.
        model: the model, which is set to evaluation mode.
        sources: texts, or the paths of images.
    """
    model.eval()
    return [rows[0] for rows in task.predict(model, sources, Greedy())]


def _predict(task: Task, sources: Sequence[str], share: Share) -> list[Output]:
    """Return an output for each source; the batches are those that one process would make."""
    plan = task.plan(sources, Greedy())
    results = [Output("", 0.0, (), (), source) for source in sources]
    for rows, outputs in zip(plan, share(decode, ([sources[row] for row in rows] for rows in plan)), strict=True):
        for row, output in zip(rows, outputs, strict=True):
            results[row] = output
    return results
