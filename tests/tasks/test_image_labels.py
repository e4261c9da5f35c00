"""Labels of images: the same task, with attention and leaving out over the image's cells."""

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from seq2see.config.load import load_config
from seq2see.core.errors import AttentionError
from seq2see.core.trace import tracing
from seq2see.data.modalities.image_cells import list_cells
from seq2see.data.pairs import Pairs
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.classifier_attention import explain_label
from seq2see.explain.occlusion import leave_one_out
from seq2see.explain.rollout import roll_out
from seq2see.explain.text_attention import explain_text
from seq2see.tasks.classification import Classification
from seq2see.tasks.transduction import Transduction

PATCHES: dict[str, object] = {"kind": "vit", "patch": 4, "size": 8, "inner_size": 8, "layers": 1, "heads": 2}


def make(tmp_path: Path, pool: str, encoder: dict[str, object] = PATCHES) -> tuple[Classification, Pairs, object]:
    files = [str(tmp_path / f"{name}.png") for name in ("red", "blue")]
    for file, colour in zip(files, ((200, 0, 0), (0, 0, 200)), strict=True):
        Image.new("RGB", (16, 16), colour).save(file)
    base = {"task": "classification", "data": {"train": "x"}, "tokens": {"source": {"kind": "images", "size": 16}}}
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
    drops = leave_one_out(task, model, output.source, output, list_cells((4, 4)))
    np.testing.assert_allclose(drops, 0, atol=1e-5)  # an image of one colour has nothing to lose


def test_a_class_token_shows_its_heads_and_the_rollout(tmp_path: Path) -> None:
    """One layer: half of the token stays where it is, and the other half goes to the patches it looked at."""
    task, pairs, model = make(tmp_path, "summary")
    ((output,), _) = task.predict(model, pairs.source)
    trace = explain_label(task, model, output)
    assert isinstance(trace, AttentionTrace)
    own, rolled = trace.maps
    assert (own.name, own.weights.shape, own.is_cross_attention) == (
        "encoder.layers.0.self_attention.attend",
        (2, 1, 16),
        True,
    )
    assert (rolled.name, rolled.weights.shape) == ("rollout", (1, 1, 16))
    np.testing.assert_allclose(rolled.weights[0], own.weights.mean(axis=0) / 2, rtol=1e-5)


@pytest.mark.parametrize(
    ("pool", "names"),
    [("attention", ["self_attention.attend", "rollout", "attend"]), ("max", ["self_attention.attend"])],
)
def test_patches_show_each_other(tmp_path: Path, pool: str, names: list[str]) -> None:
    task, pairs, model = make(tmp_path, pool)
    ((output,), _) = task.predict(model, pairs.source)
    trace = explain_label(task, model, output)
    assert isinstance(trace, AttentionTrace)
    assert trace.maps[0].name.endswith(names[0])
    assert len(trace.maps) == len(names)
    assert (trace.maps[0].weights.shape, trace.maps[0].queries) == ((2, 16, 16), "source")


def test_a_rollout_begins_with_the_cells_that_the_pool_weighs(tmp_path: Path) -> None:
    """One layer: half of each cell's weight stays, and half goes where it looked, but for the class token."""
    noise = np.random.default_rng(1).integers(0, 256, (8, 12, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    task, _, model = make(tmp_path, "attention")
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)  # else all weights would be nearly even
    ((output,),) = task.predict(model, [str(tmp_path / "noise.png")])
    trace = explain_label(task, model, output)
    assert isinstance(trace, AttentionTrace)
    own, rolled, pooled = trace.maps
    assert (own.weights.sum(axis=2) < 1 - 1e-3).any()  # the rest went to the class token
    expected = (pooled.weights[0, 0] @ own.weights.mean(axis=0) + pooled.weights[0, 0]) / 2
    assert np.ptp(expected) > 1e-3
    np.testing.assert_allclose(rolled.weights[0, 0], expected, rtol=1e-4)


def test_a_rollout_goes_back_through_the_layers() -> None:
    """By hand: the last layer reads only position 2, the first passes that on from position 1."""
    first, last = np.array([[1.0, 0, 0], [0, 1, 0], [0, 1, 0]]), np.array([[0.0, 0, 1], [0, 1, 0], [0, 0, 1]])
    np.testing.assert_allclose(roll_out([first, last], np.array([1.0, 0, 0])), [0.5, 0.25, 0.25])


def test_the_looks_of_cells_behind_a_caption_are_without_the_class_token(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    Image.fromarray(noise).save(tmp_path / "noise.png")
    tokens = {"source": {"kind": "images", "size": 8}, "target": "words"}
    reader = {"kind": "before", "score": "additive"}
    decoder = {
        "kind": "rnn",
        "cell": "gru",
        "size": 8,
        "embedding_size": 4,
        "reader": reader,
        "initial_state": "projected",
    }
    half = {"encoder": PATCHES, "decoder": decoder}
    config = load_config(base={"data": {"train": "x"}, "tokens": tokens, "model": half}).config
    file = str(tmp_path / "noise.png")
    task = Transduction.learn(config, Pairs([file] * 2, ["a dog"] * 2))
    model = task.build(config)
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(3.0)
    with tracing(model) as raw, torch.no_grad():
        model.encoder(*task.source.prepare([file]).gather([0]))
    trace = explain_text(task, model, file, task.target.encode("a dog").ids)
    np.testing.assert_array_equal(trace.image, noise)
    own, *_ = trace.maps
    assert (own.queries, own.keys) == ("source", "source")
    np.testing.assert_allclose(own.weights, raw.weights(own.name)[0, :, -4:, -4:].numpy(), rtol=1e-5)


def test_an_image_that_is_only_averaged_has_nothing_to_show(tmp_path: Path) -> None:
    task, pairs, model = make(tmp_path, "mean", {"kind": "cnn", "backbone": "small", "layer": 1, "size": 8})
    ((output,), _) = task.predict(model, pairs.source)
    with pytest.raises(AttentionError, match="no attention to show"):
        explain_label(task, model, output)
