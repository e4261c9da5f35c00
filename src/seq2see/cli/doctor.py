"""`seq2see doctor`: look at data before any time is spent."""

from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data import FieldsOption, SourceOption, TargetOption, name_origin, name_parts, show_findings


def doctor(
    data: Annotated[Path | None, typer.Argument(help="A data file or folder, or a config .yaml.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    test: Annotated[Path | None, typer.Option(help="Held-out data in one file, to look for leakage.")] = None,
) -> None:
    """Find what will hurt a training: broken lines, blanks, duplicates, leakage, outliers, unknown characters.

    Of pictures also those that are missing or cannot be opened.

    \b
    Examples:
      seq2see doctor pairs.tsv --test test.tsv
      seq2see doctor captions.jsonl
    """
    from seq2see.data.doctor import examine
    from seq2see.data.gallery import describe_pairs

    if data is not None and data.suffix in (".yaml", ".yml"):
        from seq2see.config.load import load_config
        from seq2see.config.origins import origins

        splits = origins(load_config(file=data).config)
    else:
        splits = {name: name_origin(part, source, target, fields) for name, part in name_parts(data).items()}
        splits |= {"test": name_origin(test, None, None, fields)} if test else {}
    diagnosis = examine(splits)
    show_findings(list(diagnosis.findings), most=1000)
    for name, pairs in diagnosis.splits.items():
        typer.echo(f"{name}: {describe_pairs(pairs)}, in {splits[name]}")
    if diagnosis.errors:
        raise typer.Exit(2)
    if not diagnosis.findings:
        typer.echo("Nothing to complain about.")
