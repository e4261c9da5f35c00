"""Every preset that reads images learns what stands on the left and what on the right of a few of them."""

import random
from itertools import permutations
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image, ImageDraw, ImageFont
from reversal import start

import seq2see
from seq2see.config.load import load_config, preset_names, read_preset
from seq2see.search.greedy import Greedy

COLOURS = ("red", "green", "blue", "black")
SMALL = {"size": 32, "embedding_size": 32, "inner_size": 48, "layers": 1, "heads": 2, "patch": 4, "dropout": 0.0}
SMALL |= {"backbone": "small", "output_dropout": 0.0}

SAME = {"frozen-cnn"}  # with a small backbone it is small-cnn


def write_halves(folder: Path) -> Path:
    """An image for every two colours, and a word for each of them."""
    rows = []
    for left, right in permutations(COLOURS, 2):
        image = Image.new("RGB", (24, 24), left)
        image.paste(right, (12, 0, 24, 24))
        image.save(folder / f"{left}-{right}.png")
        rows.append(f"{folder / f'{left}-{right}.png'}\t{left} {right}\n")
    (folder / "halves.tsv").write_text("".join(rows))
    return folder / "halves.tsv"


def shrink(spec: Any) -> dict[str, Any]:
    """The same part in a size for a test; maps of the small backbone have other numbers."""
    layer = {"layer": [0, 1] if isinstance(spec["layer"], list) else 1} if "layer" in spec else {}
    return {**{name: value for name, value in SMALL.items() if name in spec}, **layer}


@pytest.mark.slow
@pytest.mark.parametrize("preset", sorted(set(preset_names(images=True)) - SAME))
def test_every_preset_for_images_learns_a_few_of_them(tmp_path: Path, preset: str) -> None:
    written, _ = read_preset(preset)
    data = str(write_halves(tmp_path))
    halves = {half: shrink(written["model"][half]) for half in ("encoder", "decoder") if half in written["model"]}
    tokens: dict[str, Any] = {"source": {"size": 16, "mirror": False}}
    tokens |= {"target": {"min_count": 1}} if "target" in written["tokens"] else {}
    updates = 200 if "hard" in preset else 100  # one cell at a time is learned more slowly
    train: dict[str, Any] = {"updates": updates, "batch_tokens": 24, "validate_every": 100, "label_smoothing": 0.0}
    rate = 0.02 if written["train"].get("optimizer") == "muon" else 0.005
    train |= {"learning_rate": rate, "schedule": {"kind": "cosine", "warmup": 10}}
    train |= {"ema": 0.9} if "ema" in written["train"] else {}
    base = {"preset": preset, "data": {"train": data, "valid": data}, "tokens": tokens, "model": halves, "train": train}
    job = start(load_config(base=base).config, tmp_path / "run")
    list(job.loop.run())
    outputs = job.loop.task.predict(job.loop.model, job.train.source, Greedy())
    right = [rows[0].text == target for rows, target in zip(outputs, job.train.target, strict=True)]
    assert sum(right) >= 9  # of 12


def draw_digits(folder: Path, count: int) -> list[tuple[Path, str]]:
    """Digits in white on black, anywhere in the image, and of several sizes."""
    chance, rows = random.Random(5), []
    for number in range(count):
        digit, size = "0123456789"[number % 10], chance.randint(14, 20)
        image = Image.new("L", (32, 32))
        place = chance.randint(1, 31 - size), chance.randint(0, 30 - size)
        ImageDraw.Draw(image).text(place, digit, fill=255, font=ImageFont.load_default(size))
        rows.append((folder / f"{number}.png", digit))
        image.save(rows[-1][0])
    return rows


@pytest.mark.slow
def test_the_attention_to_a_digit_is_on_its_ink_and_agrees_with_occlusion(tmp_path: Path) -> None:
    """By default, as a folder of images is trained: the largest weights are where the digit is, not in a corner."""
    rows = draw_digits(tmp_path, 460)
    names = [(str(file), digit) for file, digit in rows]
    run = seq2see.train(
        names[:400],
        preset="small-cnn",
        out=tmp_path / "run",
        model={"encoder": {"size": 32}},
        train={"updates": 160, "batch_tokens": 64, "validate_every": 160, "workers": 1, "threads": 1},
    )
    inked, taus = 0, []
    for file, _ in rows[400:440]:
        trace = run.predict(str(file)).faithfulness
        cells = np.asarray(Image.open(file), dtype=float).reshape(8, 4, 8, 4).mean(axis=(1, 3))
        inked += cells.flat[trace.weights[0].argmax()] > cells.mean()
        taus.append(trace.agreement.kendall)
    assert inked >= 28  # of 40
    assert np.mean(taus) > 0.25
