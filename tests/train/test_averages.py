"""What captioners are trained with: averaged weights, a counted output bias, mirrored images."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from reversal import configure, start, write_reversals
from torch import nn, optim

from seq2see.core.errors import ConfigError
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.ema import averaged, keep_average

CARES = {"ema": 0.8, "doubly_stochastic_attention": 0.5, "output_bias": "counts"}


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def newest(out: Path) -> dict[str, torch.Tensor]:
    return dict(read_checkpoint(RunFolder(out).checkpoints()[0]).tensors)


def test_an_average_by_hand() -> None:
    layer = nn.Linear(2, 1)
    optimizer = optim.AdamW(layer.parameters(), lr=0.1)
    keep_average(optimizer, decay=0.3)
    expected = None
    for step in range(1, 5):
        layer(torch.ones(1, 2)).sum().backward()
        optimizer.step()
        now, kept = layer.weight.detach().clone(), min(0.3, (1 + step) / (10 + step))
        expected = now if expected is None else kept * expected + (1 - kept) * now
    with averaged(optimizer):
        torch.testing.assert_close(layer.weight.detach(), expected)
    assert torch.equal(layer.weight, now)


@pytest.mark.parametrize("optimizer", ["adam", "muon"])
@pytest.mark.parametrize("preset", ["bahdanau2015", "transformer-tiny"])
def test_stopping_and_going_on_changes_no_bit_with_all_cares(
    data: Path, tmp_path: Path, preset: str, optimizer: str
) -> None:
    small = {"size": 8, "inner_size": 8, "heads": 2, "layers": 1} if preset == "transformer-tiny" else None
    options = {"model": {"encoder": small, "decoder": small}} if small else {}
    config = configure(data, preset=preset, average_checkpoints=0, optimizer=optimizer, **CARES, **options)
    list(start(config, tmp_path / "straight").loop.run())
    job = start(config, tmp_path / "stopped")
    list(job.loop.run(lambda: job.loop.state.update >= 5))
    list(start(config, tmp_path / "stopped").loop.run())
    left, right = newest(tmp_path / "straight"), newest(tmp_path / "stopped")
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_the_weights_of_a_run_are_the_averages(data: Path, tmp_path: Path) -> None:
    list(start(configure(data, updates=4, ema=0.9), tmp_path / "run").loop.run())
    tensors, weights = newest(tmp_path / "run"), read_checkpoint(RunFolder(tmp_path / "run").weights_file).tensors
    name = "decoder.output.weight"
    assert torch.equal(weights[name], tensors[f"optimizer.average.{name}"])
    assert not torch.equal(weights[name], tensors[f"model.{name}"])


def test_two_averages_are_refused(data: Path) -> None:
    with pytest.raises(ConfigError, match="average_checkpoints or ema, not both"):
        configure(data, ema=0.9, average_checkpoints=3)


def test_the_output_begins_with_the_counts(data: Path, tmp_path: Path) -> None:
    job = start(configure(data, output_bias="counts"), tmp_path / "run")
    ids = np.asarray(job.loop.store.target.ids)
    bias = job.loop.model.output_layer.bias
    assert bias.exp().sum().item() == pytest.approx(1)
    assert (bias[7] - bias[2]).exp().item() == pytest.approx(((ids == 7).sum() + 1) / ((ids == 2).sum() + 1), rel=1e-4)


def write_colours(folder: Path) -> Path:
    """Images of two colours, left and right, and what stands on the left."""
    rows = []
    for number in range(12):
        left, right = ("red", "blue") if number % 2 else ("green", "black")
        image = Image.new("RGB", (20, 20), left)
        image.paste(right, (10, 0, 20, 20))
        image.save(folder / f"{number}.png")
        rows.append(f"{folder / f'{number}.png'}\t{left} and {right}\n")
    (folder / "colours.tsv").write_text("".join(rows))
    return folder / "colours.tsv"


@pytest.mark.slow
@pytest.mark.parametrize("encoder", [{"kind": "cnn", "backbone": "small", "layer": 1}, {"kind": "vit", "patch": 8}])
def test_a_captioner_goes_on_bit_for_bit(tmp_path: Path, encoder: dict[str, Any]) -> None:
    reader = {"kind": "gated", "score": "additive"}
    writer = {"kind": "rnn", "cell": "lstm", "reader": reader, "initial_state": "mean", "size": 8, "embedding_size": 6}
    words = {"kind": "words", "min_count": 1}
    config = configure(
        write_colours(tmp_path),
        model={"encoder": {**encoder, "size": 8}, "decoder": {**writer, "output_dropout": 0.5}},
        tokens={"source": {"kind": "images", "size": 16}, "target": words},
        updates=4,
        validate_every=2,
        validation_pairs=2,
        batch_tokens=16,
    )
    list(start(config, tmp_path / "straight").loop.run())
    job = start(config, tmp_path / "stopped")
    list(job.loop.run(lambda: job.loop.state.update >= 3))
    list(start(config, tmp_path / "stopped").loop.run())
    left, right = newest(tmp_path / "straight"), newest(tmp_path / "stopped")
    assert all(torch.equal(left[name], right[name]) for name in left)
