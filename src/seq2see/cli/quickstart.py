"""`seq2see quickstart`: data made on the spot, from nothing to a report."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

SIZES = {"train": 60_000, "valid": 2_000, "test": 2_000}
SCENES = {"train": 6_000, "valid": 500, "test": 500}
QUICKSTART = {
    "preset": "bahdanau2015",
    "tokens": {"source": {"kind": "characters", "min_count": 5}},
    "model": {
        "encoder": {"embedding_size": 64, "dropout": 0.0},
        "decoder": {"embedding_size": 32, "dropout": 0.0},
    },
    "train": {"updates": 800, "watch": "exact_match"},
}


def make_dates(folder: Path) -> dict[str, Path]:
    """Dates as people write them, each with its ISO form."""
    from seq2see.core.files import write_atomic
    from seq2see.data import dates

    splits = dates.make_dates(train=SIZES["train"], valid=SIZES["valid"], test=SIZES["test"], seed=1)
    files = {name: folder / f"{name}.tsv" for name in SIZES}
    for name, file in files.items():
        write_atomic(file, "".join(f"{written}\t{iso}\n" for written, iso in getattr(splits, name)))
    return files


def make_shapes(folder: Path) -> dict[str, Path]:
    """Pictures of two shapes, with captions such as "a red circle left of a blue square"."""
    from seq2see.data.shapes import write_shapes

    return write_shapes(folder, train=SCENES["train"], valid=SCENES["valid"], test=SCENES["test"], seed=1)


# what is made, and the configuration to train on it; without one the data is made and that is all
TASKS: dict[str, tuple[Callable[[Path], dict[str, Path]], dict[str, Any] | None]] = {
    "dates": (make_dates, QUICKSTART),
    "shapes": (make_shapes, None),
}


def quickstart(
    task: Annotated[str, typer.Option(help=f"What to learn: {', '.join(TASKS)}.")] = "dates",
    out: Annotated[Path, typer.Option(help="The run folder; the data is made beside it.")] = Path("runs/quickstart"),
) -> None:
    """Make date pairs, train a Bahdanau model on them, score it and show what it looks at; or other data.

    \b
    Examples:
      seq2see quickstart --out runs/quickstart
      seq2see quickstart --task shapes --out runs/shapes-model
    """
    from seq2see.core.errors import ConfigError

    if task not in TASKS:
        raise ConfigError(f"the task must be one of {', '.join(TASKS)}; got {task!r}.")
    make, config = TASKS[task]
    folder = out.absolute().parent / task
    typer.echo(f"making {task} in {folder} ...", err=True)
    data = {name: str(file) for name, file in make(folder).items()}
    if config is None:
        typer.echo(f"look at it: seq2see doctor {folder}", err=True)
        return
    from seq2see.cli.training import run_training
    from seq2see.config.load import load_config

    run_training(load_config(base={"data": data, **config}), out, near=out, examples=3)
