"""The order of the batches of a training, which follows from the seed and the position alone."""

from collections.abc import Iterator
from dataclasses import replace

from seq2see.config.schema import Config
from seq2see.data.batch import plan_batches
from seq2see.data.storage.dataset import Store
from seq2see.training.data_parallel import Slice
from seq2see.training.training_state import TrainingState


def order_batches(store: Store, config: Config, state: TrainingState) -> Iterator[tuple[int, int, Slice]]:
    """Yield the batches of a training from where it is, epoch after epoch without end.

    Args:
        store: the training data.
        config: the configuration of the run; the order follows from `seed` and `train.batch_tokens`.
        state: where the training is: the epoch, and the position of the next batch in the plan of that epoch.

    Yields:
        Epoch and position of the batch after this one, and this batch: the store as this epoch sees it (images may be
        mirrored or moved), and the rows of the batch in it.
    """
    epoch, start = state.epoch, state.batch
    budget, seed = config.train.batch_tokens, config.seed
    while True:
        plan = plan_batches(store.source.lengths, store.target.lengths, budget=budget, seed=seed, epoch=epoch)
        varied = replace(store, source=store.source.vary(seed=seed, epoch=epoch))
        for number in range(start, len(plan)):
            after = (epoch, number + 1) if number + 1 < len(plan) else (epoch + 1, 0)
            yield *after, (varied, plan[number])
        epoch, start = epoch + 1, 0
