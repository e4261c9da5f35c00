"""Maps of image classifiers: does the largest weight lie on the drawn object, and does attention agree with occlusion?

    python bench/image_maps.py digits/ --presets small-cnn --held-out 300 --out runs/digits
    python bench/image_maps.py /usr/share/datasets/fashion-mnist --updates 800 --out runs/fashion

The data is a folder with one sub-folder of images for each class, or with idx files (as `seq2see train` reads them).
Trains every preset that is not trained yet (a run that was interrupted goes on), and prints a Markdown table of the
test data of the folder, or of the images that are held out:

- on ink: the share of images whose largest weight is on a cell with more ink than average. Ink is how far a pixel is
  from the median of the image's border.
- tau: the mean Kendall tau between the attention to the regions of an image and what occluding each of them does to the
  probability of the label, as `seq2see inspect` prints it beside leave-one-out.

Settings (train.label_smoothing=0) go to all trainings.
"""

import argparse
import platform
import random
import statistics
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
import yaml

import seq2see
from seq2see.data.formats.folders import split_folder
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Origin
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.runs.run import Run

PRESETS = ("small-cnn", "vit2021")
COLUMNS = ("preset", "updates", "accuracy", "on ink", "tau", "seconds")

Examples = list[tuple[str, str]]  # the place of an image and its label


def main() -> None:
    """Train, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path)
    parser.add_argument("--presets", nargs="+", default=PRESETS)
    parser.add_argument("--updates", type=int, help="updates of every training; else those of the preset and the data")
    parser.add_argument("--held-out", type=int, default=300, help="images to test on where the folder has no test data")
    parser.add_argument("--tested", type=int, help="test images that are classified at most; else all")
    parser.add_argument("--images", type=int, default=100, help="test images whose maps are compared")
    parser.add_argument("--out", type=Path, required=True, help="folder of the runs")
    parser.add_argument("settings", nargs="*", help="key=value for every training")
    arguments = parser.parse_intermixed_args()
    train, test = split(arguments.data, arguments.held_out)
    test = test[: arguments.tested]
    given = (setting.split("=", 1) for setting in arguments.settings)
    settings = {key: yaml.safe_load(value) for key, value in given}
    if arguments.updates:
        settings["train.updates"] = arguments.updates
    print(f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}")
    print(f"{len(train):,} training images, {len(test):,} test images, maps of {min(arguments.images, len(test))}\n")
    print(f"| {' | '.join(COLUMNS)} |\n|{'---|' * len(COLUMNS)}", flush=True)
    for preset in arguments.presets:
        run = seq2see.train(train, preset=preset, out=arguments.out / preset, **settings)
        print(f"| {' | '.join([f'`{preset}`', *measure(run, test, arguments.images)])} |", flush=True)


def split(data: Path, held_out: int) -> tuple[Examples, Examples]:
    """The training and test images of a folder, both in an order drawn once and for all."""
    splits = {name: read_pairs(Origin(place))[0] for name, place in split_folder(data).items()}
    sides = {name: list(zip(pairs.source, pairs.target, strict=True)) for name, pairs in splits.items()}
    for rows in sides.values():
        random.Random(1).shuffle(rows)
    if "test" in sides:
        return sides["train"], sides["test"]
    if len(sides["train"]) <= held_out:
        sys.exit(f"--held-out must be below the {len(sides['train'])} images of {data}; got {held_out}.")
    return sides["train"][held_out:], sides["train"][:held_out]


def measure(run: Run, test: Examples, images: int) -> list[str]:
    """The numbers of one run."""
    predictions = run.predict([source for source, _ in test])
    right = [prediction.text == label for prediction, (_, label) in zip(predictions, test, strict=True)]
    traces = [prediction.faithfulness for prediction in predictions[:images]]
    seen = [trace for trace in traces if isinstance(trace, AttentionTrace)]
    taus = [trace.agreement.kendall for trace in seen if trace.agreement and trace.agreement.kendall is not None]
    inked = [is_on_ink(trace) for trace in seen]
    history = run.folder.read_metrics()
    return [
        f"{run.config.train.updates:,}",
        f"{100 * statistics.mean(right):.2f}",
        f"{100 * statistics.mean(inked):.0f} %",
        f"{statistics.mean(taus):.2f}",
        f"{sum(row['seconds'] for row in history):.0f}",
    ]


def is_on_ink(trace: AttentionTrace) -> bool:
    """Whether the cell with the largest weight has more ink than the average cell."""
    assert trace.image is not None
    assert trace.grid is not None
    grey = trace.image.astype(float).mean(axis=2)
    border: Sequence[np.ndarray] = [grey[0], grey[-1], grey[:, 0], grey[:, -1]]
    ink = np.abs(grey - np.median(np.concatenate(border)))
    rows, columns = trace.grid
    cells = np.array(
        [[part.mean() for part in np.array_split(row, columns, axis=1)] for row in np.array_split(ink, rows)]
    )
    return bool(cells.flat[trace.weights[0].argmax()] > cells.mean())


if __name__ == "__main__":
    main()
