"""`seq2see doctor`: look at data before any time is spent."""

from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data import FieldsOption, SourceOption, TargetOption, name_origin, show_findings


def doctor(
    data: Annotated[Path | None, typer.Argument(help="A .tsv, .csv or .jsonl file, or a config .yaml.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    test: Annotated[Path | None, typer.Option(help="Held-out data in one file, to look for leakage.")] = None,
) -> None:
    """Find what will hurt a training: broken lines, blanks, duplicates, leakage, outliers, unknown characters.

    \b
    Example:
      seq2see doctor pairs.tsv --test test.tsv
    """
    from seq2see.data.doctor import examine

    if data is not None and data.suffix in (".yaml", ".yml"):
        from seq2see.config.load import load_config
        from seq2see.config.origins import origins

        splits = origins(load_config(file=data).config)
    else:
        splits = {"train": name_origin(data, source, target, fields)}
        splits |= {"test": name_origin(test, None, None, fields)} if test else {}
    diagnosis = examine(splits)
    show_findings(list(diagnosis.findings), most=1000)
    for name, pairs in diagnosis.splits.items():
        typer.echo(f"{name}: {len(pairs):,} usable pairs in {splits[name]}")
    if diagnosis.errors:
        raise typer.Exit(2)
    if not diagnosis.findings:
        typer.echo("Nothing to complain about.")
