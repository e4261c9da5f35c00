"""Every preset that reads images learns what stands on the left and what on the right of a few of them."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from halves import shrink, write_halves
from PIL import Image, ImageDraw, ImageFont
from reversal import start

import seq2see
from seq2see.config.load import load_config, preset_names, read_preset
from seq2see.search.greedy import Greedy

SAME = {"frozen-cnn"}  # with a small backbone it is small-cnn


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
        cells = np.asarray(Image.open(file), dtype=float).reshape(4, 8, 4, 8).mean(axis=(1, 3))
        inked += cells.flat[trace.weights[0].argmax()] > cells.mean()
        taus.append(trace.agreement.kendall)
    assert inked >= 28  # of 40
    assert np.mean(taus) > 0.25
