"""Images are mirrored only where nothing says that left and right mean something."""

from collections.abc import Sequence
from pathlib import Path
from random import Random

import numpy as np
import pytest
from PIL import Image

from seq2see.data.checks.sides import decide_mirroring, measure_sidedness
from seq2see.data.pairs import Pairs

SENTENCES = [f"a {what} runs over the {where}" for what in ("dog", "cat", "child") for where in ("grass", "beach")] * 40


def draw(folder: Path, count: int, *, one_way: bool = False, size: tuple[int, int] = (32, 24)) -> list[str]:
    """Images with a bright spot: in any place, or always on the left."""
    files = []
    for number in range(count):
        random = np.random.default_rng(number)
        pixels = random.integers(0, 60, (size[1], size[0], 3), dtype=np.uint8)
        place = int(random.integers(0, size[0] // 4 if one_way else size[0] * 3 // 4))
        pixels[4:18, place : place + size[0] // 4] = 220
        files.append(str(folder / f"{number}.png"))
        Image.fromarray(pixels).save(files[-1])
    return files


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    return draw(tmp_path_factory.mktemp("images"), 240)


def label(files: Sequence[str], names: Sequence[str]) -> Pairs:
    return Pairs(files, [names[number % len(names)] for number in range(len(files))], labels=True)


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ("0 1 2 3 4", "class names are digits"),
        ("٠ ١ ٢", "class names are digits"),
        ("00014 00015", "class names are numbers, such as '00014'"),
        ("4a 4b 30", "class names are numbers, such as '30'"),
        ("a b d", "class names are single characters, such as 'a'"),
        ("あ い う", "class names are single characters, such as 'あ'"),
        ("क्षि का", "class names are single characters, such as 'का'"),
        ("straight turn_left", "class names speak of sides, such as 'turn_left'"),
        ("turnRight straight", "class names speak of sides, such as 'turnRight'"),
        ("links geradeaus", "class names speak of sides, such as 'links'"),
        ("gauche tout-droit", "class names speak of sides, such as 'gauche'"),
        ("прямо налево", "class names speak of sides, such as 'налево'"),
        ("左折 直進", "class names speak of sides, such as '左折'"),
        ("left-arrow stop", "class names speak of sides, such as 'left-arrow'"),
        ("counterclockwise still", "class names speak of sides, such as 'counterclockwise'"),
        ("three five seven cat", "class names such as 'five' may be those of letters or digits"),
        ("drei fünf sieben", "class names such as 'drei' may be those of letters or digits"),
        ("alpha beta gamma", "class names such as 'alpha' may be those of letters or digits"),
        ("letter_b letter_d", "class names such as 'letter_b' may be those of letters or digits"),
        ("character_1_ka character_2_kha", "class names such as 'character_1_ka' may be those of letters or digits"),
        ("class_7 class_12", "class names such as 'class_12' may be those of letters or digits"),
        ("Sample001 Sample002", "class names such as 'Sample001' may be those of letters or digits"),
        ("ka kha ga", "class names such as 'ga' may be those of letters or digits"),
    ],
)
def test_names_that_may_have_a_side_forbid_a_mirror(files: list[str], names: str, reason: str) -> None:
    assert str(decide_mirroring(label(files, names.split()))) == f"mirror images: no, because {reason}"


NEUTRAL = ["cat dog aeroplane", "great_white_shark letter_opener", "Boeing_737 A380_Airbus", "大象 老虎", "Hund Katze"]
NEUTRAL += ["n01440764 n02084071", "West_Highland_terrier bright_star", "one-piece swimsuit dress"]


@pytest.mark.parametrize("names", NEUTRAL)
def test_photographs_with_neutral_names_may_be_mirrored(files: list[str], names: str) -> None:
    told = str(decide_mirroring(label(files, names.split())))
    assert told == "mirror images: yes, because neither names nor images of the classes have a left and a right"


@pytest.mark.parametrize(
    ("captions", "reason"),
    [
        (["a red square left of a circle", *SENTENCES], None),
        (["a red square left of a circle"] * 3 + SENTENCES[3:], "speak of sides, such as 'a red square left of"),
        (["ein Hund rechts von einem Kind"] * 9 + SENTENCES[9:], "speak of sides, such as 'ein Hund rechts"),
        (["一只狗在左边跑"] * 240, "speak of sides, such as '一只狗在左边跑'"),
        (["คนเดินทางซ้าย"] * 240, "speak of sides"),
        ([f"AB {n} CD" for n in range(240)], "captions such as 'AB 0 CD' may be what is written in the images"),
        ([f"{n * 7919}" for n in range(240)], "captions such as '0' may be what is written in the images"),
        ([f"word{'x' * (n % 9)}" for n in range(240)], "may be what is written in the images"),
        (["一只狗在草地上跑"] * 240, None),
    ],
)
def test_captions_that_speak_of_sides_or_spell_forbid_a_mirror(
    files: list[str], captions: list[str], reason: str | None
) -> None:
    told = decide_mirroring(Pairs(files, captions[:240], labels=False))
    assert told.allowed is (reason is None)
    assert (reason or "hardly a caption speaks of left or right") in str(told)


def test_images_as_wide_as_lines_of_writing_are_not_mirrored(tmp_path: Path) -> None:
    told = decide_mirroring(Pairs(draw(tmp_path, 24, size=(120, 24)), SENTENCES[:24], labels=False))
    assert str(told) == "mirror images: no, because the images are as wide as lines of writing"


def test_a_class_that_faces_one_way_forbids_a_mirror(tmp_path: Path, files: list[str]) -> None:
    facing = draw(tmp_path, 24, one_way=True)
    pairs = Pairs([*files[:24], *facing], ["cat"] * 24 + ["shoe"] * 24, labels=True)
    assert str(decide_mirroring(pairs)) == "mirror images: no, because the images of class 'shoe' face one way"


def test_sidedness_is_0_of_images_with_their_mirror_images_and_1_of_one_odd_image(tmp_path: Path) -> None:
    ramp = np.tile(np.arange(0, 256, 8, dtype=np.uint8), (32, 1))
    for name, pixels in (("left", ramp), ("right", ramp[:, ::-1])):
        Image.fromarray(np.ascontiguousarray(pixels)).save(tmp_path / f"{name}.png")
    left, right = str(tmp_path / "left.png"), str(tmp_path / "right.png")
    assert measure_sidedness([left] * 4) == pytest.approx(1, abs=1e-3)
    # of 12 ordered pairs of two and two, 4 are alike and 8 are opposites
    assert measure_sidedness([left, right] * 2) == pytest.approx((4 - 8) / 12, abs=1e-3)
    assert measure_sidedness([left]) == measure_sidedness([]) == measure_sidedness([str(tmp_path / "none.png")]) == 0


def test_the_order_of_pairs_changes_nothing(files: list[str]) -> None:
    pairs = label(files, ["cat", "dog"])
    rows = list(range(len(pairs)))
    Random(3).shuffle(rows)
    assert decide_mirroring(pairs).allowed == decide_mirroring(pairs.take(rows)).allowed
