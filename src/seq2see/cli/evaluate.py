"""`seq2see evaluate`: every metric of the task, each with its signature."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.data import BleuOption, FieldsOption, SourceOption, TargetOption, name_origin, show_findings
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
)
from seq2see.cli.inputs import check_pairs
from seq2see.core.errors import DataError
from seq2see.core.number import say_count

if TYPE_CHECKING:
    from seq2see.config.schema import Config
    from seq2see.data.pairs import Finding, Origin, Pairs


def evaluate(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    data: Annotated[Path | None, typer.Argument(help="A .tsv, .csv or .jsonl file with references.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    beam: BeamOption = None,
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
    others: WithOption = None,
    replace_unknown: ReplaceUnknownOption = False,
    dictionary: DictionaryOption = None,
    workers: WorkersOption = 0,
    bleu_tokenizer: BleuOption = "13a",
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
) -> None:
    """Score a run on pairs it has not seen.

    \b
    Example:
      seq2see evaluate runs/pairs test.tsv --json
    """
    import seq2see
    from seq2see.data.shapes import read_things
    from seq2see.metrics.meteor import explain_absence
    from seq2see.metrics.text import make_bleu
    from seq2see.review import review
    from seq2see.workers import choose_workers, hire

    origin = name_origin(data, source, target, fields)
    loaded = seq2see.load([run, *(others or [])], trust=trust)
    pairs, findings = read_as_trained(origin, loaded.config)
    show_findings(findings)
    check_pairs(loaded, pairs)
    pairs = loaded.task.examine(pairs)
    absence = explain_absence() if pairs.more and loaded.config.reads_pictures else None
    if absence:
        typer.echo(f"note: {absence}", err=True)
    make_bleu(bleu_tokenizer)  # what cannot be scored is not worth decoding
    wishes = Wishes(
        beam=beam,
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
    how = wishes.apply(loaded)
    with hire(loaded, workers or choose_workers(loaded, len(pairs), how["search"])) as shared:
        predictions = shared.predict(list(pairs.source), **how)
    result = review(
        loaded,
        pairs,
        name=str(origin),
        predictions=predictions,
        bleu_tokenizer=bleu_tokenizer,
        things=read_things(origin.file),
    )
    if as_json:
        rows = {metric.name: asdict(metric) for metric in result.metrics}
        typer.echo(json.dumps({"run": str(run), "data": str(origin), "pairs": len(pairs), "metrics": rows}))
        return
    from rich.console import Console

    from seq2see.cli.training import metric_table

    Console(markup=False).print(metric_table(result.metrics, f"{run} on {say_count(len(pairs), 'pair')}"))


def read_as_trained(origin: "Origin", config: "Config") -> "tuple[Pairs, list[Finding]]":
    """Pairs by the columns the run was trained on if the file has them, else by its only two; no broken pictures."""
    from seq2see.data.doctor import read_usable as read_pairs

    names = config.data.fields
    if origin.fields is None and names and origin.target_file is None:
        try:
            return read_pairs(replace(origin, fields=(names[0], names[1])))
        except DataError as error:
            try:
                return read_pairs(origin)
            except DataError:
                raise error from None
    return read_pairs(origin)
