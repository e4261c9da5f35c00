"""What captioners are trained with: averaged weights, even attention, a counted output bias, mirrored pictures."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from reversal import configure, start, write_reversals
from torch import nn, optim

from seq2see.core.errors import ConfigError
from seq2see.core.trace import Trace
from seq2see.data.batch import collate
from seq2see.tasks.evenness import measure_unevenness
from seq2see.train.checkpoint import read_checkpoint
from seq2see.train.ema import averaged, keep_average
from seq2see.train.folder import RunFolder

CARES = {"ema": 0.8, "attention_penalty": 0.5, "output_bias": "counts"}


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
    config = configure(data, preset=preset, average=0, optimizer=optimizer, **CARES, **options)
    list(start(config, tmp_path / "straight").fit.run())
    job = start(config, tmp_path / "stopped")
    list(job.fit.run(lambda: job.fit.standing.update >= 5))
    list(start(config, tmp_path / "stopped").fit.run())
    left, right = newest(tmp_path / "straight"), newest(tmp_path / "stopped")
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)


def test_the_weights_of_a_run_are_the_averages(data: Path, tmp_path: Path) -> None:
    list(start(configure(data, updates=4, ema=0.9), tmp_path / "run").fit.run())
    tensors, weights = newest(tmp_path / "run"), read_checkpoint(RunFolder(tmp_path / "run").weights_file).tensors
    name = "decoder.output.weight"
    assert torch.equal(weights[name], tensors[f"optimizer.average.{name}"])
    assert not torch.equal(weights[name], tensors[f"model.{name}"])


def test_two_averages_are_refused(data: Path) -> None:
    with pytest.raises(ConfigError, match="average or ema, not both"):
        configure(data, ema=0.9, average=3)


def test_unevenness_by_hand() -> None:
    """Two sources of three and two places, two and one words; what is masked holds nonsense."""
    model = nn.Module()
    model.attend = nn.Identity()
    trace = Trace(model)
    first = torch.tensor([[0.5, 0.5, 0.0], [0.2, 0.8, 9.0]]).view(2, 1, 1, 3)
    second = torch.tensor([[0.1, 0.6, 0.3], [9.0, 9.0, 9.0]]).view(2, 1, 1, 3)
    for step in (first, second):
        trace.record(model.attend, step)
    sources = torch.tensor([[True, True, True], [True, True, False]])
    targets = torch.tensor([[True, True], [True, False]])
    expected = (0.4**2 + 0.1**2 + 0.7**2) + (0.8**2 + 0.2**2)
    assert measure_unevenness(trace, sources, targets).item() == pytest.approx(expected)


def test_the_penalty_is_part_of_the_loss_and_moves_the_attention(data: Path, tmp_path: Path) -> None:
    losses = []
    for penalty in (0.0, 2.0):
        job = start(configure(data, attention_penalty=penalty), tmp_path / str(penalty))
        model = job.fit.model
        _, _, (store, rows) = next(job.fit._batches())
        loss = job.fit.task.loss(model.eval(), collate(store, rows))
        loss.total.backward()
        losses.append((loss.total.item(), loss.nll.item(), model.decoder.reader.attend.score.vector.grad))
    assert losses[1][0] > losses[0][0]
    assert losses[1][1] == losses[0][1]
    assert not torch.allclose(losses[0][2], losses[1][2])


def test_a_penalty_without_attention_is_refused(data: Path, tmp_path: Path) -> None:
    model: Any = {"decoder": {"reader": "nothing", "start": "summary"}}
    with pytest.raises(ConfigError, match="needs a decoder that attends"):
        start(configure(data, model=model, attention_penalty=1.0), tmp_path / "run")


def test_the_output_begins_with_the_counts(data: Path, tmp_path: Path) -> None:
    job = start(configure(data, output_bias="counts"), tmp_path / "run")
    ids = np.asarray(job.fit.store.target.ids)
    bias = job.fit.model.output.bias
    assert bias.exp().sum().item() == pytest.approx(1)
    assert (bias[7] - bias[2]).exp().item() == pytest.approx(((ids == 7).sum() + 1) / ((ids == 2).sum() + 1), rel=1e-4)


def write_colours(folder: Path) -> Path:
    """Pictures of two colours, left and right, and what stands on the left."""
    rows = []
    for number in range(12):
        left, right = ("red", "blue") if number % 2 else ("green", "black")
        picture = Image.new("RGB", (20, 20), left)
        picture.paste(right, (10, 0, 20, 20))
        picture.save(folder / f"{number}.png")
        rows.append(f"{folder / f'{number}.png'}\t{left} and {right}\n")
    (folder / "colours.tsv").write_text("".join(rows))
    return folder / "colours.tsv"


@pytest.mark.slow
@pytest.mark.parametrize("encoder", [{"kind": "cnn", "backbone": "small", "layer": 1}, {"kind": "patches", "patch": 8}])
def test_a_captioner_goes_on_bit_for_bit(tmp_path: Path, encoder: dict[str, Any]) -> None:
    reader = {"kind": "gated", "score": "additive"}
    writer = {"kind": "rnn", "cell": "lstm", "reader": reader, "start": "mean", "size": 8, "embedding_size": 6}
    words = {"kind": "words", "min_count": 1}
    config = configure(
        write_colours(tmp_path),
        model={"encoder": {**encoder, "size": 8}, "decoder": {**writer, "output_dropout": 0.5}},
        tokens={"source": {"kind": "pictures", "size": 16}, "target": words},
        updates=4,
        evaluate_every=2,
        evaluate_pairs=2,
        batch_tokens=16,
    )
    list(start(config, tmp_path / "straight").fit.run())
    job = start(config, tmp_path / "stopped")
    list(job.fit.run(lambda: job.fit.standing.update >= 3))
    list(start(config, tmp_path / "stopped").fit.run())
    left, right = newest(tmp_path / "straight"), newest(tmp_path / "stopped")
    assert all(torch.equal(left[name], right[name]) for name in left)
