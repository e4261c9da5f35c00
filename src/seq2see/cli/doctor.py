"""`seq2see doctor`: check data before a training."""

from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data_options import (
    EncodingOption,
    FieldsOption,
    SourceOption,
    TargetOption,
    name_origin,
    print_findings,
)


def doctor(
    data: Annotated[Path | None, typer.Argument(help="A data file or folder, or a config .yaml.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    encoding: EncodingOption = None,
    test: Annotated[Path | None, typer.Option(help="Test data in one file, to find leakage.")] = None,
) -> None:
    """Find problems of training data: broken lines, blanks, duplicates, leakage, outliers, unknown characters.

    Images that are missing or cannot be opened are listed, too.

    \b
    Examples:
      seq2see doctor pairs.tsv --test test.tsv
      seq2see doctor captions.jsonl
    """
    from seq2see.data.checks.data_doctor import examine
    from seq2see.data.checks.image_checks import describe_pairs
    from seq2see.data.formats.folders import split_folder

    if data is not None and data.suffix in (".yaml", ".yml"):
        from seq2see.config.load import load_config
        from seq2see.runs.data_files import origins

        splits = origins(load_config(file=data).config)
    else:
        parts = split_folder(data) if data is not None else {"train": None}
        splits = {name: name_origin(part, source, target, fields, encoding=encoding) for name, part in parts.items()}
        splits |= {"test": name_origin(test, None, None, fields, encoding=encoding)} if test else {}
    diagnosis = examine(splits)
    print_findings(list(diagnosis.findings), most=1000)
    for name, pairs in diagnosis.splits.items():
        typer.echo(f"{name}: {describe_pairs(pairs)}, in {splits[name]}")
    if diagnosis.errors:
        raise typer.Exit(2)
    if not diagnosis.findings:
        typer.echo("No problems found.")
