"""`seq2see predict`: the output for each line of a file, or for each image."""

import sys
from collections.abc import Iterator, Sequence
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.data_options import EncodingOption, keep_inputs
from seq2see.cli.inputs import warn_of_length, warn_of_unknown
from seq2see.cli.messages import verbosity
from seq2see.cli.predicted_table import choose_kind, gather_inputs, save_table
from seq2see.cli.run_options import DeviceOption, SandboxOption
from seq2see.cli.search_options import (
    WithOption,
    WorkersOption,
    read_prefixes,
    warn_of_labels,
    with_decode_options,
)
from seq2see.core.errors import DataError
from seq2see.core.unicode import escape_controls
from seq2see.search.options import DecodeOptions

if TYPE_CHECKING:
    from seq2see.runs.decoding import Decoding
    from seq2see.runs.prediction import Prediction
    from seq2see.runs.run import Run


class Format(StrEnum):
    """The format of predictions."""

    text = "text"
    jsonl = "jsonl"
    table = "table"


FilesArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        metavar="[FILE]...", help="Texts, one a line (- or nothing: standard input); or images, or their folders."
    ),
]
ColumnOption = Annotated[
    str | None,
    typer.Option(metavar="COLUMN", help="Predict this column of a table, by its name, or number without a header."),
]
LinesOption = Annotated[bool, typer.Option("--lines", help="Read every whole line as one input, even of a table.")]
PrefixOption = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="What every output begins with; a space at its end completes the word."),
]
PrefixFileOption = Annotated[
    Path | None, typer.Option(help="A file with a prefix for each line of the input, blank for none.")
]
ShardOption = Annotated[
    str | None,
    typer.Option(metavar="K/N", help="Predict only the K-th of N parts of a file, into the folder OUT.shards."),
]
MergeOption = Annotated[bool, typer.Option("--merge", help="Join all shards of OUT.shards into OUT.")]
FormatOption = Annotated[
    Format | None,
    typer.Option(
        "--format",
        help="Plain text, JSON lines with scores, or a table with new columns.",
        show_default="table with --fields, else text",
    ),
]


@with_decode_options()
def predict(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    files: FilesArgument = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write here instead of standard output.")] = None,
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 (frozen; the decorator puts an option for each field here)
    fields: ColumnOption = None,
    lines: LinesOption = False,
    encoding: EncodingOption = None,
    prefix: PrefixOption = None,
    prefix_file: PrefixFileOption = None,
    others: WithOption = None,
    workers: WorkersOption = 0,
    form: FormatOption = None,
    attention: Annotated[bool, typer.Option("--attention", help="Add attention weights (JSON lines).")] = False,
    alignments: Annotated[Path | None, typer.Option(help="Write word alignments here, in Pharaoh format.")] = None,
    shard: ShardOption = None,
    merge: MergeOption = False,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
    sandbox: SandboxOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Predict every line of a file, or every image: as many lines out as in, in the same order.

    \b
    Examples:
      seq2see predict runs/quickstart dates.txt -o iso.txt
      echo "3rd of May 1979" | seq2see predict runs/quickstart --format jsonl --attention
      seq2see predict runs/en-de news.en --with runs/other --no-repeat 3 -o news.de
      seq2see predict runs/reviews reviews.csv --fields text -o predicted.csv
      seq2see predict runs/reviews big.parquet --fields text -o out.parquet --shard 3/16
    """
    form = choose_format(form, fields=fields, lines=lines, attention=attention)
    check_files(files or [])
    keep_inputs([out, alignments], [*(files or []), prefix_file])
    import seq2see
    from seq2see.cli.bulk_request import BulkRequest, choose_file, choose_out
    from seq2see.cli.predicted_shards import run_shards
    from seq2see.runs.parallel_prediction import choose_workers, start_workers
    from seq2see.runs.word_alignment import record_alignments

    load = partial(seq2see.load, [run, *(others or [])], trust=trust, sandbox=sandbox, device=device)
    if shard is not None or merge:
        inputs = (choose_file(files or []), fields, lines, encoding, prefix, prefix_file)
        request = BulkRequest([run, *(others or [])], *inputs, choose_out(out, alignments), form, attention, options)
        run_shards(request, shard, load, merge=merge, workers=workers)
        return
    loaded = load()
    table, sources = gather_inputs(loaded, files or [], field=fields, lines=lines, encoding=encoding)
    kind = choose_kind(table, out) if form is Format.table else None
    warn_of_labels(loaded, options, prefix=prefix, prefix_file=prefix_file)
    prefixes = read_prefixes(prefix, prefix_file, len(sources))
    warn_of_inputs(loaded, sources, options)
    decoding = loaded.choose_decoding(options)
    with start_workers(loaded, workers or choose_workers(loaded, len(sources), decoding.search)) as shared:
        predictions = record_alignments(loaded, predict_lines(shared, sources, prefixes, decoding), alignments)
        if kind is not None:
            save_table(table, loaded, predictions, kind, out, outputs=getattr(decoding.search, "n_best", 1))
        else:
            named = loaded.task.source.name == "image" and max(len(sources), len(files or [])) > 1  # write which
            save((write_line(each, form, attention=attention, named=named) for each in predictions), out)


def warn_of_inputs(run: "Run", sources: Sequence[str], options: DecodeOptions, *, first: int = 1) -> None:
    """Warn of inputs that are very long, and of words and characters that a run does not know.

    Args:
        run: the run.
        sources: the inputs.
        options: the decoding options, which may limit the length of outputs.
        first: the number of the first input.
    """
    if options.max_length is None:
        warn_of_length(run, sources, "or cut it, or give --max-length", first=first)
    warn_of_unknown(run, sources)


def choose_format(form: Format | None, *, fields: str | None, lines: bool, attention: bool) -> Format:
    """Return the format of predictions: as named, else a table for a column of one; attention needs JSON lines.

    Args:
        form: the format that is named; None if none is.
        fields: the column of a table; None for other inputs.
        lines: whether every whole line is one input.
        attention: whether attention weights are added.

    Raises:
        DataError: options contradict each other.
    """
    if fields is not None and lines:
        raise DataError("--fields predicts a column, and --lines whole lines; give one of the two.")
    if attention and form is Format.table:
        raise DataError("attention weights are written as JSON lines, not as a table; leave out --format table.")
    if attention:
        return Format.jsonl
    return form or (Format.text if fields is None else Format.table)


def check_files(files: Sequence[Path]) -> None:
    """Refuse the name of a file that does not exist.

    Args:
        files: the files; `-` is standard input.

    Raises:
        DataError: a file does not exist.
    """
    for file in files:
        if str(file) != "-" and not file.exists():
            raise DataError("there is no such file; check the path.", file=file)


def save(lines: Iterator[str], out: Path | None) -> None:
    """Write lines to a file in one step, or to standard output as they come.

    Args:
        lines: the lines, without line ends.
        out: the file; None for standard output, which shows control characters as escapes if it is a terminal.
    """
    if out is None:
        shown = sys.stdout.isatty()
        for line in lines:
            sys.stdout.write((escape_controls(line, kept="\t") if shown else line) + "\n")
        return
    from seq2see.system.files import write_atomic

    write_atomic(out, "".join(line + "\n" for line in lines))


def predict_lines(
    run: "Run", lines: Sequence[str], prefixes: Sequence[str], decoding: "Decoding"
) -> Iterator["Prediction"]:
    """Predict lines in chunks, with a progress bar if standard error is a terminal and there are several chunks.

    Args:
        run: the run, or a run that shares the work among processes.
        lines: the sources: texts, documents, or paths of images.
        prefixes: what the output of each line begins with; empty for nothing.
        decoding: how outputs are found.

    Yields:
        The prediction of each line, in order.
    """
    from rich.console import Console
    from rich.progress import Progress

    from seq2see.runs.shards import CHUNK_ROWS as CHUNK  # so that shards decode the same rows together

    console = Console(stderr=True)
    with Progress(console=console, disable=len(lines) <= CHUNK or not console.is_terminal or verbosity.quiet) as bar:
        task = bar.add_task("predicting", total=len(lines))
        for start in range(0, len(lines), CHUNK):
            chunk = slice(start, start + CHUNK)
            yield from run.predict(lines[chunk], prefix=prefixes[chunk], decoding=decoding)
            bar.update(task, completed=min(start + CHUNK, len(lines)))


def write_line(prediction: "Prediction", form: Format, *, attention: bool, named: bool = False) -> str:
    """Return one prediction as a line of text or JSON.

    Args:
        prediction: the prediction, with its alternatives.
        form: the format.
        attention: whether JSON has the weights of every attention map.
        named: whether a text begins with the source.
    """
    return write_json(prediction, attention=attention) if form is Format.jsonl else write_text(prediction, named=named)


def write_text(prediction: "Prediction", *, named: bool = False) -> str:
    """Return the outputs of one input as a line, with tabs between them; line breaks become spaces.

    Args:
        prediction: the best output, with its alternatives.
        named: whether the line begins with the source; a blank source then gives an empty line.
    """
    if named and not prediction.source.strip():
        return ""
    texts = [output.text for output in (prediction, *prediction.alternatives)]
    return "\t".join(" ".join(text.splitlines()) for text in ([prediction.source] * named + texts))


def write_json(prediction: "Prediction", *, attention: bool) -> str:
    """Return one prediction as a line of JSON.

    Args:
        prediction: the prediction, with its alternatives.
        attention: whether to add the weights of every attention map.
    """
    from seq2see.runs.prediction_json import to_json

    return to_json(prediction, attention="full" if attention else "none")
