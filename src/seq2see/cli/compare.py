"""`seq2see compare`: several runs on the same pairs."""

import json
import sys
from collections.abc import Mapping
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.align import GoldOption
from seq2see.cli.data_options import (
    BleuOption,
    EncodingOption,
    FieldsOption,
    SourceOption,
    TargetOption,
    name_origin,
    show_findings,
)
from seq2see.cli.inputs import check_pairs
from seq2see.cli.messages import tell
from seq2see.cli.progress_bar import counting
from seq2see.cli.run_options import DeviceOption, SandboxOption
from seq2see.cli.search_options import WorkersOption, with_decode_options
from seq2see.core.errors import Seq2SeeError
from seq2see.search.options import DecodeOptions

if TYPE_CHECKING:
    from seq2see.data.pairs import Origin, Pairs
    from seq2see.metrics.length import LengthScores
    from seq2see.render.html.comparison_page import Sheet
    from seq2see.runs.run import Run


class ScoreColumn(StrEnum):
    """The metrics that can be drawn against the length of the source."""

    bleu = "bleu"
    chrf = "chrf"
    exact_match = "exact_match"
    accuracy = "accuracy"


ByOption = Annotated[
    ScoreColumn | None,
    typer.Option(
        help="The score to draw and to list by length.",
        show_default="bleu, exact_match without BLEU, accuracy of labels",
    ),
]


@with_decode_options(leave_out=["n_best"])
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Two run folders or more; the first is the baseline.")],
    data: Annotated[Path | None, typer.Option("--data", help="A .tsv, .csv or .jsonl file with references.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    encoding: EncodingOption = None,
    gold: GoldOption = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write a page (.html) with heatmaps.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Draw scores by source length (.png or .svg).")] = None,
    by: ByOption = None,
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 (frozen; the decorator puts an option for each field here)
    workers: WorkersOption = 0,
    bleu_tokenizer: BleuOption = "13a",
    examples: Annotated[int, typer.Option(min=0, help="Sentences whose attention the page shows.")] = 4,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of their own that the runs name.")] = False,
    sandbox: SandboxOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Compare runs: scores and whether they differ, speed, size, attention, and scores by source length.

    \b
    Examples:
      seq2see compare runs/bahdanau runs/luong --data test.tsv -o compare.html
      seq2see compare runs/bahdanau runs/luong --source test.en --target test.de --plot lengths.png
      seq2see compare runs/soft runs/hard --data captions.jsonl -o compare.html
      seq2see compare runs/han runs/flat --data reviews.jsonl -o compare.html
    """
    check_outputs(out, plot)
    import seq2see
    from seq2see.render.comparison_table import make_sheet
    from seq2see.render.terminal.terminal_comparison import print_comparison
    from seq2see.runs.comparison import compare as compare_runs
    from seq2see.runs.comparison import name_runs
    from seq2see.system.console import make_console

    names = name_runs(runs)
    origin = name_origin(data, source, target, fields, encoding=encoding)
    loaded = {
        name: seq2see.load(run, trust=trust, sandbox=sandbox, device=device)
        for name, run in zip(names, runs, strict=True)
    }
    pairs = read_common_pairs(loaded, origin, plots=plot is not None)
    found = compare_runs(
        loaded,
        pairs,
        origin,
        options=options,
        bleu_tokenizer=bleu_tokenizer,
        gold=gold,
        workers=workers,
        progress=counting,
    )
    sheet = make_sheet(found, examples=examples if out is not None else 0)
    if as_json:
        typer.echo(json.dumps(found.to_dict(), ensure_ascii=False))
    else:
        print_comparison(sheet, make_console(sys.stdout), metric=by and by.value)
    save_comparison(sheet, found.lengths, out=out, plot=plot, metric=by and by.value)


def check_outputs(out: Path | None, plot: Path | None) -> None:
    """Refuse file names with the wrong ending for a page or a figure.

    Args:
        out: the file of the page, which must end in .html; None for no page.
        plot: the file of the figure, which must end in .png or .svg; None for no figure.

    Raises:
        Seq2SeeError: a name has another ending.
    """
    if out is not None and out.suffix.lower() != ".html":
        raise Seq2SeeError(f"the name of the page must end in .html; got {out}.")
    if plot is not None:
        from seq2see.render.figures.figure_file import check_figure_path

        check_figure_path(plot)


def read_common_pairs(runs: "Mapping[str, Run]", origin: "Origin", *, plots: bool) -> "Pairs":
    """Read the pairs on which the runs are compared.

    Args:
        runs: the runs by name; the pairs are read as the first was trained.
        origin: the files of the pairs.
        plots: whether scores are drawn by source length, which images do not have.

    Raises:
        Seq2SeeError: the runs cannot be compared with each other, or the pairs do not suit one of them.
    """
    from seq2see.runs.comparison import check_runs
    from seq2see.runs.data_files import read_as_trained

    images = check_runs(runs)
    pairs, findings = read_as_trained(origin, next(iter(runs.values())).config)
    show_findings(findings)
    if plots and images:
        raise Seq2SeeError("--plot draws scores by the length of a text, but these runs read images; leave it out.")
    for name, run in runs.items():
        check_pairs(run, pairs, name=name)
    return pairs


def save_comparison(
    sheet: "Sheet", lengths: "LengthScores | None", *, out: Path | None, plot: Path | None, metric: str | None
) -> None:
    """Write the page and the figure of a comparison.

    Args:
        sheet: the comparison, as the page shows it.
        lengths: the scores by source length; None for images, without a figure.
        out: the file of the page; None for no page.
        plot: the file of the figure; None for no figure.
        metric: the metric to draw; None draws BLEU, exact match if there is no BLEU, or the accuracy of labels.
    """
    from seq2see.render.figures.length_curve import save_lengths
    from seq2see.render.html.comparison_page import render_comparison
    from seq2see.render.html.page import save_page

    if plot is not None and lengths is not None:
        save_lengths(lengths, plot, metric=metric)
    if out is not None:
        save_page(render_comparison(sheet), out)
    for file in (plot, out):
        if file is not None:
            tell(f"wrote {file}")
