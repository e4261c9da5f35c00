"""Where the data of a configuration comes from."""

from pathlib import Path

from seq2see.config.schema import Config, ParallelFiles, Split
from seq2see.data.pairs import Origin


def origins(config: Config) -> dict[str, Origin]:
    """The files of each split that the configuration names, the training data first."""
    data = config.data
    fields = None if data.fields is None else (data.fields[0], data.fields[1])
    named: dict[str, Split | None] = {"train": data.train, "valid": data.valid, "test": data.test}
    return {name: _origin(split, fields) for name, split in named.items() if split is not None}


def _origin(split: Split, fields: tuple[str, str] | None) -> Origin:
    if isinstance(split, ParallelFiles):
        return Origin(Path(split.source), Path(split.target))
    return Origin(Path(split), fields=fields)
