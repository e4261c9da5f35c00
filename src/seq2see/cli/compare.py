"""`seq2see compare`: several runs on the same pairs."""

import json
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.align import GoldOption
from seq2see.cli.counting import counting
from seq2see.cli.data import BleuOption, FieldsOption, SourceOption, TargetOption, name_origin, show_findings
from seq2see.cli.decoding import WorkersOption
from seq2see.cli.evaluate import read_as_trained
from seq2see.cli.inputs import check_pairs
from seq2see.core.errors import Seq2SeeError

if TYPE_CHECKING:
    from rich.table import Table

    from seq2see.inspect.comparison import Sheet
    from seq2see.inspect.lengths import Lengths


class Score(StrEnum):
    """What can be drawn against the length of the source."""

    bleu = "bleu"
    chrf = "chrf"
    exact_match = "exact_match"


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two run folders or more; the first is the baseline.")],
    data: Annotated[Path | None, typer.Option("--data", help="A .tsv, .csv or .jsonl file with references.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    gold: GoldOption = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write a page (.html) with heatmaps.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw scores by source length (.png or .svg).")] = None,
    by: Annotated[
        Score | None,
        typer.Option(
            help="The score to draw and to list by length.", show_default="bleu, or exact_match for want of it"
        ),
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Width of the beam; 1 is greedy.")] = None,
    workers: WorkersOption = 0,
    bleu_tokenizer: BleuOption = "13a",
    examples: Annotated[int, typer.Option(min=0, help="Sentences whose attention the page shows.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of their own that the runs name.")] = False,
) -> None:
    """Compare runs: scores and whether they differ, speed, size, attention, and scores by source length.

    \b
    Examples:
      seq2see compare runs/bahdanau runs/luong --data test.tsv -o compare.html
      seq2see compare runs/bahdanau runs/luong --source test.en --target test.de --plot lengths.png
      seq2see compare runs/soft runs/hard --data captions.jsonl -o compare.html
    """
    if out is not None and out.suffix.lower() != ".html":
        raise Seq2SeeError(f"the name of the page must end in .html; got {out}.")
    import seq2see
    from seq2see.compare import check_runs, name_runs
    from seq2see.compare import compare as compare_runs
    from seq2see.inspect.comparison import render_comparison
    from seq2see.inspect.lengths import check_picture, save_lengths
    from seq2see.inspect.page import save_page
    from seq2see.sheet import make_sheet, to_dict

    names = name_runs(runs)
    if plot is not None:
        check_picture(plot)
    origin = name_origin(data, source, target, fields)
    loaded = {name: seq2see.load(run, trust=trust) for name, run in zip(names, runs, strict=True)}
    pictures = check_runs(loaded)
    pairs, findings = read_as_trained(origin, next(iter(loaded.values())).config)
    show_findings(findings)
    if plot is not None and pictures:
        raise Seq2SeeError("--plot draws scores by the length of a text, but these runs read pictures; leave it out.")
    for name, run in loaded.items():
        check_pairs(run, pairs, name=name)
    found = compare_runs(
        loaded,
        pairs,
        origin,
        beam=beam,
        bleu_tokenizer=bleu_tokenizer,
        gold=gold,
        workers=workers,
        watch=counting,
    )
    sheet = make_sheet(found, examples=examples if out is not None else 0)
    if plot is not None and found.lengths is not None:
        save_lengths(found.lengths, plot, metric=by and by.value)
    if out is not None:
        save_page(render_comparison(sheet), out)
    if as_json:
        typer.echo(json.dumps(to_dict(found), ensure_ascii=False))
    else:
        show_sheet(sheet, by and by.value)
    for file in (plot, out):
        if file is not None:
            typer.echo(f"wrote {file}", err=True)


def show_sheet(sheet: "Sheet", metric: str | None) -> None:
    """The tables and notes on the terminal."""
    from rich.console import Console

    console = Console(markup=False, emoji=False, highlight=False)
    console.print(table_rows(sheet))
    if sheet.lengths is not None:
        console.print(table_lengths(sheet.runs, sheet.lengths, sheet.lengths.choose_metric(metric)))
    for note in sheet.notes:
        console.print(f"note: {note}", soft_wrap=True)
    for name, fact in sheet.facts.items():
        console.print(f"{name}: {fact}", style="dim", soft_wrap=True)


def table_rows(sheet: "Sheet") -> "Table":
    """What runs are compared by, a column a run."""
    from rich.table import Table
    from rich.text import Text

    table = Table("", *sheet.runs, title=Text(sheet.title), title_justify="left")
    for row in sheet.rows:
        name = Text.assemble(row.name, (f", {row.about}" if row.about else "", "dim"))
        table.add_row(name, *(Text.assemble(cell.text, (f" {cell.note}", "dim")) for cell in row.cells))
    return table


def table_lengths(runs: Sequence[str], lengths: "Lengths", metric: str) -> "Table":
    """One metric by the length of the source, a column a run."""
    from rich.table import Table

    from seq2see.inspect.lengths import NAMES

    title = f"{NAMES[metric]} by source length"
    table = Table(lengths.buckets.unit, "sentences", *runs, title=title, title_justify="left")
    for place, bucket in enumerate(lengths.buckets.buckets):
        values = (f"{scores[place]:.2f}" for scores in lengths.scores[metric].values())
        table.add_row(bucket.label, f"{len(bucket.rows):,}" + (" (few)" if bucket.few else ""), *values)
    return table
