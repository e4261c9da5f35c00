"""`seq2see inspect`: the attention of a run behind its output for one input."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.data_options import keep_inputs
from seq2see.cli.inputs import refuse_image, warn_of_length
from seq2see.cli.run_options import DeviceOption, SandboxOption
from seq2see.cli.search_options import warn_of_labels
from seq2see.core.errors import AttentionError, Seq2SeeError

if TYPE_CHECKING:
    from rich.console import Console

    from seq2see.explain.output_trace import OutputTrace
    from seq2see.runs.prediction import Prediction

LeaveOneOutOption = Annotated[
    bool | None,
    typer.Option(
        "--leave-one-out/--no-leave-one-out",
        help="Also measure the probability drop without each word or region.",
        show_default="where the attention of the run hardly agrees with it",
    ),
]
OutOption = Annotated[
    Path | None,
    typer.Option("-o", "--out", help="A .html, .png, .svg, .json or (over images) .gif file; else the terminal."),
]
FORMATS = (".html", ".png", ".svg", ".json", ".gif")


def inspect(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    source: Annotated[
        str | None, typer.Argument(help="The input: a text, @FILE for a text in a file, or the path of an image.")
    ] = None,
    out: OutOption = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Width of the beam; 1 is greedy.")] = None,
    name: Annotated[
        str | None, typer.Option("--map", help="Show maps whose name contains this, or all; else those to the source.")
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Show each head instead of their mean.")] = False,
    cells: Annotated[bool, typer.Option("--cells", help="Over an image: show cells as squares, not smooth.")] = False,
    leave_one_out: LeaveOneOutOption = None,
    positions: Annotated[
        bool, typer.Option("--positions", help="Without an input: draw how similar the positions of its encoder are.")
    ] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
    sandbox: SandboxOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Predict one input and show the attention behind every token of the output, or behind its label.

    \b
    Examples:
      seq2see inspect runs/quickstart "3rd of May 1979" -o page.html
      seq2see inspect runs/en-de "A dog runs." --map decoder.layers.1.cross --heads -o heads.png
      seq2see inspect runs/captions dog.jpg -o words.gif
      seq2see inspect runs/reviews @review.txt --leave-one-out -o review.html
      seq2see inspect runs/vit2021 --positions -o positions.png
    """
    if (source is None) != positions:
        got = "neither" if source is None else "both"
        raise Seq2SeeError(f"give an input to explain, or --positions to compare the positions; got {got}.")
    if source is None:
        draw_positions(run, out, trust=trust, sandbox=sandbox)
        return
    if out is not None and out.suffix.lower() not in FORMATS:
        raise Seq2SeeError(f"the name of the output must end in {', '.join(FORMATS)}; got {out}.")
    keep_inputs([out], [Path(source.removeprefix("@"))])
    import seq2see
    from seq2see.core.registry import shorten
    from seq2see.system.console import make_console

    loaded = seq2see.load(run, trust=trust, sandbox=sandbox, device=device)
    refuse_image(loaded, Path(source))
    text = read_source(source)
    warn_of_length(loaded, [text])
    warn_of_labels(loaded, beam=beam)
    prediction = loaded.predict(text, beam=beam)
    trace = explain(prediction, maps=name is not None or heads, leave_one_out=leave_one_out)
    check_image_options(trace, out, cells=cells)
    heading = f"{shorten(source)} -> {shorten(prediction.text, most=400)}"
    if out is None:
        print_trace(make_console(sys.stdout), trace, heading=heading, name=name, heads=heads)
    else:
        trace.renderer.save(trace, out, name=name, heads=heads, cells=cells)
        told = [f"{heading}; wrote {out}", *trace.renderer.summarise_drops(trace), trace.caption]
        typer.echo("\n".join(filter(None, told)))


def check_image_options(trace: "OutputTrace", out: Path | None, *, cells: bool) -> None:
    """Refuse options that need an image, if the source is none.

    Args:
        trace: the trace, which knows whether its source is an image.
        out: the file to write; a .gif needs an image.
        cells: whether --cells is given, which needs an image.

    Raises:
        Seq2SeeError: the source is no image, and an option needs one.
    """
    if trace.has_image:
        return
    if out is not None and out.suffix.lower() == ".gif":
        raise Seq2SeeError(f"a .gif shows an image word by word, and this input is none; got {out}; choose another.")
    if cells:
        raise Seq2SeeError("--cells are those of an image, and this input is none; leave it out.")


def read_source(source: str) -> str:
    """Return the input itself, or the text of a file.

    Args:
        source: the input, or `@` and the path of a file in UTF-8, whose lines are one input together.
    """
    from seq2see.data.formats.encodings import decode
    from seq2see.data.formats.file_bytes import read_bytes
    from seq2see.data.formats.lines import split_lines

    if not source.startswith("@"):
        return source
    return "\n".join(split_lines(decode(read_bytes(Path(source[1:])), source[1:])))


def explain(prediction: "Prediction", *, maps: bool, leave_one_out: bool | None) -> "OutputTrace":
    """Return the attention behind a prediction.

    Args:
        prediction: the prediction.
        maps: whether single maps or heads are asked for; behind a label, the trace is then that of the layers.
        leave_one_out: whether to measure the probability drop without each part of the source; None does so where the
            attention of the run hardly agrees with these drops.

    Raises:
        Seq2SeeError: the model has no attention and no drops are asked for.
    """
    try:
        if leave_one_out is None:
            trace = prediction.explanation
        else:
            trace = prediction.faithfulness if leave_one_out else prediction.attention
    except AttentionError as error:
        raise Seq2SeeError(f"{str(error).rstrip('.')}; --leave-one-out shows what its output needs.") from None
    return prediction.layers if maps and not trace.has_heads else trace


def print_trace(
    console: "Console", trace: "OutputTrace", *, heading: str, name: str | None = None, heads: bool = False
) -> None:
    """Print a trace below a heading; in a log, its sentences are not broken.

    Args:
        console: where to print it.
        trace: the trace.
        heading: the line above it.
        name: the maps whose name contains this; None shows the last cross-attention map.
        heads: whether to show each head instead of the mean over heads.
    """
    from rich.table import Table

    from seq2see.system.console import print_table

    console.print(heading)
    wrap = not console.soft_wrap
    shown = trace.renderer.to_terminal(trace, width=console.width, name=name, heads=heads, wrap=wrap)
    if isinstance(shown, Table):
        print_table(console, shown)
    else:
        console.print(shown)


def draw_positions(run: Path, out: Path | None, *, trust: bool, sandbox: bool) -> None:
    """Draw how similar the positions of the encoder of a run are.

    Args:
        run: the run folder.
        out: the file of the figure, .png or .svg.
        trust: whether to run the code of its own that the run names.
        sandbox: whether to try the run in a process with limits first.

    Raises:
        Seq2SeeError: there is no such file name, or the encoder has no positions.
    """
    if out is None or out.suffix.lower() not in (".png", ".svg"):
        got = "no -o" if out is None else out
        raise Seq2SeeError(f"positions are drawn into a file: give -o with a .png or .svg name; got {got}.")
    import seq2see
    from seq2see.explain.position_cosines import compare_positions
    from seq2see.render.figures.position_similarity import save_positions

    loaded = seq2see.load(run, trust=trust, sandbox=sandbox)
    save_positions(compare_positions(loaded.model.encoder), out)
    typer.echo(f"wrote {out}")
