"""The outputs for held-out data that a run folder keeps: what is kept, how much, and that damage is found."""

import base64
import io
import json
from dataclasses import replace
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pytest
from PIL import Image
from torch import tensor

from seq2see.core.errors import CheckpointError
from seq2see.core.token import Token
from seq2see.data.modalities.image import ImageModality
from seq2see.runs import held_out_file
from seq2see.runs.checkpoint import Checkpoint, write_checkpoint
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.folder import RunFolder
from seq2see.runs.held_out_file import (
    FILE_NAME,
    NOTHING,
    HeldOut,
    HeldOutLine,
    collect_held_out,
    read_held_out,
    write_held_out,
)
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run

LINES = HeldOut(
    "test data",
    7,
    (
        HeldOutLine(1, 'a "b"\u2028\ud800', "ü", ("ü", "u"), 0.25, True),
        HeldOutLine(4, "", "", ("x",), None, False),
        HeldOutLine(6, "c.png", "d", ("e",), 1.0, None, "data:image/png;base64,AA=="),
    ),
)


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    made = RunFolder(tmp_path / "run")
    made.path.mkdir()
    write_checkpoint(made.weights_file, Checkpoint({"w": tensor([1.0])}, {}))
    return made


def make_result(
    sources: list[str], *, source: object = None, more: list[list[str]] | None = None
) -> tuple[Run, Evaluation]:
    """An evaluation of outputs that are the sources in upper case; every third reference is another one."""
    run = Mock(Run, task=Mock(is_correct=str.__eq__, source=source or Mock()))
    tokens = (Token("x", 0, 1, 0.5), Token("</s>", 1, 1, 0.125))
    outputs = [Prediction(text.upper(), -1.0, tokens, (5, 2), text, run=run) for text in sources]
    references = [text.upper() if row % 3 else "other" for row, text in enumerate(sources)]
    return run, Evaluation("test data", references, outputs, [], more or ())


def test_what_is_written_is_read(folder: RunFolder) -> None:
    assert read_held_out(folder) == NOTHING
    write_held_out(folder, LINES)
    assert read_held_out(folder) == LINES
    first = (folder.path / FILE_NAME).read_bytes()
    write_held_out(folder, LINES)
    assert (folder.path / FILE_NAME).read_bytes() == first


def test_lines_of_other_weights_are_not_shown(folder: RunFolder) -> None:
    write_held_out(folder, LINES)
    write_checkpoint(folder.weights_file, Checkpoint({"w": tensor([2.0])}, {}))
    assert read_held_out(folder) == NOTHING


def test_each_flip_and_each_cut_is_found(folder: RunFolder) -> None:
    write_held_out(folder, LINES)
    file = folder.path / FILE_NAME
    whole = file.read_bytes()
    damaged = [whole[:place] for place in range(0, len(whole) - 1, 7)]
    damaged += [whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :] for at in range(0, len(whole) - 1, 3)]
    for content in damaged:
        file.write_bytes(content)
        with pytest.raises(CheckpointError, match="changed or damaged since it was written; delete it"):
            read_held_out(folder)


@pytest.mark.parametrize(
    "wrong",
    [
        {"number": "1"},
        {"source": 3},
        {"confidence": "high"},
        {"correct": 1},
        {"references": []},
        {"references": "ab"},
        {"image": "javascript:alert(1)"},
        {"more": 1},
    ],
)
def test_a_stranger_cannot_write_other_values(folder: RunFolder, wrong: dict[str, object]) -> None:
    write_held_out(folder, replace(LINES, lines=LINES.lines[:1]))
    file = folder.path / FILE_NAME
    head, line = map(json.loads, file.read_text(errors="surrogatepass").split("\n")[:2])
    del head["digest"]
    for changes, read in (({}, True), (wrong, False)):
        changed = json.dumps({**line, **changes})
        digest = held_out_file._digest(head, [changed])
        file.write_text(f"{json.dumps({**head, 'digest': digest})}\n{changed}\n")
        if read:
            assert read_held_out(folder).lines == LINES.lines[:1]
            continue
        with pytest.raises(CheckpointError, match="changed or damaged"):
            read_held_out(folder)


def test_a_line_has_input_output_references_confidence_and_verdict() -> None:
    run, result = make_result(["ab", "cd\ufdd1ef\ufdd1", "gh"])
    found = collect_held_out(run, result)
    assert (found.data, found.count) == ("test data", 3)
    assert [(line.number, line.source, line.output, line.references, line.correct) for line in found.lines] == [
        (1, "ab", "AB", ("other",), False),
        (2, "cd\nef\n", "CD\ufdd1EF\ufdd1", ("CD\ufdd1EF\ufdd1",), True),
        (3, "gh", "GH", ("GH",), True),
    ]
    assert found.lines[0].confidence == 0.25  # the geometric mean of 1/2 and 1/8


def test_lines_are_thinned_at_equal_distances(monkeypatch: pytest.MonkeyPatch) -> None:
    run, result = make_result([f"{row:02d}" for row in range(10)])
    monkeypatch.setattr(held_out_file, "MAX_LINES", 4)
    found = collect_held_out(run, result)
    assert ([line.number for line in found.lines], found.count) == ([1, 3, 6, 8], 10)
    monkeypatch.setattr(
        held_out_file, "MAX_CHARACTERS", 14
    )  # a line has 6 characters, or 9 if its reference is `other`
    assert [line.number for line in collect_held_out(run, result).lines] == [1]
    monkeypatch.setattr(held_out_file, "MAX_CHARACTERS", 3)
    assert collect_held_out(run, result).lines == ()


def test_images_keep_the_pixels_that_the_model_reads(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    images, modality = np.random.default_rng(1), ImageModality(size=12)
    files = []
    for row in range(4):
        (tmp_path / f"class{row % 2}").mkdir(exist_ok=True)
        files.append(str(tmp_path / f"class{row % 2}" / f"{row}.png"))
        Image.fromarray(images.integers(0, 256, (9, 17, 3), dtype=np.uint8)).save(files[-1])
    run, result = make_result([*files, files[0]], source=modality)
    found = collect_held_out(run, result)
    assert [line.source for line in found.lines[:2]] == ["class0/0.png", "class1/1.png"]  # and not where they are
    for line, file in zip(found.lines, files, strict=False):
        assert line.image is not None
        copy = tmp_path / "copy.png"
        copy.write_bytes(base64.b64decode(line.image.partition(",")[2]))
        np.testing.assert_array_equal(modality.read(str(copy)), modality.read(file))
        with Image.open(io.BytesIO(copy.read_bytes())) as kept:
            assert kept.size == (12, 12)
    size = max(len(line.image or "") for line in found.lines)
    monkeypatch.setattr(held_out_file, "MAX_IMAGE_CHARACTERS", int(2.2 * size))
    kept_lines = collect_held_out(run, result).lines
    assert [line.image is not None for line in kept_lines] == [True, False, True, False, True]


def test_of_several_captions_none_is_right_or_wrong(tmp_path: Path) -> None:
    file = str(tmp_path / "gone.png")
    run, result = make_result([file], source=ImageModality(size=12), more=[["another"]])
    (line,) = collect_held_out(run, result).lines
    assert (line.correct, line.references, line.image) == (None, ("other", "another"), None)
