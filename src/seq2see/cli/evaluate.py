"""`seq2see evaluate`: every metric of the task, each with its signature."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from seq2see.cli.data import SourceOption, TargetOption, name_origin, show_findings


def evaluate(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    data: Annotated[Path | None, typer.Argument(help="A .tsv, .csv or .jsonl file with references.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    beam: Annotated[int | None, typer.Option(min=1, help="Width of the beam; 1 is greedy.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
) -> None:
    """Score a run on pairs it has not seen.

    \b
    Example:
      seq2see evaluate runs/pairs test.tsv --json
    """
    import seq2see
    from seq2see.data.pairs import Origin
    from seq2see.data.readers import read_pairs
    from seq2see.review import review

    origin = name_origin(data, source, target)
    loaded = seq2see.load(run, trust=trust)
    names = loaded.config.data.fields
    fields = (names[0], names[1]) if names and origin.target_file is None else None
    pairs, findings = read_pairs(Origin(origin.file, origin.target_file, fields))
    show_findings(findings)
    result = review(loaded, pairs, name=str(origin), beam=beam)
    if as_json:
        rows = {metric.name: asdict(metric) for metric in result.metrics}
        typer.echo(json.dumps({"run": str(run), "data": str(origin), "pairs": len(pairs), "metrics": rows}))
        return
    from rich.console import Console

    from seq2see.cli.training import metric_table

    Console().print(metric_table(result.metrics, f"{run} on {len(pairs):,} pairs"))
