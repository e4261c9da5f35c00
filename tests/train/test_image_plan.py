"""What a training decides about mirror images, and that what a user says wins."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seq2see.runs.folder import RunFolder
from seq2see.training.api import make_request
from seq2see.training.description import describe_job
from seq2see.training.job import Job
from seq2see.training.launch import prepare_training

SMALL = ["tokens.source.size=16", "model.encoder={layer: 1, size: 8}", "train.updates=2", "train.validate_every=1"]


def write_classes(folder: Path, names: tuple[str, ...]) -> Path:
    for number, name in enumerate(names * 12):
        (folder / name).mkdir(parents=True, exist_ok=True)
        pixels = np.random.default_rng(number).integers(0, 255, (12, 12, 3), dtype=np.uint8)
        Image.fromarray(pixels).save(folder / name / f"{number}.png")
    return folder


def prepare(data: Path, out: Path, *settings: str) -> Job:
    return prepare_training(make_request(data, out=out, settings=[*SMALL, *settings]))


@pytest.mark.parametrize(("names", "mirror"), [(("3", "7"), False), (("cat", "dog"), True)])
def test_the_data_decides_prints_and_writes_whether_images_are_mirrored(
    tmp_path: Path, names: tuple[str, ...], mirror: bool
) -> None:
    data = write_classes(tmp_path / "images", names)
    for settings in ((), ("preset=small-cnn",)):
        job = prepare(data, tmp_path / f"run {len(settings)}", *settings)
        (told,) = [line for line in describe_job(job) if "mirror images: " in line]
        assert told.startswith(f"decided: mirror images: {'yes' if mirror else 'no'}, because ")
        assert job.loop.store.source.mirror is mirror
        written = job.loop.folder.config_file.read_text(encoding="utf-8")
        assert told.removeprefix("decided: ") in written
        assert RunFolder(job.loop.folder.path).read_config().tokens.source["mirror"] is mirror


@pytest.mark.parametrize("mirror", ["true", "false"])
def test_what_the_user_says_wins(tmp_path: Path, mirror: str) -> None:
    for names in (("3", "7"), ("cat", "dog")):
        data = write_classes(tmp_path / names[0], names)
        job = prepare(data, tmp_path / f"run {names[0]}", f"tokens.source.mirror={mirror}")
        assert job.loop.store.source.mirror is (mirror == "true")
        assert not any("mirror images" in remark for remark in job.remarks.values())


def test_a_configuration_without_a_word_about_mirrors_leaves_it_to_the_data(tmp_path: Path) -> None:
    data = write_classes(tmp_path / "images", ("3", "7"))
    file = tmp_path / "mine.yaml"
    file.write_text(f"preset: small-cnn\ndata: {{train: {data}}}\n", encoding="utf-8")
    job = prepare(file, tmp_path / "run")
    assert job.remarks["tokens.source"] == "mirror images: no, because class names are digits"


def test_a_run_that_has_begun_goes_on_as_it_began(tmp_path: Path) -> None:
    data = write_classes(tmp_path / "images", ("3", "7"))
    prepare(data, tmp_path / "run", "tokens.source.mirror=true")
    again = prepare(data, tmp_path / "run")
    assert again.again
    assert again.loop.store.source.mirror is True
