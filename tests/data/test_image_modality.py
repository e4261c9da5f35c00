"""Images as people have them, and all images of a split made ready."""

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from torch import Tensor

from seq2see.core.errors import ConfigError, DataError, TokenError
from seq2see.core.registry import part
from seq2see.data.batch import collate
from seq2see.data.checks import image_checks as gallery
from seq2see.data.checks.image_checks import find_unreadable
from seq2see.data.formats import image_file as module
from seq2see.data.formats.image_file import measure_image, open_image, read_image
from seq2see.data.modalities.image import ImageModality
from seq2see.data.modalities.image_sources import move
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pack

RED, BLUE, WHITE = (255, 0, 0), (0, 0, 255), (255, 255, 255)


def halves(size: tuple[int, int] = (40, 20)) -> Image.Image:
    """Red on the left, blue on the right."""
    image = Image.new("RGB", size, RED)
    image.paste(BLUE, (size[0] // 2, 0, *size))
    return image


def save(image: Image.Image, path: Path, **options: Any) -> Path:
    image.save(path, **options)
    return path


def corner(image: Image.Image, x: int = 1, y: int = 1) -> tuple[int, ...]:
    """A pixel, rounded to what compression leaves of it."""
    assert image.mode == "RGB"
    return tuple(round(value / 51) * 51 for value in image.getpixel((x, y)))


@pytest.mark.parametrize("mode", ["RGB", "CMYK", "YCbCr"])
def test_colours_of_a_jpeg(tmp_path: Path, mode: str) -> None:
    image = read_image(save(halves().convert(mode), tmp_path / "p.jpg", quality=95))
    assert corner(image) == RED
    assert corner(image, 38, 18) == BLUE


@pytest.mark.parametrize(("orientation", "top_left"), [(1, RED), (3, BLUE), (6, RED), (8, BLUE)])
def test_an_image_stands_upright(tmp_path: Path, orientation: int, top_left: tuple[int, ...]) -> None:
    exif = Image.Exif()
    exif[module.EXIF_ORIENTATION] = orientation
    image = read_image(save(halves(), tmp_path / "p.jpg", exif=exif, quality=95))
    assert image.size == ((40, 20) if orientation < 5 else (20, 40))
    assert corner(image) == top_left


def test_broken_metadata_do_no_harm(tmp_path: Path) -> None:
    assert corner(read_image(save(halves(), tmp_path / "p.jpg", exif=b"Exif\0\0MM\0*\xff\xff"))) == RED


def test_sixteen_bits_and_fractions_keep_their_greys(tmp_path: Path) -> None:
    values = np.array([[0, 257 * 100], [257 * 200, 65535]], dtype=np.uint16)
    deep = read_image(save(Image.fromarray(values), tmp_path / "p.png"))
    assert np.asarray(deep)[..., 0].tolist() == [[0, 100], [200, 255]]
    fractions = Image.fromarray((values / 65535).astype(np.float32))
    assert np.array_equal(np.asarray(read_image(save(fractions, tmp_path / "p.tiff"))), np.asarray(deep))


def test_what_is_transparent_is_white(tmp_path: Path) -> None:
    clear = Image.new("RGBA", (8, 8), (0, 0, 0, 0))
    clear.paste((*BLUE, 255), (4, 0, 8, 8))
    palette = Image.new("P", (8, 8), 0)
    palette.putpalette([*RED, *BLUE])
    palette.paste(1, (4, 0, 8, 8))
    for image, options in ((clear, {}), (clear.convert("LA"), {}), (palette, {"transparency": 0})):
        read = read_image(save(image, tmp_path / "p.png", **options))
        assert corner(read) == WHITE
        assert corner(read, 6, 6) != WHITE


def test_grey_and_animated_images(tmp_path: Path) -> None:
    assert corner(read_image(save(Image.new("L", (4, 4), 102), tmp_path / "p.png"))) == (102, 102, 102)
    frames = [Image.new("RGB", (4, 4), colour) for colour in (RED, BLUE)]
    assert corner(read_image(save(frames[0], tmp_path / "p.gif", save_all=True, append_images=frames[1:]))) == RED


def test_a_large_jpeg_is_decoded_small(tmp_path: Path) -> None:
    file = save(halves((1600, 800)), tmp_path / "p.jpg")
    assert read_image(file, least=90).size == (200, 100)
    assert read_image(file).size == (1600, 800)


def test_the_whole_image_is_squeezed_into_the_square(tmp_path: Path) -> None:
    pixels = ImageModality(size=8).read(str(save(halves((160, 20)), tmp_path / "p.png")))
    assert (pixels.shape, pixels.dtype) == ((3, 8, 8), np.uint8)
    assert pixels[:, :, 0].T.tolist() == [list(RED)] * 8
    assert pixels[:, :, -1].T.tolist() == [list(BLUE)] * 8


def test_a_bomb_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_IMAGE_PIXELS", 10**6 - 1)
    file = save(Image.new("1", (1000, 1000)), tmp_path / "bomb.png")
    with pytest.raises(DataError, match=r"bomb.png: an image must have at most"):
        read_image(file)
    monkeypatch.setattr(gallery, "MAX_IMAGE_PIXELS", module.MAX_IMAGE_PIXELS)
    assert list(find_unreadable([str(file)])) == [str(file)]  # before any time is spent on a training
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10**6 - 1)  # of which Pillow warns
    assert measure_image(str(file)) == (1000, 1000)
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 10**4)  # what Pillow itself refuses
    with pytest.raises(DataError, match="make it smaller"):
        read_image(file)


def test_broken_images_are_named(tmp_path: Path) -> None:
    whole = save(halves((64, 64)), tmp_path / "whole.jpg")
    cut = tmp_path / "cut.jpg"
    cut.write_bytes(whole.read_bytes()[:-200])
    (tmp_path / "text.jpg").write_text("no image")
    (tmp_path / "empty.png").write_bytes(b"")
    files = [str(tmp_path / name) for name in ("whole.jpg", "cut.jpg", "text.jpg", "empty.png", "missing.png")]
    told: list[tuple[int, int]] = []
    broken = ImageModality(size=8).find_broken([*files, *files], progress=lambda *done: told.append(done))
    assert list(broken) == files[1:]
    assert told[-1] == (5, 5)
    for word, (file, error) in zip(("damaged", "JPEG, PNG", "JPEG, PNG", "no such"), broken.items(), strict=True):
        assert str(error).startswith(f"{file}: ")
        assert word in str(error)


def test_the_doctor_finds_images_that_were_cut_off(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    whole = save(Image.fromarray(noise), tmp_path / "whole.jpg")
    (tmp_path / "cut.jpg").write_bytes(whole.read_bytes()[:-200])
    (tmp_path / "more.jpg").write_bytes(whole.read_bytes() + b"camera" * 40)
    broken = find_unreadable([str(tmp_path / name) for name in ("whole.jpg", "cut.jpg", "more.jpg")])
    assert list(broken) == [str(tmp_path / "cut.jpg")]
    assert "damaged" in broken[str(tmp_path / "cut.jpg")]


@pytest.mark.parametrize("kind", ["bmp", "gif", "tif", "ppm", "png", "webp"])
def test_the_doctor_finds_what_was_cut_off_in_every_format(tmp_path: Path, kind: str) -> None:
    noise = Image.fromarray(np.random.default_rng(1).integers(0, 256, (40, 40, 3), dtype=np.uint8))
    whole = Path(save(noise, tmp_path / f"whole.{kind}"))
    cut = tmp_path / f"cut.{kind}"
    cut.write_bytes(whole.read_bytes()[: int(0.6 * whole.stat().st_size)])
    assert list(find_unreadable([str(whole), str(cut)])) == [str(cut)]


def test_bytes_are_read_like_files() -> None:
    buffer = io.BytesIO()
    halves().save(buffer, "PNG")
    assert corner(open_image(buffer.getvalue(), name="upload")) == RED


def test_images_are_described_and_made_again() -> None:
    made = part("tokenizer", {"kind": "images", "size": 32, "mirror": False})()
    assert ImageModality.from_json(made.to_json()) == made
    assert made.sizes == {"image_size": 32}
    for text in ("[", json.dumps({"kind": "images", "size": 0})):
        with pytest.raises(TokenError, match="does not describe images"):
            ImageModality.from_json(text)


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    """Five images, red on the left."""
    colours = [(20 * number, 0, 255) for number in range(5)]
    made = [halves((16, 16)) for _ in colours]
    for image, colour in zip(made, colours, strict=True):
        image.paste(colour, (8, 0, 16, 16))
    return [str(save(image, tmp_path / f"{number}.png")) for number, image in enumerate(made)]


def test_pixels_are_gathered_by_row(files: list[str]) -> None:
    sources = ImageModality(size=8).prepare([files[1], files[0], files[1]])
    pixels, mask = sources.gather([2, 0, 1])
    assert (pixels.shape, pixels.dtype) == ((3, 3, 8, 8), torch.uint8)
    assert torch.equal(pixels[0], pixels[1])
    assert not torch.equal(pixels[0], pixels[2])
    assert (mask.shape, bool(mask.all()), sources.lengths.tolist()) == ((3, 1), True, [1, 1, 1])


def test_an_image_has_all_its_captions_as_references(files: list[str]) -> None:
    sources = ImageModality(size=8).prepare([files[1], files[0], files[1]])
    store = Store(sources, pack([[5, 1], [6, 1], [7, 8, 1]]), "")
    batch = collate(store, np.array([2, 1]), referring=True)
    assert batch.references == [[[5, 1], [7, 8, 1]], [[6, 1]]]
    assert collate(store, np.array([2, 1])).references == ()


def test_an_image_is_moved_and_its_edges_fill_the_gap() -> None:
    image = np.arange(9, dtype=np.uint8).reshape(1, 3, 3)
    assert move(image, 1, 0).tolist() == [[[0, 1, 2], [0, 1, 2], [3, 4, 5]]]
    assert move(image, 0, -2).tolist() == [[[2, 2, 2], [5, 5, 5], [8, 8, 8]]]
    assert move(image, 0, 0).tolist() == image.tolist()


def test_moves_are_for_training_and_follow_from_seed_epoch_and_row(files: list[str]) -> None:
    rows = list(range(40))
    sources = ImageModality(size=8, mirror=False, shift=2).prepare(files * 8)
    still, _ = sources.gather(rows)
    moved, _ = sources.vary(seed=1, epoch=2).gather(rows)
    assert (moved != still).flatten(1).any(dim=1).sum() > 8
    assert torch.equal(sources.vary(seed=1, epoch=2).gather(rows[::-1])[0].flip(0), moved)
    for other in (sources.vary(seed=1, epoch=3), sources.vary(seed=2, epoch=2)):
        assert not torch.equal(other.gather(rows)[0], moved)
    assert torch.equal(ImageModality(size=8, mirror=False).prepare(files * 8).gather(rows)[0], still)


def test_an_image_is_moved_by_as_much_as_permitted_each_way(tmp_path: Path) -> None:
    noise = np.random.default_rng(1).integers(0, 256, (8, 8, 3), dtype=np.uint8)
    sources = ImageModality(size=8, mirror=False, shift=1).prepare(
        [str(save(Image.fromarray(noise), tmp_path / "p.png"))] * 99
    )
    plain = noise.transpose(2, 0, 1)
    ways = {move(plain, down, right).tobytes() for down in (-1, 0, 1) for right in (-1, 0, 1)}
    moved, _ = sources.vary(seed=1, epoch=0).gather(range(99))
    assert {each.numpy().tobytes() for each in moved} == ways


def test_pixels_are_kept_while_there_is_room(files: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.data.modalities.image.MAX_CACHED_BYTES", 2 * 3 * 8 * 8)
    sources = ImageModality(size=8).prepare(files)
    before, _ = sources.gather([0, 1, 2])
    for file in files:
        Path(file).unlink()
    assert torch.equal(sources.gather([1, 0])[0], before[[1, 0]])
    with pytest.raises(DataError, match="no such"):
        sources.gather([2])


def test_features_cannot_be_moved(files: list[str], tmp_path: Path) -> None:
    class Frozen:
        frozen_key = "eyes"

        def see(self, pixels: Tensor) -> Tensor:
            raise NotImplementedError

    with pytest.raises(ConfigError, match=r"set tokens.source.shift=0"):
        ImageModality(size=8, shift=1).prepare(files, cache=tmp_path, encoder=Frozen())


def test_mirrors_follow_from_seed_epoch_and_row(files: list[str]) -> None:
    rows = list(range(40))
    sources = ImageModality(size=8, mirror=True).prepare(files * 8)
    plain, _ = sources.gather(rows)
    varied, _ = sources.vary(seed=1, epoch=2).gather(rows)
    turned = (varied != plain).flatten(1).any(dim=1)
    assert 8 < turned.sum() < 32
    assert torch.equal(varied[turned], plain[turned].flip(3))
    again, _ = sources.vary(seed=1, epoch=2).gather(rows[::-1])
    assert torch.equal(again.flip(0), varied)
    assert not torch.equal(sources.vary(seed=1, epoch=3).gather(rows)[0], varied)
    still = ImageModality(size=8, mirror=False).prepare(files * 8)
    assert torch.equal(still.vary(seed=1, epoch=2).gather(rows)[0], plain)


class Eye:
    """A frozen encoder that counts what it sees, and may be interrupted."""

    def __init__(self, key: str | None = "eye") -> None:
        self.frozen_key, self.seen, self.limit = key, 0, 10**6

    def see(self, pixels: Tensor) -> Tensor:
        if self.seen + len(pixels) > self.limit:
            raise KeyboardInterrupt
        self.seen += len(pixels)
        return pixels[:, :, ::4, ::4].float() / 100


def prepare(files: list[str], cache: Path, eye: Eye, **options: Any) -> Any:
    sources = ImageModality(size=8, mirror=True).prepare(files, cache=cache, encoder=eye)
    sources.fill(training=True, **options)
    return sources


def test_features_are_computed_once(files: list[str], tmp_path: Path) -> None:
    eye = Eye()
    told: list[tuple[int, int]] = []
    sources = prepare(files * 2, tmp_path / "cache", eye, progress=lambda *done: told.append(done))
    assert (eye.seen, told[0], told[-1]) == (10, (0, 10), (10, 10))
    features, mask = prepare(files, tmp_path / "cache", eye).gather([0, 3])
    assert (features.shape, features.dtype, mask.shape) == ((2, 3, 2, 2), torch.float32, (2, 1))
    plain, _ = ImageModality(size=8).prepare(files).gather(range(5))
    torch.testing.assert_close(sources.gather(range(5))[0], eye.see(plain), rtol=1e-3, atol=1e-3)
    varied = sources.vary(seed=1, epoch=2)
    assert 0 < varied.mirrored[:5].sum() < 5
    expected = torch.where(torch.from_numpy(varied.mirrored[:5]).view(5, 1, 1, 1), plain.flip(3), plain)
    torch.testing.assert_close(varied.gather(range(5))[0], eye.see(expected), rtol=1e-3, atol=1e-3)
    assert eye.seen == 20  # the ten of the beginning, and those compared with


def test_an_epoch_checks_no_file_of_the_cache(
    files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    sources = prepare(files, tmp_path, Eye())
    checked: list[Path] = []
    monkeypatch.setattr(Path, "is_file", lambda self: checked.append(self) or False)
    for epoch in range(3):
        assert sources.vary(seed=1, epoch=epoch).mirrored is not None
    assert checked == []


def test_features_of_another_size_and_of_mirrors_are_made_when_they_are_needed(
    files: list[str], tmp_path: Path
) -> None:
    eye = Eye()
    for size, seen in ((8, 5), (16, 10), (8, 10)):
        sources = ImageModality(size=size, mirror=True).prepare(files, cache=tmp_path, encoder=eye)
        sources.fill()
        assert (eye.seen, sources.gather([0])[0].shape) == (seen, (1, 3, size // 4, size // 4))
    sources.fill(training=True)
    assert eye.seen == 15


def test_features_too_large_for_half_precision_stay_finite(files: list[str], tmp_path: Path) -> None:
    class Bright(Eye):
        def see(self, pixels: Tensor) -> Tensor:
            return (super().see(pixels) - 1) * 1e6

    features, _ = prepare(files, tmp_path, Bright()).gather(range(5))
    assert (features.min(), features.max()) == (-65504, 65504)


def test_other_images_and_other_eyes_have_other_features(files: list[str], tmp_path: Path) -> None:
    prepare(files, tmp_path, Eye())
    save(Image.new("RGB", (16, 16), WHITE), Path(files[0]))
    eye, other = Eye(), Eye("another")
    prepare(files, tmp_path, eye)
    prepare(files, tmp_path, other)
    assert (eye.seen, other.seen) == (2, 10)
    pixels, _ = prepare(files, tmp_path, Eye(None)).gather([0])  # one that learns sees pixels
    assert pixels.dtype == torch.uint8


def test_an_interrupted_extraction_goes_on(files: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.data.storage.feature_cache.BATCH", 3)
    eye = Eye()
    eye.limit = 7
    with pytest.raises(KeyboardInterrupt):
        prepare(files, tmp_path, eye)
    eye.limit = 10**6
    prepare(files, tmp_path, eye)
    assert eye.seen == 10


def test_a_damaged_entry_is_made_anew(files: list[str], tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    eye = Eye()
    before, _ = prepare(files, tmp_path, eye).gather(range(5))
    entries = sorted((tmp_path / "features").rglob("*.npy"))
    assert len(entries) == 10
    for entry, damage in zip(entries, (b"", b"x" * 60), strict=False):
        entry.write_bytes(damage)
    content = bytearray(entries[2].read_bytes())
    content[-9] ^= 1
    entries[2].write_bytes(content)
    sources = prepare(files, tmp_path, eye)
    for mirrored in (False, True):
        for file in files:
            sources.reader(file, mirrored)
    assert eye.seen == 13
    assert len(caplog.records) == 1, "one line, however many entries"
    assert torch.equal(prepare(files, tmp_path, eye).gather(range(5))[0], before)


def test_a_cache_that_cannot_be_written_is_named(files: list[str], tmp_path: Path) -> None:
    (tmp_path / "features").write_text("a file where a folder must be")
    with pytest.raises(DataError, match="set SEQ2SEE_CACHE"):
        prepare(files, tmp_path, Eye())
