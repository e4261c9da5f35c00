"""Labels of pictures: the same task, with attention and leaving out over the picture's cells."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seq2see.config.load import load_config
from seq2see.core.errors import AttentionError
from seq2see.data.pairs import Pairs
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.choice import explain_label
from seq2see.inspect.faithfulness import leave_one_out, list_cells
from seq2see.inspect.rollout import roll_out
from seq2see.tasks.classification import Classification

PATCHES: dict[str, object] = {"kind": "patches", "patch": 4, "size": 8, "inner_size": 8, "layers": 1, "heads": 2}


def make(tmp_path: Path, pool: str, encoder: dict[str, object] = PATCHES) -> tuple[Classification, Pairs, object]:
    files = [str(tmp_path / f"{name}.png") for name in ("red", "blue")]
    for file, colour in zip(files, ((200, 0, 0), (0, 0, 200)), strict=True):
        Image.new("RGB", (16, 16), colour).save(file)
    base = {"task": "classification", "data": {"train": "x"}, "tokens": {"source": {"kind": "pictures", "size": 16}}}
    config = load_config(base={**base, "model": {"encoder": encoder, "pool": pool}}).config
    pairs = Pairs(files, ["red", "blue"])
    task = Classification.learn(config, pairs)
    return task, pairs, task.build(config)


def test_the_cells_behind_a_label(tmp_path: Path) -> None:
    task, pairs, model = make(tmp_path, "attention")
    ((output,), _) = task.predict(model, pairs.source)
    trace = explain_label(task, model, output)
    assert isinstance(trace, AttentionTrace)
    assert trace.grid == (4, 4)
    assert trace.weights.shape == (1, 16)
    assert trace.weights.sum() == pytest.approx(1, abs=1e-5)
    falls = leave_one_out(task, model, output.source, output, list_cells((4, 4)))
    np.testing.assert_allclose(falls, 0, atol=1e-5)  # a picture of one colour has nothing to lose


def test_a_class_token_shows_its_heads_and_the_rollout(tmp_path: Path) -> None:
    """One layer: half of the token stays where it is, and the other half goes to the patches it looked at."""
    task, pairs, model = make(tmp_path, "summary")
    ((output,), _) = task.predict(model, pairs.source)
    trace = explain_label(task, model, output)
    assert isinstance(trace, AttentionTrace)
    own, rolled = trace.maps
    assert (own.name, own.weights.shape, own.aligns) == ("encoder.layers.0.own.attend", (2, 1, 16), True)
    assert (rolled.name, rolled.weights.shape) == ("rollout", (1, 1, 16))
    np.testing.assert_allclose(rolled.weights[0], own.weights.mean(axis=0) / 2, rtol=1e-5)


@pytest.mark.parametrize(
    ("pool", "names"), [("attention", ["own.attend", "rollout", "attend"]), ("max", ["own.attend"])]
)
def test_patches_show_each_other(tmp_path: Path, pool: str, names: list[str]) -> None:
    task, pairs, model = make(tmp_path, pool)
    ((output,), _) = task.predict(model, pairs.source)
    trace = explain_label(task, model, output)
    assert isinstance(trace, AttentionTrace)
    assert trace.maps[0].name.endswith(names[0])
    assert len(trace.maps) == len(names)
    assert (trace.maps[0].weights.shape, trace.maps[0].queries) == ((2, 16, 16), "source")


def test_a_rollout_goes_back_through_the_layers() -> None:
    """By hand: the last layer reads only position 2, the first passes that on from position 1."""
    first, last = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]]), np.array([[0.0, 0, 1], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(roll_out([first, last], np.array([1.0, 0, 0])), [0.5, 0.25, 0.25])


def test_a_picture_that_is_only_averaged_has_nothing_to_show(tmp_path: Path) -> None:
    task, pairs, model = make(tmp_path, "mean", {"kind": "cnn", "backbone": "small", "layer": 1, "size": 8})
    ((output,), _) = task.predict(model, pairs.source)
    with pytest.raises(AttentionError, match="no attention to show"):
        explain_label(task, model, output)
