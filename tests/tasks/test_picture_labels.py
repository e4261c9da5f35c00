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
from seq2see.tasks.classification import Classification


def make(tmp_path: Path, pool: str) -> tuple[Classification, Pairs, object]:
    files = [str(tmp_path / f"{name}.png") for name in ("red", "blue")]
    for file, colour in zip(files, ((200, 0, 0), (0, 0, 200)), strict=True):
        Image.new("RGB", (16, 16), colour).save(file)
    encoder = {"kind": "patches", "patch": 4, "size": 8, "inner_size": 8, "layers": 1, "heads": 2}
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


def test_a_pool_that_does_not_attend_has_nothing_to_show(tmp_path: Path) -> None:
    task, pairs, model = make(tmp_path, "summary")
    ((output,), _) = task.predict(model, pairs.source)
    with pytest.raises(AttentionError, match="no attention to show"):
        explain_label(task, model, output)
