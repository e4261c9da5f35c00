"""`seq2see train`: from data or a configuration to a run."""

import json
from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data import FieldsOption, SourceOption, TargetOption, name_fields, name_origin, name_parts
from seq2see.core.errors import ConfigError


def train(
    words: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[SOURCE] [KEY=VALUE]...", help="A data file or folder, or a config .yaml, then settings."
        ),
    ] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    valid: Annotated[Path | None, typer.Option(help="Held-out data to choose the best weights by.")] = None,
    test: Annotated[Path | None, typer.Option(help="Held-out data to score at the end.")] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder.")] = None,
) -> None:
    """Train a model on your pairs. The same command again goes on where it was stopped.

    \b
    Examples:
      seq2see train pairs.tsv --out runs/pairs
      seq2see train pairs.tsv preset=luong2015 train.updates=3000 --out runs/luong
      seq2see train --source train.en --target train.de --out runs/en-de
    """
    files = [word for word in words or [] if "=" not in word or Path(word).is_file()]
    settings = [word for word in words or [] if word not in files]
    if fields is not None:
        settings = [f"data.fields={json.dumps(name_fields(fields))}", *settings]
    if len(files) > 1:
        raise ConfigError(f"give one data file or config; got {' and '.join(files)}; settings are written key=value.")
    main = Path(files[0]) if files else None
    from seq2see.cli.training import decide_config, run_training
    from seq2see.config.load import load_config
    from seq2see.train.folder import RunFolder

    if main is not None and RunFolder(main).has_task:
        raise ConfigError(f"{main} holds a run; to go on with it, give {RunFolder(main).config_file}.")
    folder = out or name_folder(main or source or Path("run"))
    extra = {name: str(path.absolute()) for name, path in (("valid", valid), ("test", test)) if path is not None}
    if main is not None and main.suffix in (".yaml", ".yml"):
        if source is not None or target is not None:
            raise ConfigError("a config names its own training data; give either the config or --source and --target.")
        settings = [*(f"data.{name}={json.dumps(path)}" for name, path in extra.items()), *settings]
        run_training(load_config(file=main, settings=settings), folder, near=main.absolute().parent)
        return
    parts = name_parts(main)
    extra = {**{name: str(part.absolute()) for name, part in parts.items() if part and name != "train"}, **extra}
    origin = name_origin(parts["train"], source, target)
    loaded, remarks = decide_config(origin, extra, settings, folder)
    run_training(loaded, folder, near=origin.file.parent, remarks=remarks)


def name_folder(main: Path) -> Path:
    """Where a run goes if nobody says so: a name like that of its data, or, for a run's own configuration, that run."""
    from seq2see.train.folder import RunFolder

    own = RunFolder(main.parent)
    if main == own.config_file and own.has_task:
        return own.path
    return Path("runs") / main.resolve().name.partition(".")[0]
