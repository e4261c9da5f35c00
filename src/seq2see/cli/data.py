"""What the commands share about data files on the command line."""

from pathlib import Path
from typing import Annotated

import typer

from seq2see.core.errors import DataError
from seq2see.data.pairs import Finding, Origin

SourceOption = Annotated[Path | None, typer.Option("--source", help="One source a line, with --target.")]
TargetOption = Annotated[Path | None, typer.Option("--target", help="The targets of --source, line by line.")]


def name_origin(data: Path | None, source: Path | None, target: Path | None) -> Origin:
    """One file with both sides, or two parallel files; anything else is an error."""
    if data is not None and source is None and target is None:
        return Origin(data.absolute())
    if data is None and source is not None and target is not None:
        return Origin(source.absolute(), target.absolute())
    raise DataError("give one data file, or both --source FILE and --target FILE.")


def show_findings(findings: list[Finding], *, most: int = 12) -> None:
    """Print findings, the worst first."""
    order = {"error": 0, "warning": 1, "note": 2}
    colours = {"error": typer.colors.RED, "warning": typer.colors.YELLOW, "note": None}
    ranked = sorted(findings, key=lambda finding: order[finding.level])
    for finding in ranked[:most]:
        typer.secho(f"{finding.level}: {finding}", fg=colours[finding.level], err=True)
    if len(ranked) > most:
        typer.echo(f"and {len(ranked) - most} more; see them all with: seq2see doctor", err=True)
