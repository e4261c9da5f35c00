"""Run folders of every format that this version reads, as they were written: no change may break them."""

from pathlib import Path

import numpy as np
import pytest

import seq2see

STORED = sorted(Path(__file__).parent.glob("format-*"))


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: folder.name)
def test_a_stored_run_predicts_and_shows_what_it_attends_to(folder: Path) -> None:
    """A small model that learned to reverse letters, and reverses three of them."""
    prediction = seq2see.load(folder).predict("abc", beam=1)
    assert (prediction.text, prediction.finished) == ("cba", True)
    [cross] = prediction.attention.maps
    assert cross.name == "decoder.reader.attend"
    np.testing.assert_allclose(cross.weights.sum(axis=2), np.ones((1, 4)), rtol=1e-5)


def test_the_newest_format_is_stored() -> None:
    assert [folder.name for folder in STORED] == ["format-2"]
