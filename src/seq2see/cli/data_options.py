"""The options for data files that several commands share."""

import os
from collections.abc import Sequence
from itertools import product
from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.messages import verbosity
from seq2see.core.errors import DataError
from seq2see.data.pairs import Finding, Origin

SourceOption = Annotated[
    Path | None, typer.Option("--source", help="A file with one source in each line; with --target.")
]
TargetOption = Annotated[Path | None, typer.Option("--target", help="A file with the target of each line of --source.")]
FieldsOption = Annotated[str | None, typer.Option("--fields", help="Columns to use, as SOURCE,TARGET.")]
EncodingOption = Annotated[
    str | None,
    typer.Option("--encoding", help="Encoding of the files, such as cp1252 or shift_jis; else UTF-8, or guessed."),
]
BleuOption = Annotated[
    str,
    typer.Option(
        "--bleu-tokenizer", help="The tokenizer of sacrebleu for BLEU: 13a, none, zh, char, intl, ja-mecab ..."
    ),
]


def name_origin(
    data: Path | None,
    source: Path | None,
    target: Path | None,
    fields: str | None = None,
    *,
    encoding: str | None = None,
) -> Origin:
    """Return the origin of pairs: one file with both sides, or two parallel files.

    Args:
        data: the file with both sides, or a folder; None if there are two files.
        source: the file of the sources; None if there is one file.
        target: the file of the targets; None if there is one file.
        fields: the columns of `data` to use, as `SOURCE,TARGET`; None for its usual columns.
        encoding: the encoding of the files; None takes UTF-8, or guesses another one.

    Raises:
        DataError: neither or both of the two forms are given, or only one of two files.
    """
    if data is not None and source is None and target is None:
        return Origin(data.absolute(), fields=name_fields(fields), encoding=encoding)
    if data is None and source is not None and target is not None:
        return Origin(source.absolute(), target.absolute(), encoding=encoding)
    raise DataError("give one data file, or both --source FILE and --target FILE.")


def name_fields(fields: str | None) -> tuple[str, str] | None:
    """Return the two columns that `SOURCE,TARGET` names.

    Args:
        fields: the two names with a comma between them; None returns None.

    Raises:
        DataError: there are not two different names.
    """
    names = [name.strip() for name in fields.split(",")] if fields is not None else []
    if fields is not None and (len(names) != 2 or not all(names)):
        raise DataError(f"--fields takes two names with a comma between them; got {fields!r}.")
    if len(set(names)) == 1:
        raise DataError(f"--fields must name two different columns; got {fields!r}; name another.")
    return (names[0], names[1]) if names else None


def keep_inputs(outputs: Sequence[Path | None], inputs: Sequence[Path | None]) -> None:
    """Refuse to write a file that is also read, even if two different paths name it.

    Args:
        outputs: the files to write; None stands for an option that was not given.
        inputs: the files to read; None stands for an option that was not given.

    Raises:
        DataError: a file is both.
    """
    there = [[file for file in files if file is not None and os.path.isfile(file)] for files in (outputs, inputs)]
    for out, file in product(*there):
        if os.path.samefile(out, file):
            raise DataError(f"an output must not replace an input; got {out} for both; choose another file.")


def show_findings(findings: list[Finding]) -> None:
    """Print findings about the data of a command beside its results, the worst first; nothing with --quiet.

    Args:
        findings: the findings.
    """
    if not verbosity.quiet:
        print_findings(findings)


def print_findings(findings: list[Finding], *, most: int = 12) -> None:
    """Print findings about data on standard error, the worst first.

    Args:
        findings: the findings.
        most: the most findings to print; the number of the others is printed.
    """
    order = {"error": 0, "warning": 1, "note": 2}
    colours = {"error": typer.colors.RED, "warning": typer.colors.YELLOW, "note": None}
    ranked = sorted(findings, key=lambda finding: order[finding.level])
    for finding in ranked[:most]:
        typer.secho(f"{finding.level}: {finding}", fg=colours[finding.level], err=True)
    if len(ranked) > most:
        typer.echo(f"and {len(ranked) - most} more; see them all with: seq2see doctor", err=True)
