"""How alike positions are, by hand and for each kind of encoder."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from seq2see.core.errors import AttentionError
from seq2see.core.registry import part
from seq2see.explain.position_cosines import compare_positions
from seq2see.render.figures.position_similarity import draw_positions, save_positions


def build(encoder: dict[str, Any], **sizes: int) -> Any:
    return part("encoder", encoder)(**sizes)


def test_patches_are_compared_by_the_cosine_of_their_positions() -> None:
    model = build({"kind": "vit", "patch": 4, "size": 8, "layers": 1, "heads": 2}, image_size=8)
    places = torch.zeros(2, 2, 8)
    places[0, 0, 0], places[0, 1, 0], places[1, 0, 0], places[1, 1, 1] = 1, 3, -2, 5
    model.positions.data.copy_(places)
    alike = compare_positions(model)
    np.testing.assert_allclose(alike[0, 0], [[1, 1], [-1, 0]], atol=1e-6)
    np.testing.assert_allclose(alike[1, 1], [[0, 0], [0, 1]], atol=1e-6)
    image = np.asarray(draw_positions(alike).axes[0].images[0].get_array())
    assert image.shape == (5, 5)
    np.testing.assert_allclose(image[3:, 3:], alike[1, 1])


def test_each_patch_has_its_image_at_its_own_place() -> None:
    alike = np.random.default_rng(1).uniform(-1, 1, (2, 3, 2, 3)).astype(np.float32)
    image = np.ma.filled(draw_positions(alike).axes[0].images[0].get_array(), np.nan)
    assert image.shape == (2 * 3 - 1, 3 * 4 - 1)
    for y in range(2):
        for x in range(3):
            np.testing.assert_array_equal(image[3 * y : 3 * y + 2, 4 * x : 4 * x + 3], alike[y, x])
    assert np.isnan(image[2]).all()
    assert np.isnan(image[:, [3, 7]]).all()


@pytest.mark.parametrize(
    ("encoder", "sizes", "shape"),
    [
        ({"kind": "transformer", "size": 8, "heads": 2, "layers": 1}, {"vocabulary": 9}, (64, 64)),
        (
            {"kind": "cnn", "backbone": "small", "layer": 1, "size": 8, "position": "learned"},
            {"image_size": 16},
            (4,) * 4,
        ),
    ],
)
def test_other_encoders_show_theirs(
    encoder: dict[str, Any], sizes: dict[str, int], shape: tuple[int, ...], tmp_path: Path
) -> None:
    model = build(encoder, **sizes)
    alike = compare_positions(model)
    assert alike.shape == shape
    assert alike.max() == pytest.approx(1, abs=1e-5)
    assert save_positions(alike, tmp_path / "positions.svg").stat().st_size > 1000


def test_a_recurrent_encoder_has_none() -> None:
    with pytest.raises(AttentionError, match="no positions"):
        compare_positions(build({"kind": "rnn", "cell": "gru", "size": 8, "embedding_size": 8}, vocabulary=9))
