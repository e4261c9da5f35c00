"""`seq2see align`: word alignments from attention, and their alignment error rate (AER)."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.data_options import (
    EncodingOption,
    FieldsOption,
    SourceOption,
    TargetOption,
    keep_inputs,
    name_origin,
    show_findings,
)
from seq2see.cli.inputs import warn_of_length
from seq2see.cli.messages import tell
from seq2see.cli.progress_bar import counting
from seq2see.cli.run_options import DeviceOption, SandboxOption
from seq2see.core.plural import say_count

if TYPE_CHECKING:
    from rich.table import Table

    from seq2see.explain.head_alignment import HeadSelection
    from seq2see.metrics.alignment import Agreement
    from seq2see.runs.word_alignment import Outcome

GoldOption = Annotated[
    Path | None,
    typer.Option("--gold", help="Gold alignments, one line for each pair: 0-1 is sure, 0?1 or 0p1 possible."),
]


def align(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    data: Annotated[Path | None, typer.Argument(help="The pairs: a .tsv, .csv or .jsonl file.")] = None,
    source: SourceOption = None,
    target: TargetOption = None,
    fields: FieldsOption = None,
    encoding: EncodingOption = None,
    out: Annotated[Path | None, typer.Option("-o", "--out", help="Write links here, not to standard output.")] = None,
    gold: GoldOption = None,
    map_name: Annotated[str | None, typer.Option("--map", help="The attention map to take links from.")] = None,
    head: Annotated[int | None, typer.Option(min=1, help="The head of the map, from 1; else the mean of all.")] = None,
    threshold: Annotated[float, typer.Option(min=0, max=1, help="Leave out links with less attention.")] = 0.0,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
    sandbox: SandboxOption = False,
    device: DeviceOption = "auto",
) -> None:
    """Link the words of given pairs by the attention of a run that is forced to write the given targets.

    \b
    Links are written 0-0 1-2 (source word, target word, from 0). With --gold, every map and head is scored.
    Examples:
      seq2see align runs/pairs test.tsv -o test.pharaoh
      seq2see align runs/pairs --source test.en --target test.de --gold test.links
    """
    import seq2see
    from seq2see.runs.data_files import read_as_trained
    from seq2see.runs.word_alignment import align_pairs, read_gold, write_alignment
    from seq2see.system.console import make_console, print_table
    from seq2see.system.files import write_atomic

    origin = name_origin(data, source, target, fields, encoding=encoding)
    keep_inputs([out], [data, source, target, gold])
    loaded = seq2see.load(run, trust=trust, sandbox=sandbox, device=device)
    pairs, findings = read_as_trained(origin, loaded.config)
    show_findings(findings)
    warn_of_length(loaded, pairs.source)
    truth = read_gold(gold, pairs, origin) if gold is not None else None
    with counting("aligning", len(pairs)) as seen:
        found = align_pairs(loaded, pairs, truth, name=map_name, head=head, threshold=threshold, progress=seen)
    lines = write_alignment(found.links, pairs, origin)
    tell(describe_outcome(found, len(pairs)))
    if found.ranked is not None:
        print_table(make_console(sys.stdout), table_choices(found.ranked, found.chosen))
    if out is not None:
        write_atomic(out, "".join(f"{line}\n" for line in lines))
        tell(f"wrote {out}")
    elif found.ranked is None:
        typer.echo("\n".join(lines))


def describe_outcome(found: "Outcome", count: int) -> str:
    """Return a sentence that says which attention the links come from, and how words were counted.

    Args:
        found: the links of all pairs, and the head they come from.
        count: the number of pairs.
    """
    left, right = found.alignment.units
    counted = f"source counted in {left}, target in {right}, from 0"
    return f"{say_count(count, 'pair')} linked by {found.chosen} ({found.why}); {counted}"


def table_choices(ranked: "dict[HeadSelection, Agreement]", chosen: "HeadSelection") -> "Table":
    """Return a table with the alignment error rate of each map and head.

    Args:
        ranked: the agreement of each head with the gold alignments, in the order of the rows.
        chosen: the head whose links are written; it is marked as best if several heads were tried.
    """
    from rich.table import Table

    signature = ranked[chosen].signature
    table = Table("map", "AER", "precision", "recall", "", title=signature, title_justify="left")
    for choice, agreement in ranked.items():
        numbers = (f"{value:.2f}" for value in (agreement.aer, agreement.precision, agreement.recall))
        table.add_row(str(choice), *numbers, "best" if len(ranked) > 1 and choice == chosen else "")
    return table
