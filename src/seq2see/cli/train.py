"""`seq2see train`: from data or a configuration to a run."""

from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data_options import EncodingOption, FieldsOption, SourceOption, TargetOption, name_fields
from seq2see.core.errors import ConfigError, DataError


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
    encoding: EncodingOption = None,
    valid: Annotated[Path | None, typer.Option(help="Validation data, to choose the best weights by.")] = None,
    test: Annotated[Path | None, typer.Option(help="Test data, to evaluate at the end.")] = None,
    init: Annotated[
        Path | None,
        typer.Option(
            "--from", "--init", help="A run to start from, with its model, tokenizers and weights (fine-tuning)."
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="The run folder.", show_default="runs/NAME, by the name of the data")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Print the plan, its time, memory and run folder, and write nothing.")
    ] = False,
) -> None:
    """Train a model on your pairs. The same command continues a training that was stopped, also for more updates.

    \b
    Examples:
      seq2see train pairs.tsv --out runs/pairs
      seq2see train pairs.tsv preset=luong2015 train.updates=3000 --out runs/luong
      seq2see train --source train.en --target train.de --out runs/en-de
      seq2see train new.tsv --from runs/pairs train.updates=500 --out runs/new
    """
    files = [word for word in words or [] if "=" not in word or Path(word).is_file()]
    settings = [word for word in words or [] if word not in files]
    if len(files) > 1:
        raise ConfigError(f"give one data file or config; got {' and '.join(files)}; settings are written key=value.")
    data = name_data(Path(files[0]) if files else None, source, target)
    from seq2see.cli.training_report import run_training, show_plan
    from seq2see.data.formats.encodings import check_encoding
    from seq2see.training.arguments import make_request

    columns = name_fields(fields)
    settings += [f"data.encoding={check_encoding(encoding)}"] if encoding is not None else []
    folder = out or name_folder(data if isinstance(data, Path) else data[0])
    request = make_request(data, out=folder, valid=valid, test=test, fields=columns, init=init, settings=settings)
    if dry_run:
        show_plan(request)
    else:
        run_training(request)


def name_data(main: Path | None, source: Path | None, target: Path | None) -> Path | tuple[Path, Path]:
    """Return the training data: one file, folder or config, or the two files of sources and targets.

    Args:
        main: the file with both sides, a folder, or a config; None if there are two files.
        source: the file of the sources; None if there is one file.
        target: the file of the targets; None if there is one file.

    Raises:
        ConfigError: a config is given together with other files.
        DataError: neither or both of the two forms are given, or only one of two files.
    """
    if main is None and source is not None and target is not None:
        return source, target
    if main is not None and source is None and target is None:
        return main
    if main is not None and main.suffix in (".yaml", ".yml"):
        raise ConfigError("a config names its own training data; give either the config or --source and --target.")
    raise DataError("give one data file, or both --source FILE and --target FILE.")


def name_folder(main: Path) -> Path:
    """Return the run folder if --out is not given.

    Args:
        main: the data or config. The folder is `runs/` with its name up to the first dot; but for the config.yaml of a
            run, it is the folder of that run.
    """
    from seq2see.runs.folder import RunFolder

    own = RunFolder(main.parent)
    if main == own.config_file and own.has_task:
        return own.path
    return Path("runs") / main.resolve().name.partition(".")[0]
