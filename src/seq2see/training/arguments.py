"""The arguments of `seq2see.train` and `seq2see.resume` as a request for a training."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from seq2see.config.schema import Config
from seq2see.config.settings import Setting, spread_settings
from seq2see.core.errors import ConfigError, DataError
from seq2see.data.formats.in_memory import Fields
from seq2see.runs.data_files import origins
from seq2see.runs.folder import RunFolder
from seq2see.runs.saved_model import check_saved_model
from seq2see.system.foreign_code import admit
from seq2see.training.begun_run import read_task
from seq2see.training.fine_tuning import find_usual_fields
from seq2see.training.request import TrainingRequest, request_config, request_data, request_resume
from seq2see.training.training_data import StrPath, discarding_data, name_new_folder, place_splits, split_data

CONFIG_ENDINGS = (".yaml", ".yml")


def make_request(
    data: object,
    *,
    preset: str | None = None,
    out: StrPath | None = None,
    valid: object = None,
    test: object = None,
    fields: Fields | None = None,
    init: StrPath | None = None,
    settings: Mapping[str, object] | Sequence[Setting],
) -> TrainingRequest:
    """Return the request behind the arguments of `train`; Python objects are written into the run folder first.

    Args:
        data: the training data, or a configuration file, in any form that `train` takes.
        preset: the name of the preset to start from; None lets the data decide.
        out: the run folder; None makes a new name below `runs`.
        valid: validation data; None: as in `data`, else a share of the training data.
        test: test data; None: as in `data`, else none.
        fields: the columns of source and target; None finds them by their names.
        init: a run to start from; None starts from scratch.
        settings: keys of the configuration: a dictionary, or `key=value` texts and pairs of key and value.
    """
    chosen: list[Setting] = [("preset", preset)] if preset is not None else []
    chosen += [("init.run", str(Path(init).absolute()))] if init is not None else []
    chosen += spread_settings(settings) if isinstance(settings, Mapping) else settings
    file = Path(data) if isinstance(data, str | os.PathLike) else None
    folder = Path(out) if out is not None else name_new_folder(file.stem if file is not None else preset or "run")
    _refuse_run(data)
    usual = find_usual_fields(Path(init), folder) if init is not None else None
    held_out = {name: each for name, each in (("valid", valid), ("test", test)) if each is not None}
    is_config = file is not None and file.suffix in CONFIG_ENDINGS
    placed = place_splits(held_out if is_config else {**split_data(data), **held_out}, RunFolder(folder), fields, usual)
    if placed.fields is not None:
        chosen = [("data.fields", list(placed.fields)), *chosen]
    with discarding_data(RunFolder(folder), written=placed.written):
        if file is not None and is_config:
            request = request_config(file, folder=folder, held_out=placed.origins, settings=chosen)
        else:
            request = request_data(placed.origins, folder=folder, settings=chosen)
    return replace(request, wrote_data=placed.written)


def _refuse_run(data: object) -> None:
    """Refuse a run in the place of data, and say how to go on with it."""
    if isinstance(data, str | os.PathLike) and RunFolder(Path(data)).has_task:
        raise ConfigError(
            f"{os.fspath(data)} holds a run; to go on with it, resume it (seq2see resume); to start from its weights, "
            "give data, and the run as init."
        )


def resume_request(
    run: StrPath, *, updates: int | None = None, patience: int | None = None, trust: bool = False
) -> TrainingRequest:
    """Return the request to go on with a run; see `resume`.

    Args:
        run: a run or its folder.
        updates: the total number of updates; None keeps the configured number.
        patience: another train.patience; None keeps it.
        trust: whether the run may execute the code of its own that it names.
    """
    folder = RunFolder(Path(run))
    config = folder.read_config()
    admit(config.model_dump(), [folder.path / "code"], trust=trust, owner=str(folder.path))
    _require_files(config)
    if folder.has_task:
        check_saved_model(folder, config, read_task(folder, config), trust=trust)
    return request_resume(folder, updates=updates, patience=patience)


def _require_files(config: Config) -> None:
    """Refuse data that can be read once, or without end, and that a stranger may have named."""
    for origin in origins(config).values():
        for file in filter(None, (origin.file, origin.target_file)):
            if file.exists() and not file.is_file() and not file.is_dir():
                raise DataError("data must be a file or a folder; got a pipe or a device; give a file.", file=file)
