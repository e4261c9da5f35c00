"""Scenes of shapes: captions are true, boxes are where the things are, and the seed decides."""

from pathlib import Path

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.data.checks.image_checks import describe_pairs, find_unreadable
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Origin
from seq2see.data.synthetic.shapes import (
    COLOURS,
    IMAGE_SIDE_PIXELS,
    SHAPES,
    Scene,
    make_scene,
    read_things,
    write_shapes,
)


@pytest.fixture(scope="module")
def scenes() -> list[Scene]:
    return [make_scene(np.random.default_rng(number)) for number in range(60)]


def test_captions_say_what_is_where(scenes: list[Scene]) -> None:
    for scene in scenes:
        one, other = (thing.box for thing in scene.things)
        true = {
            "left of": one.right < other.left,
            "right of": one.left > other.right,
            "above": one.bottom < other.top,
            "below": one.top > other.bottom,
        }
        first, second = (" ".join(thing.words) for thing in scene.things)
        said = [
            place for place in true if scene.caption.replace("an orange", "a orange") == f"a {first} {place} a {second}"
        ]
        assert len(said) == 1
        assert true[said[0]]
        assert "a orange" not in scene.caption


def test_the_larger_thing_is_named_first(scenes: list[Scene]) -> None:
    for scene in scenes:
        one, other = (max(box.right - box.left, box.bottom - box.top) for box in (t.box for t in scene.things))
        assert one > other


def test_a_box_holds_its_colour_and_ends_where_it_ends(scenes: list[Scene]) -> None:
    for scene in scenes:
        for thing in scene.things:
            left, top, right, bottom = (round(edge * IMAGE_SIDE_PIXELS) for edge in vars(thing.box).values())
            assert 0 < left < right < IMAGE_SIDE_PIXELS
            assert 0 < top < bottom < IMAGE_SIDE_PIXELS
            patch = scene.pixels[top:bottom, left:right].reshape(-1, 3).astype(int)
            near = np.abs(patch - COLOURS[thing.words[0]]).max(axis=1) < 60
            assert near.mean() > 0.2


def test_everything_that_can_be_named_is(scenes: list[Scene]) -> None:
    words = " ".join(scene.caption for scene in scenes)
    assert all(word in words for word in [*COLOURS, *SHAPES, "left of", "right of", "above", "below"])


def test_files_can_be_read_back(tmp_path: Path) -> None:
    files = write_shapes(tmp_path, train=4, valid=1, test=2, seed=3)
    pairs, _ = read_pairs(Origin(files["train"]))
    things = read_things(files["train"])
    assert list(pairs.group().source) == list(things)
    assert describe_pairs(pairs).startswith("4 images with one caption each")
    assert not find_unreadable(things)
    for source, target in zip(pairs.source, pairs.target, strict=True):
        assert all(" ".join(thing.words) in target for thing in things[source])
    files["test"].write_text('{"image": "x.png", "captions": ["a dog"]}\n')
    assert read_things(files["test"]) == {}
    files["test"].write_text('{"image": "x.png", "things": [{"box": [0, 0, 1]}]}\n')
    with pytest.raises(DataError, match="line 1: each line needs an image and its things"):
        read_things(files["test"])


def test_an_image_follows_from_seed_split_and_number(tmp_path: Path) -> None:
    for folder, count, seed in (("a", 2, 1), ("b", 3, 1), ("c", 2, 2)):
        write_shapes(tmp_path / folder, train=count, valid=1, test=0, seed=seed)
    first, more, other = ((tmp_path / name / "train.jsonl").read_text().splitlines() for name in "abc")
    assert first == more[:2]
    assert first != other
    images = [(tmp_path / name / "images" / "train-00001.png").read_bytes() for name in "abc"]
    assert images[0] == images[1] != images[2]
