"""`seq2see quickstart`: dates as people write them to ISO dates, from nothing to a report."""

from pathlib import Path
from typing import Annotated

import typer

SIZES = {"train": 60_000, "valid": 2_000, "test": 2_000}
QUICKSTART = {
    "preset": "bahdanau2015",
    "tokens": {"source": {"kind": "characters", "min_count": 5}},
    "model": {
        "encoder": {"embedding_size": 64, "dropout": 0.0},
        "decoder": {"embedding_size": 32, "dropout": 0.0},
    },
    "train": {"updates": 800, "watch": "exact_match"},
}


def quickstart(
    out: Annotated[Path, typer.Option(help="The run folder.")] = Path("runs/quickstart"),
) -> None:
    """Make date pairs, train a Bahdanau model on them, score it and show what it looks at.

    \b
    Example:
      seq2see quickstart --out runs/quickstart
    """
    from seq2see.cli.training import console, run_training
    from seq2see.config.load import load_config
    from seq2see.core.files import write_atomic
    from seq2see.data.dates import make_dates

    console.print("making dates as people write them, in many languages ...")
    splits = make_dates(train=SIZES["train"], valid=SIZES["valid"], test=SIZES["test"], seed=1)
    files = {name: out.absolute().parent / "dates" / f"{name}.tsv" for name in SIZES}
    for name, file in files.items():
        write_atomic(file, "".join(f"{written}\t{iso}\n" for written, iso in getattr(splits, name)))
    data = {name: str(file) for name, file in files.items()}
    run_training(load_config(base={"data": data, **QUICKSTART}), out, near=out, examples=3)
