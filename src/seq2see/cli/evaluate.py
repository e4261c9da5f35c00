"""`seq2see evaluate`: all metrics of a run on test data, each with its signature."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

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
from seq2see.cli.run_options import DeviceOption, SandboxOption
from seq2see.cli.search_options import WithOption, WorkersOption, warn_of_labels, with_decode_options
from seq2see.core.errors import Seq2SeeError
from seq2see.core.plural import say_count
from seq2see.search.options import DecodeOptions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from seq2see.data.pairs import Pairs
    from seq2see.explain.attention_agreement import AttentionAgreement
    from seq2see.runs.evaluation import Evaluation
    from seq2see.runs.prediction import Prediction
    from seq2see.runs.run import Run

AgreementOption = Annotated[
    bool, typer.Option("--agreement", help="Also measure whether attention agrees with leave-one-out, and keep it.")
]


@with_decode_options(leave_out=["n_best"])
def evaluate(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    data: Annotated[Path | None, typer.Argument(help="A .tsv, .csv or .jsonl file with references.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    encoding: EncodingOption = None,
    options: DecodeOptions = DecodeOptions(),  # noqa: B008 (frozen; the decorator puts an option for each field here)
    others: WithOption = None,
    workers: WorkersOption = 0,
    bleu_tokenizer: BleuOption = "13a",
    agreement: AgreementOption = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
    sandbox: SandboxOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Score a run on pairs it has not seen; of a run that chooses labels, every label, and what it is taken for.

    \b
    Examples:
      seq2see evaluate runs/pairs test.tsv --json
      seq2see evaluate runs/pairs test.tsv --agreement
    """
    import seq2see
    from seq2see.data.synthetic.shapes import read_things
    from seq2see.metrics.text import make_bleu
    from seq2see.runs.data_files import read_as_trained
    from seq2see.runs.evaluation import evaluate as evaluate_run
    from seq2see.runs.parallel_prediction import choose_workers, start_workers

    refuse_several(others, agreement=agreement)
    origin = name_origin(data, source, target, fields, encoding=encoding)
    loaded = seq2see.load([run, *(others or [])], trust=trust, sandbox=sandbox, device=device)
    pairs, findings = read_as_trained(origin, loaded.config)
    show_findings(findings)
    check_pairs(loaded, pairs)
    pairs = loaded.task.group_references(pairs)
    note_meteor(loaded, pairs)
    make_bleu(bleu_tokenizer)  # an unknown tokenizer is refused before anything is decoded
    warn_of_labels(loaded, options)
    decoding = loaded.choose_decoding(options)
    with start_workers(loaded, workers or choose_workers(loaded, len(pairs), decoding.search)) as shared:
        predictions = shared.predict(list(pairs.source), decoding=decoding)
    result = evaluate_run(
        loaded,
        pairs,
        name=str(origin),
        predictions=predictions,
        bleu_tokenizer=bleu_tokenizer,
        things=read_things(origin.file, encoding=origin.encoding),
    )
    known = keep_agreement(loaded, predictions) if agreement else None
    if as_json:
        more = {} if known is None else {"attention_agreement": known.to_dict()}
        typer.echo(json.dumps({"run": str(run), "data": str(origin), **result.to_dict(), **more}))
        return
    show_result(result, known, title=f"{run} on {say_count(len(pairs), 'pair')}")


def show_result(result: "Evaluation", agreement: "AttentionAgreement | None", *, title: str) -> None:
    """Print an evaluation as tables.

    Args:
        result: the evaluation.
        agreement: whether the attention of the run agrees with leave-one-out; None if that was not measured.
        title: the title of the table of metrics.
    """
    from seq2see.render.terminal.terminal_evaluation import print_evaluation
    from seq2see.system.console import make_console

    print_evaluation(result, make_console(sys.stdout), title=title)
    if agreement is not None:
        typer.echo(str(agreement))


def refuse_several(others: "Sequence[Path] | None", *, agreement: bool) -> None:
    """Refuse to measure the attention of several runs together.

    Args:
        others: the runs of --with.
        agreement: whether --agreement is given.

    Raises:
        Seq2SeeError: both are given.
    """
    if agreement and others:
        raise Seq2SeeError("--agreement measures the attention of one run; leave out --with.")


def keep_agreement(run: "Run", predictions: "Sequence[Prediction]") -> "AttentionAgreement":
    """Measure whether the attention of a run agrees with leave-one-out, and write it into the run folder.

    Args:
        run: the run.
        predictions: its predictions, of some of which attention and leave-one-out are compared.
    """
    from seq2see.runs.agreement_file import write_agreement
    from seq2see.runs.agreement_measurement import measure_agreement

    known = measure_agreement(run, predictions)
    write_agreement(run.folder, known)
    return known


def note_meteor(run: "Run", pairs: "Pairs") -> None:
    """Print why captions get no METEOR score, if they get none.

    Args:
        run: the run, which counts as one for captions if it reads images.
        pairs: the pairs; the note is printed only if a source has several references.
    """
    from seq2see.metrics.meteor import explain_absence

    absence = explain_absence() if pairs.more and run.task.source.name == "image" else None
    if absence:
        tell(f"note: {absence}")
