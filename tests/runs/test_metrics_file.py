"""metrics.jsonl: what was written is read, and nothing else."""

import json
import math
from pathlib import Path

import pytest

from seq2see.core.errors import CheckpointError
from seq2see.runs.metrics_file import append_row, read_rows, rewind_rows

ROWS = [{"update": 4, "loss": 2.5, "bleu": 1e-05}, {"update": 8, "loss": 1.25, "bleu": 30}, {"update": 12, "loss": 0.5}]


@pytest.fixture
def file(tmp_path: Path) -> Path:
    for row in ROWS:
        append_row(tmp_path / "metrics.jsonl", row)
    return tmp_path / "metrics.jsonl"


def test_rows_come_back_and_every_line_is_json(file: Path) -> None:
    assert read_rows(file) == ROWS
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert [{**line, "crc32": ""} for line in lines] == [{**row, "crc32": ""} for row in ROWS]


def test_what_is_not_finite_is_null(tmp_path: Path) -> None:
    file = tmp_path / "metrics.jsonl"
    append_row(file, {"update": 4, "loss": math.nan, "valid_loss": math.inf})

    def refuse(word: str) -> None:
        pytest.fail(f"{word} is no JSON")

    json.loads(file.read_text(), parse_constant=refuse)
    assert read_rows(file) == [{"update": 4, "loss": None, "valid_loss": None}]


def test_no_flip_of_a_bit_is_read_as_a_number(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = file.read_bytes()
    for place in range(len(content)):
        for bit in range(8):
            caplog.clear()
            file.write_bytes(bytes([*content[:place], content[place] ^ 1 << bit, *content[place + 1 :]]))
            rows = read_rows(file)
            assert len(rows) < 3
            assert all(row in ROWS for row in rows)
            assert len(caplog.records) <= 1


def test_damage_is_told_and_what_a_kill_cut_is_not(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    content = file.read_bytes()
    file.write_bytes(content[:-7])
    assert read_rows(file) == ROWS[:2]
    assert not caplog.records
    file.write_bytes(content.replace(b"2.5", b"2.4").replace(b"0.5", b"\xff.5"))
    assert read_rows(file) == ROWS[1:2]
    assert [record.getMessage() for record in caplog.records] == [f"{file}: 2 damaged lines left out."]


@pytest.mark.parametrize("line", ["[]", "{}", "1", '{"update": "4"}', '{"update": true}', '{"update": 4, "a": [1]}'])
def test_what_is_no_row_is_left_out(file: Path, line: str) -> None:
    file.write_text(f"{line}\n{file.read_text()}")
    assert read_rows(file) == ROWS


def test_lines_of_earlier_versions_are_read(tmp_path: Path) -> None:
    (tmp_path / "metrics.jsonl").write_text('{"update": 4, "loss": NaN}\n{"update": 8, "loss": 2.5}\n')
    assert read_rows(tmp_path / "metrics.jsonl") == [{"update": 4, "loss": None}, {"update": 8, "loss": 2.5}]


def test_going_on_removes_what_comes_later_and_tells_what_is_lost(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    whole = file.read_text()
    rewind_rows(file, 8, [4, 8])
    assert file.read_text() == "".join(whole.splitlines(keepends=True)[:2])
    assert not caplog.records
    file.write_text(whole.splitlines(keepends=True)[0].replace("2.5", "2.4") + '{"update": 12, "lo\n')
    rewind_rows(file, 8, [4, 8])
    assert read_rows(file) == []
    assert [record.getMessage() for record in caplog.records] == [
        f"{file}: without 2 validations, damaged or removed (update 4, 8)."
    ]


def test_a_folder_in_its_place_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(CheckpointError, match=r"this must be a file; got a folder; remove it"):
        read_rows(tmp_path)


def test_a_complete_training_has_its_last_row(file: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A file that was cut between two lines has no damaged line."""
    assert read_rows(file, last=12) == ROWS
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:2]))
    assert read_rows(file) == ROWS[:2]
    assert not caplog.records
    assert read_rows(file, last=12) == ROWS[:2]
    assert "without the validation after update 12; the file is cut short" in caplog.text
