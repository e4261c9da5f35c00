"""The weights that a training ends with: the average of its last checkpoints, or the best one."""

from collections.abc import Callable, Mapping

from torch import Tensor

from seq2see.config.schema import Train
from seq2see.core.plural import say_count
from seq2see.runs.checkpoint import average, read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.checkpoint_retention import list_validated
from seq2see.training.learner import strip


def choose_weights(
    folder: RunFolder, train: Train, judge: Callable[[Mapping[str, Tensor]], float], best_value: float
) -> tuple[Mapping[str, Tensor], str]:
    """Return the average of the last checkpoints, or the best one if that is better, and which it is in words.

    Args:
        folder: the run folder.
        train: section `train` of the configuration.
        judge: returns the monitored metric of weights, negated where more is better.
        best_value: the same of the best checkpoint.
    """
    last = list_validated(folder, train)[: train.average_checkpoints]
    best, copy = read_checkpoint(folder.weights_file), folder.best_weights_file
    if best.facts.get("complete") and copy.is_file():
        best = read_checkpoint(copy)  # killed after the average took the place of the best
    if not last:
        return best.tensors, ""
    mean = average([strip(read_checkpoint(path).tensors, "model.") for path in last])
    if judge(mean) <= best_value:
        write_checkpoint(copy, best)  # for a training that goes on
        return mean, f"; the average of the last {say_count(len(last), 'checkpoint')} is kept"
    copy.unlink(missing_ok=True)
    return best.tensors, f"; the best checkpoint is kept, for the average of the last {len(last)} is no better"
