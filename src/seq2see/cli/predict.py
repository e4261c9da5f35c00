"""`seq2see predict`: lines in, lines out."""

import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2see.cli.data import keep_inputs
from seq2see.cli.decoding import (
    BanOption,
    BeamOption,
    ConsensusOption,
    CoveragePenaltyOption,
    DictionaryOption,
    LengthFormOption,
    LengthPenaltyOption,
    MaxLengthOption,
    MinLengthOption,
    NoRepeatOption,
    PrecisionOption,
    ReplaceUnknownOption,
    Wishes,
    WithOption,
    WitnessesOption,
    WorkersOption,
    read_prefixes,
    warn_of_labels,
)
from seq2see.cli.inputs import read_inputs, warn_of_length
from seq2see.core.errors import DataError

if TYPE_CHECKING:
    from seq2see.run import Prediction, Run

CHUNK = 2_000  # lines that are read, sorted by length and decoded together


class Format(StrEnum):
    """How predictions are written."""

    text = "text"
    jsonl = "jsonl"


def predict(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    files: Annotated[
        list[Path] | None,
        typer.Argument(
            metavar="[FILE]...", help="Texts, one a line (- or nothing: standard input); or pictures, or their folders."
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write here instead of standard output.")] = None,
    beam: BeamOption = None,
    n_best: Annotated[int, typer.Option(min=1, help="Outputs for each line; in text, with tabs between them.")] = 1,
    length_penalty: LengthPenaltyOption = None,
    length_form: LengthFormOption = None,
    coverage_penalty: CoveragePenaltyOption = None,
    consensus: ConsensusOption = None,
    witnesses: WitnessesOption = None,
    precision: PrecisionOption = None,
    min_length: MinLengthOption = None,
    max_length: MaxLengthOption = None,
    no_repeat: NoRepeatOption = None,
    ban: BanOption = None,
    prefix: Annotated[
        str | None,
        typer.Option(metavar="TEXT", help="What every output begins with; a space at its end ends the word."),
    ] = None,
    prefix_file: Annotated[Path | None, typer.Option(help="A prefix for each line of the input, or blank.")] = None,
    others: WithOption = None,
    replace_unknown: ReplaceUnknownOption = False,
    dictionary: DictionaryOption = None,
    workers: WorkersOption = 0,
    form: Annotated[Format, typer.Option("--format", help="Plain text, or JSON lines with scores.")] = Format.text,
    attention: Annotated[bool, typer.Option("--attention", help="Add attention weights (JSON lines).")] = False,
    alignments: Annotated[Path | None, typer.Option(help="Write word alignments here, in Pharaoh format.")] = None,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
) -> None:
    """Predict every line of a file, or every picture: as many lines out as in, in the same order.

    \b
    Examples:
      seq2see predict runs/quickstart dates.txt -o iso.txt
      echo "3rd of May 1979" | seq2see predict runs/quickstart --format jsonl --attention
      seq2see predict runs/en-de news.en --with runs/other --no-repeat 3 -o news.de
      seq2see predict runs/captions dog.jpg holidays/
    """
    for file in files or []:
        if str(file) != "-" and not file.exists():
            raise DataError("there is no such file; check the path.", file=file)
    keep_inputs([out, alignments], [*(files or []), prefix_file, dictionary])
    import seq2see
    from seq2see.align import record_alignments
    from seq2see.workers import choose_workers, hire

    loaded = seq2see.load([run, *(others or [])], trust=trust)
    lines = read_inputs(loaded, files or [])
    warn_of_labels(loaded, prefix=prefix, prefix_file=prefix_file)
    prefixes = read_prefixes(prefix, prefix_file, len(lines))
    if max_length is None:
        warn_of_length(loaded, lines, "or cut it, or give --max-length")
    wishes = Wishes(
        beam=beam,
        n_best=n_best,
        length_penalty=length_penalty,
        length_form=length_form,
        coverage_penalty=coverage_penalty,
        consensus=consensus,
        witnesses=witnesses,
        precision=precision,
        min_length=min_length,
        max_length=max_length,
        no_repeat=no_repeat,
        ban=ban,
        replace_unknown=replace_unknown,
        dictionary=dictionary,
    )
    form = Format.jsonl if attention else form
    how = wishes.apply(loaded)
    with hire(loaded, workers or choose_workers(loaded, len(lines), how["search"])) as shared:
        predictions = record_alignments(loaded, predict_lines(shared, lines, prefixes, how), alignments)
        several = max(len(lines), len(files or [])) > 1  # who gives many pictures wants to know which
        named = loaded.config.reads_pictures and several
        save((write(prediction, form, attention, named=named) for prediction in predictions), out)


def save(lines: Iterator[str], out: Path | None) -> None:
    """Write lines to a file, all or none, or to standard output as they come."""
    if out is None:
        for line in lines:
            sys.stdout.write(line + "\n")
        return
    from seq2see.core.files import write_atomic

    write_atomic(out, "".join(line + "\n" for line in lines))


def predict_lines(run: "Run", lines: list[str], prefixes: list[str], how: dict[str, Any]) -> Iterator["Prediction"]:
    """Predictions in order, a chunk at a time, with a bar if somebody watches."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    with Progress(console=console, disable=len(lines) <= CHUNK or not console.is_terminal) as bar:
        task = bar.add_task("predicting", total=len(lines))
        for start in range(0, len(lines), CHUNK):
            chunk = slice(start, start + CHUNK)
            yield from run.predict(lines[chunk], prefix=prefixes[chunk], **how)
            bar.update(task, completed=min(start + CHUNK, len(lines)))


def write(prediction: "Prediction", form: Format, attention: bool, *, named: bool = False) -> str:
    """One line for one input, after the name of the input if that is asked for."""
    if form is Format.text and named and not prediction.source.strip():
        return ""
    if form is Format.text:
        texts = [output.text for output in (prediction, *prediction.alternatives)]
        return "\t".join(" ".join(text.splitlines()) for text in ([prediction.source] * named + texts))
    return json.dumps(describe(prediction, attention), ensure_ascii=False)


def describe(prediction: "Prediction", attention: bool) -> dict[str, Any]:
    """Everything about a prediction."""
    row: dict[str, Any] = {
        "source": prediction.source,
        "text": prediction.text,
        "score": prediction.score,
        "finished": prediction.finished,
        "tokens": [asdict(token) for token in prediction.tokens],
    }
    if prediction.probabilities is not None:
        row["probabilities"] = dict(prediction.probabilities)
    if prediction.alternatives:
        row["alternatives"] = [describe(other, attention) for other in prediction.alternatives]
    if attention:
        trace = prediction.attention.to_dict() if prediction.ids else None
        shown = ("source_tokens", "target_tokens", "maps", "sentences")
        row["attention"] = trace and {key: trace[key] for key in shown if key in trace}
    return row
