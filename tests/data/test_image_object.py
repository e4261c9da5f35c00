"""Images that are Python objects are read as the PNG files of them are."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image

from seq2see.core.errors import DataError, TokenError
from seq2see.data.formats.given_sources import is_single, list_sources
from seq2see.data.formats.image_file import EXIF_ORIENTATION, read_image
from seq2see.data.formats.image_object import encode_image
from seq2see.data.formats.in_memory import collect_pairs
from seq2see.data.modalities.image import ImageModality
from seq2see.data.modalities.text import TextModality

READER = ImageModality(size=8)
BYTES = np.random.default_rng(0).integers(0, 256, (9, 13, 4), dtype=np.uint8)
COLOURS = Image.fromarray(BYTES)


def see(given: object) -> Any:
    """Return what an encoder would be given."""
    return READER.read(READER.check(given))


def see_file(image: Image.Image, file: Path) -> Any:
    image.save(file)
    return READER.read(str(file))


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "I;16", "CMYK", "YCbCr", "F"])
def test_an_image_of_pillow_is_seen_as_its_file_is(tmp_path: Path, mode: str) -> None:
    if mode == "I;16":
        image = Image.fromarray(BYTES[..., 0].astype(np.uint16) * 257)
    else:
        image = (COLOURS if mode in ("LA", "RGBA") else COLOURS.convert("RGB")).convert(mode)
    file = tmp_path / ("x.tif" if mode in ("CMYK", "F", "YCbCr") else "x.png")
    np.testing.assert_array_equal(see(image), see_file(image, file))


def test_modes_without_a_file_are_seen_too() -> None:
    np.testing.assert_allclose(see(COLOURS.convert("RGBa")), see(COLOURS), atol=4)
    palette = COLOURS.convert("RGB").convert("P")
    np.testing.assert_array_equal(see(palette.convert("PA")), see(palette))


def test_transparent_parts_are_white_in_files_training_data_and_inputs(tmp_path: Path) -> None:
    clear = Image.new("RGBA", (9, 9), (200, 0, 0, 0))
    palette = Image.new("P", (9, 9))
    palette.info["transparency"] = 0
    for image in (clear, palette, np.asarray(clear), torch.from_numpy(np.asarray(clear).copy()).permute(2, 0, 1)):
        assert see(image).min() == 255
        collect_pairs([(image, "white")]).save(tmp_path / "data.jsonl", replace=True)
        (written,) = (tmp_path / "images").iterdir()
        assert np.asarray(read_image(written)).min() == 255
        written.unlink()


def test_an_image_that_was_held_otherwise_is_turned_upright(tmp_path: Path) -> None:
    image = COLOURS.convert("RGB")
    exif = Image.Exif()
    exif[EXIF_ORIENTATION] = 6
    image.save(tmp_path / "x.png", exif=exif)
    opened = Image.open(tmp_path / "x.png")
    np.testing.assert_array_equal(see(opened), READER.read(str(tmp_path / "x.png")))
    assert not np.array_equal(see(opened), see(image))


@pytest.mark.parametrize("channels", [None, 1, 3, 4])
@pytest.mark.parametrize("kind", ["uint8", "float32", "float64"])
@pytest.mark.parametrize("tensor", [False, True])
def test_arrays_and_tensors_are_seen_as_their_files_are(
    tmp_path: Path, channels: int | None, kind: str, tensor: bool
) -> None:
    values = BYTES[..., 0] if channels is None else BYTES[..., :channels]
    expected = see_file(Image.fromarray(values[..., 0] if channels == 1 else values), tmp_path / "x.png")
    given: Any = values if kind == "uint8" else (values / 255).astype(kind)
    if tensor:
        given = torch.from_numpy(np.ascontiguousarray(given if channels is None else given.transpose(2, 0, 1)))
    assert is_single(given)
    np.testing.assert_array_equal(see(given), expected)


def test_several_images_are_several() -> None:
    for many in (np.zeros((5, 9, 13, 3)), np.zeros((5, 9, 13)), torch.zeros(5, 3, 9, 13), torch.zeros(5, 9, 13)):
        assert not is_single(many)
        assert len(list_sources(many)) == 5
        assert see(list_sources(many)[0]).max() == 0
    frame = {"image": [BYTES, COLOURS], "label": ["a", "b"]}
    records = collect_pairs(frame).records
    assert [source for source, _ in records] == [BYTES, COLOURS] or records[0][0] is BYTES


def test_half_floats_and_truth_values_are_images() -> None:
    white = [torch.ones(3, 9, 9, dtype=torch.bfloat16), np.ones((9, 9), dtype=np.float16), np.ones((9, 9), dtype=bool)]
    assert [see(each).min() for each in white] == [255] * 3


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        (np.zeros((9, 9), dtype=np.int64), "got int64"),
        (np.full((9, 9), 1.5), "got floats from 1.5 to 1.5"),
        (np.full((9, 9, 3), -0.5), "got floats from -0.5 to -0.5"),
        (np.full((9, 9), np.nan), "got floats from nan to nan"),
        (np.zeros((9, 9, 2), dtype=np.uint8), r"got the shape \(9, 9, 2\)"),
        (np.zeros((0, 9), dtype=np.uint8), r"got the shape \(0, 9\)"),
        (torch.zeros(2, 9, 9), r"got the shape \(2, 9, 9\)"),
    ],
)
def test_other_arrays_are_refused_in_one_sentence(given: Any, sentence: str) -> None:
    with pytest.raises(DataError, match=rf"^an array of an image must be y x, y x 3 .*; {sentence}\.$"):
        READER.check(given)


def test_what_is_no_image_is_refused(tmp_path: Path) -> None:
    COLOURS.save(tmp_path / "x.png")
    (tmp_path / "cut.png").write_bytes((tmp_path / "x.png").read_bytes()[:200])
    with Image.open(tmp_path / "cut.png") as cut, pytest.raises(DataError, match="the image is damaged"):
        encode_image(cut)
    for given in (5, b"x", np.array(5), torch.zeros(3)):
        with pytest.raises(TokenError, match="predict takes an image, its path, or a list of them; got"):
            READER.check(given)
    with pytest.raises(TokenError):
        TextModality.__dict__["check"](None, COLOURS)
