"""The data files of a configuration, and how other data is read for its run."""

from dataclasses import replace
from pathlib import Path

from seq2see.config.schema import Config, ParallelFiles, Split
from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.data.checks.data_doctor import Usable, read_usable
from seq2see.data.checks.infer import infer_modality
from seq2see.data.pairs import Origin, Pairs
from seq2see.tasks.task import Task


def origins(config: Config) -> dict[str, Origin]:
    """Return the files of each split that the configuration names, the training data first.

    Args:
        config: the configuration of a run.
    """
    data = config.data
    fields = name_fields(config)
    named: dict[str, Split | None] = {"train": data.train, "valid": data.valid, "test": data.test}
    found = {name: _origin(split, fields) for name, split in named.items() if split is not None}
    return {name: replace(origin, encoding=data.encoding) for name, origin in found.items()}


def _origin(split: Split, fields: tuple[str, str] | None) -> Origin:
    if isinstance(split, ParallelFiles):
        return Origin(Path(split.source), Path(split.target))
    return Origin(Path(split), fields=fields)


def name_fields(config: Config) -> tuple[str, str] | None:
    """Return the columns of source and target that the configuration names; None if it names none.

    Args:
        config: the configuration of a run.
    """
    names = config.data.fields
    return None if names is None else (names[0], names[1])


def read_as_trained(origin: Origin, config: Config) -> Usable:
    """Read pairs by the columns that the run was trained on if the file has them, else by its only two columns.

    Args:
        origin: the files to read; columns that it names take precedence.
        config: the configuration of the run.

    Returns:
        The pairs, without images that cannot be opened, and what was found while reading.
    """
    names = config.data.fields
    if origin.fields is None and names and origin.target_file is None:
        try:
            return read_usable(replace(origin, fields=(names[0], names[1])))
        except DataError as error:
            try:
                return read_usable(origin)
            except DataError:
                raise error from None
    return read_usable(origin)


def find_unknown_labels(task: Task, pairs: Pairs, *, name: str = "this run") -> list[str]:
    """Refuse data that does not suit a run, and return those of its labels that the run does not know, sorted.

    Args:
        task: the task of the run.
        pairs: the data.
        name: the name of the run in messages.

    Raises:
        DataError: the data is of another modality than the run reads, or has none of its labels.
    """
    wanted, given = task.source.reads, infer_modality(pairs)
    if wanted != given:
        raise DataError(f"{name} reads {wanted}, and the data is {given}; give data such as it was trained on.")
    known = task.target.vocabulary.keys()
    labels = {label for target in pairs.target for label in task.target.labels(target)}
    new = sorted(labels - known)
    if labels and not labels & known:
        some = ", ".join(map(shorten, new[:3]))
        raise DataError(f"{name} knows none of the labels of the data, such as {some}; check files and columns.")
    return new
