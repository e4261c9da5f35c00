"""`seq2see inspect`: what a run looks at for one input."""

from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data import keep_inputs
from seq2see.cli.decoding import warn_of_labels
from seq2see.cli.inputs import refuse_picture, warn_of_length
from seq2see.core.errors import AttentionError, Seq2SeeError


def inspect(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    source: Annotated[
        str | None, typer.Argument(help="The input: a text, @FILE for a text in a file, or the path of a picture.")
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option("-o", "--out", help="A .html, .png, .svg, .json or (over pictures) .gif file; else the terminal."),
    ] = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Width of the beam; 1 is greedy.")] = None,
    name: Annotated[
        str | None, typer.Option("--map", help="Maps whose name has this in it, or all; else those to the source.")
    ] = None,
    heads: Annotated[bool, typer.Option("--heads", help="Head by head instead of their mean.")] = False,
    cells: Annotated[
        bool, typer.Option("--cells", help="Over a picture: the cells as they are, not smoothed.")
    ] = False,
    leave_out: Annotated[
        bool, typer.Option("--leave-one-out", help="Measure what leaving out each word or region does, too.")
    ] = False,
    positions: Annotated[
        bool, typer.Option("--positions", help="Without an input: how alike the positions of its encoder are.")
    ] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
) -> None:
    """Predict one input and show the attention behind every token of the output, or behind its label.

    \b
    Examples:
      seq2see inspect runs/quickstart "3rd of May 1979" -o look.html
      seq2see inspect runs/en-de "A dog runs." --map decoder.layers.1.cross --heads -o heads.png
      seq2see inspect runs/captions dog.jpg -o words.gif
      seq2see inspect runs/reviews @review.txt --leave-one-out -o review.html
      seq2see inspect runs/vit2021 --positions -o positions.png
    """
    if (source is None) != positions:
        got = "neither" if source is None else "both"
        raise Seq2SeeError(f"give an input to look at, or --positions to look at the positions; got {got}.")
    if source is None:
        draw_positions(run, out, trust=trust)
        return
    kinds = (".html", ".png", ".svg", ".json", ".gif")
    if out is not None and out.suffix.lower() not in kinds:
        raise Seq2SeeError(f"the name of the output must end in {', '.join(kinds)}; got {out}.")
    keep_inputs([out], [Path(source.removeprefix("@"))])
    import seq2see
    from seq2see.core.registry import shorten
    from seq2see.data.lines import decode, read_bytes, split_lines
    from seq2see.inspect.document import DocumentTrace
    from seq2see.inspect.picture import save_trace
    from seq2see.inspect.terminal import render_terminal, summarise_falls

    loaded = seq2see.load(run, trust=trust)
    refuse_picture(loaded, Path(source))
    if out is not None and out.suffix.lower() == ".gif" and not loaded.config.reads_pictures:
        raise Seq2SeeError(f"a .gif shows a picture word by word, and this run reads texts; got {out}; choose another.")
    text = source
    if source.startswith("@"):
        text = "\n".join(split_lines(decode(read_bytes(Path(source[1:])), source[1:])))
    warn_of_length(loaded, [text])
    warn_of_labels(loaded, beam=beam)
    if cells and not loaded.config.reads_pictures:
        raise Seq2SeeError("--cells are those of a picture, and this run reads texts; leave it out.")
    prediction = loaded.predict(text, beam=beam)
    try:
        trace = prediction.faithfulness if leave_out else prediction.attention
    except AttentionError as error:
        raise Seq2SeeError(f"{str(error).rstrip('.')}; --leave-one-out shows what its output needs.") from None
    if isinstance(trace, DocumentTrace) and (name is not None or heads):
        trace = prediction.layers
    if out is None:
        from rich.console import Console

        shown = render_terminal(trace, name=name, heads=heads)
        Console(highlight=False).print(f"{shorten(source)} -> {prediction.text!r}", shown, sep="\n", markup=False)
        return
    save_trace(trace, out, name=name, heads=heads, cells=cells)
    typer.echo(f"{shorten(source)} -> {prediction.text!r}; wrote {out}")
    for line in summarise_falls(trace):
        typer.echo(line)


def draw_positions(run: Path, out: Path | None, *, trust: bool) -> None:
    """A figure of what the run knows of places, whatever it reads."""
    if out is None or out.suffix.lower() not in (".png", ".svg"):
        got = "no -o" if out is None else out
        raise Seq2SeeError(f"positions are drawn into a file: give -o with a .png or .svg name; got {got}.")
    import seq2see
    from seq2see.inspect.positions import save_positions

    save_positions(seq2see.load(run, trust=trust).model, out)
    typer.echo(f"wrote {out}")
