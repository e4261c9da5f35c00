"""`seq2see quickstart`: a whole training on synthetic data, with a report."""

import re
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2see.cli.messages import tell
from seq2see.core.errors import ConfigError

if TYPE_CHECKING:
    from seq2see.data.synthetic.dates import Pair


class Demonstration(StrEnum):
    """The tasks with synthetic data."""

    dates = "dates"
    shapes = "shapes"
    copy = "copy"
    repeat_copy = "repeat-copy"
    recall = "recall"


MADE = {
    Demonstration.dates: "dates as people write them, in many languages",
    Demonstration.shapes: "images of shapes beside each other, with captions",
}
SIZES = {"train": 60_000, "valid": 2_000, "test": 2_000}
SCENES = {"train": 6_000, "valid": 500, "test": 500}
EXERCISE_SIZES = {"train": 50_000, "valid": 500, "test": 500, "longer": 200}
DATES = {
    "preset": "bahdanau2015",
    "tokens": {"source": {"kind": "characters", "min_count": 5}},
    "model": {
        "encoder": {"embedding_size": 64, "dropout": 0.0},
        "decoder": {"embedding_size": 32, "dropout": 0.0},
    },
    "train": {"updates": 800, "monitor": "exact_match"},
}
SHAPES: dict[str, Any] = {
    "preset": "show-attend-tell2015",
    "tokens": {"source": {"size": 64, "mirror": False}, "target": {"min_count": 1}},
    "model": {
        "encoder": {"backbone": "cells", "layer": 1, "size": 128, "position": "learned"},
        "decoder": {
            "embedding_size": 128,
            "size": 128,
            "reader": {"attends": "after", "score": {"temperature": 1.0}},
            "initial_state": "zeros",  # the mean of all cells would tell the colours without any attention
            "output_dropout": 0.0,
        },
    },
    "train": {
        "updates": 1500,
        "batch_tokens": 640,
        "optimizer": "adam",
        "learning_rate": 0.002,
        "beta2": 0.999,
        "schedule": {"floor": 0.2},
        "validate_every": 150,
    },
    "search": {"kind": "beam", "width": 5, "length_penalty": 0.5},
}
EXERCISE = {"preset": "ntm2014"}
# An item is seldom recalled by chance, so learning begins late, and needs larger batches and smaller steps.
PATIENT = {"batch_tokens": 4096, "learning_rate": 0.003, "updates": 3000}
RECALL = {**EXERCISE, "train": PATIENT}


def quickstart(
    task: Annotated[Demonstration, typer.Option(help="What to learn.")] = Demonstration.dates,
    lengths: Annotated[
        str | None,
        typer.Option(help="Lengths of the sequences of an exercise, in symbols (recall: items), such as 1..20."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="The run folder; runs/quickstart if none is given.")] = None,
    settings: Annotated[
        list[str] | None, typer.Argument(metavar="[KEY=VALUE]...", help="Settings, such as train.updates=500.")
    ] = None,
) -> None:
    """Make date pairs, train a Bahdanau model on them, evaluate it and show its attention.

    \b
    With --task shapes: images with captions, and Show, Attend and Tell.
    With --task copy, repeat-copy or recall: an exercise for a memory, and a Neural Turing Machine, which is also
    evaluated on sequences of twice the length.

    \b
    Examples:
      seq2see quickstart --out runs/quickstart
      seq2see quickstart --task shapes
      seq2see quickstart --task copy --lengths 1..20
    """
    span = read_span(lengths)
    if task in MADE and span is not None:
        raise ConfigError(f"{task} have no lengths to choose; leave out --lengths, or choose another --task.")
    folder = out or Path("runs") / ("quickstart" if task is Demonstration.dates else f"quickstart-{task}")
    place = folder.absolute().parent / place_data(task)
    if place == folder.absolute():
        raise ConfigError(f"{place} is the folder of the data; choose another folder for the run with --out.")
    from seq2see.config.load import load_config

    base: dict[str, Any] = {Demonstration.dates: DATES, Demonstration.shapes: SHAPES, Demonstration.recall: RECALL}.get(
        task, EXERCISE
    )
    load_config(
        base={**base, "data": {"train": str(place)}}, settings=settings or []
    )  # finds mistakes before data is made
    tell(f"making {MADE.get(task, 'sequences')} in {place} ...")
    files = make_files(task, span, place)
    from seq2see.cli.training_report import run_training
    from seq2see.runs.folder import RunFolder
    from seq2see.training.request import TrainingRequest

    data = {name: str(file) for name, file in files.items() if name != "longer"}
    loaded = load_config(base={**base, "data": data}, settings=settings or [])
    run_training(TrainingRequest(loaded, RunFolder(folder), folder), examples=3)
    if "longer" in files:
        show_longer(folder, files)


def read_span(lengths: str | None) -> tuple[int, int] | None:
    """Return the two numbers of a range such as `1..20`.

    Args:
        lengths: the range, its end included; None returns None.

    Raises:
        ConfigError: it is not written so.
    """
    found = re.fullmatch(r"(\d{1,4})\.\.(\d{1,4})", lengths or "")
    if lengths is not None and found is None:
        raise ConfigError(f"--lengths must be two numbers such as 1..20; got {lengths}.")
    return (int(found[1]), int(found[2])) if found else None


def place_data(task: Demonstration) -> Path:
    """Return the folder of the data of a task, relative to the folder that holds the run.

    Args:
        task: the task.
    """
    return Path(task) if task in MADE else Path("exercises") / task


def make_files(task: Demonstration, span: tuple[int, int] | None, folder: Path) -> dict[str, Path]:
    """Write the data of a task and return the file of each split.

    Args:
        task: the task.
        span: the smallest and largest length of an exercise; None takes its usual ones.
        folder: where to write.
    """
    if task is Demonstration.shapes:
        from seq2see.data.synthetic.shapes import write_shapes

        return write_shapes(folder, train=SCENES["train"], valid=SCENES["valid"], test=SCENES["test"], seed=1)
    return write_splits(make_splits(task, span), folder)


def make_splits(task: Demonstration, span: tuple[int, int] | None) -> "dict[str, list[Pair]]":
    """Return the pairs of every split of a task without images.

    Args:
        task: the task.
        span: the smallest and largest length of an exercise; None takes its usual ones.
    """
    if task is Demonstration.dates:
        from seq2see.data.synthetic.dates import make_dates

        dates = make_dates(train=SIZES["train"], valid=SIZES["valid"], test=SIZES["test"], seed=1)
        return {name: getattr(dates, name) for name in SIZES}
    from seq2see.data.synthetic.exercises import make_exercises

    return make_exercises(task, lengths=span, seed=1, **EXERCISE_SIZES)


def write_splits(splits: "dict[str, list[Pair]]", folder: Path) -> dict[str, Path]:
    """Write a .tsv file with a source and a target in each line for each split, and return the files.

    Args:
        splits: the pairs of each split.
        folder: where to write.
    """
    from seq2see.system.files import write_atomic

    files = {name: folder / f"{name}.tsv" for name in splits}
    for name, pairs in splits.items():
        write_atomic(files[name], "".join(f"{source}\t{target}\n" for source, target in pairs))
    return files


def show_longer(out: Path, files: dict[str, Path]) -> None:
    """Print how many symbols are wrong at the lengths of the training, and at twice the longest.

    Args:
        out: the run folder.
        files: the files of the splits, with `test` and `longer` among them.
    """
    import seq2see
    from seq2see.data.formats.read import read_pairs
    from seq2see.data.pairs import Origin
    from seq2see.runs.evaluation import measure_word_error_rate
    from seq2see.system.console import make_console

    run, console = seq2see.load(out), make_console()
    for name, what in (("test", "the lengths it learned from"), ("longer", "twice the greatest of them")):
        pairs, _ = read_pairs(Origin(files[name]))
        console.print(f"wrong symbols at {what}: {measure_word_error_rate(run, pairs).value:.2f} %")
