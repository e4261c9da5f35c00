"""How alike positions are, by hand and for each kind of encoder."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seq2see.core.errors import AttentionError
from seq2see.core.registry import part
from seq2see.inspect.positions import compare_positions, draw_positions, save_positions


def hold(encoder: dict[str, Any], **sizes: int) -> Any:
    return SimpleNamespace(encoder=part("encoder", encoder)(**sizes))


def test_patches_are_compared_by_the_cosine_of_their_positions() -> None:
    model = hold({"kind": "patches", "patch": 4, "size": 8, "layers": 1, "heads": 2}, picture_size=8)
    places = torch.zeros(2, 2, 8)
    places[0, 0, 0], places[0, 1, 0], places[1, 0, 0], places[1, 1, 1] = 1, 3, -2, 5
    model.encoder.positions.data.copy_(places)
    alike = compare_positions(model)
    np.testing.assert_allclose(alike[0, 0], [[1, 1], [-1, 0]], atol=1e-6)
    np.testing.assert_allclose(alike[1, 1], [[0, 0], [0, 1]], atol=1e-6)
    image = np.asarray(draw_positions(alike).axes[0].images[0].get_array())
    assert image.shape == (5, 5)
    np.testing.assert_allclose(image[3:, 3:], alike[1, 1])


@pytest.mark.parametrize(
    ("encoder", "sizes", "shape"),
    [
        ({"kind": "transformer", "size": 8, "heads": 2, "layers": 1}, {"vocabulary": 9}, (64, 64)),
        (
            {"kind": "cnn", "backbone": "small", "layer": 1, "size": 8, "position": "learned"},
            {"picture_size": 16},
            (4,) * 4,
        ),
    ],
)
def test_other_encoders_show_theirs(
    encoder: dict[str, Any], sizes: dict[str, int], shape: tuple[int, ...], tmp_path: Path
) -> None:
    model = hold(encoder, **sizes)
    alike = compare_positions(model)
    assert alike.shape == shape
    assert alike.max() == pytest.approx(1, abs=1e-5)
    assert save_positions(model, tmp_path / "positions.svg").stat().st_size > 1000


def test_a_recurrent_encoder_has_none() -> None:
    with pytest.raises(AttentionError, match="no positions"):
        compare_positions(hold({"kind": "rnn", "cell": "gru", "size": 8, "embedding_size": 8}, vocabulary=9))
