"""The file metrics.jsonl of a run: a JSON object for each validation, with a checksum as its last value.

A line that was changed or cut short is left out. Lines without a checksum, of earlier versions, are read too.
"""

import logging
import math
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from zlib import crc32

from seq2see.core.errors import CheckpointError
from seq2see.core.json_text import read_json, write_payload
from seq2see.core.plural import say_count
from seq2see.runs.run_file import MAX_METRICS_BYTES, read_run_file
from seq2see.system.files import write_atomic

Row = dict[str, Any]  # numbers by name, None for one that was not finite

log = logging.getLogger("seq2see")

CHECKED = re.compile(r'(?P<content>\{.*), "crc32": "(?P<checksum>[0-9a-f]{8})"\}')


def read_rows(file: Path, *, last: int | None = None) -> list[Row]:
    """Return what was measured, without damaged lines; one warning tells of them, or of rows that are missing.

    Args:
        file: metrics.jsonl; it need not exist.
        last: the update of the last row of a training that is complete; None if it may go on.
    """
    rows, damaged = _read(file)
    if damaged:
        log.warning("%s: %s left out.", file, say_count(damaged, "damaged line"))
    elif last is not None and file.exists() and all(row["update"] != last for row in rows):
        log.warning("%s: without the validation after update %s; the file is cut short.", file, f"{last:,}")
    return rows


def rewind_rows(file: Path, update: int, expected: Sequence[int]) -> None:
    """Remove what was measured after an update, because it is going to be measured again, and all damaged lines.

    Args:
        file: metrics.jsonl; it need not exist.
        update: the last update whose row stays.
        expected: the updates whose rows should be there; a warning names those that are not.
    """
    rows = [row for row in _read(file)[0] if row["update"] <= update]
    missing = sorted(set(expected) - {row["update"] for row in rows})
    if missing:
        named = ", ".join(map(str, missing[:3])) + ", ..." * (len(missing) > 3)
        lost = say_count(len(missing), "validation")
        log.warning("%s: without %s, damaged or removed (update %s).", file, lost, named)
    write_atomic(file, "".join(map(_write_line, rows)))


def append_row(file: Path, row: Mapping[str, Any]) -> None:
    """Add one row, and force it to the disk.

    Args:
        file: metrics.jsonl.
        row: the measured numbers by name; NaN and infinity become null.
    """
    try:
        with open(file, "a", encoding="utf-8") as lines:
            lines.write(_write_line(row))
            lines.flush()
            os.fsync(lines.fileno())
    except OSError as error:
        raise CheckpointError(
            f"{file} cannot be written: {error.strerror or error}; make room and run it again."
        ) from error


def _read(file: Path) -> tuple[list[Row], int]:
    """Return the sound rows, and how many lines are damaged; one that a kill cut short, at the end, does not count."""
    try:
        *lines, _ = read_run_file(file, most=MAX_METRICS_BYTES).split(b"\n")
    except FileNotFoundError:
        return [], 0
    rows = [row for line in lines if (row := _read_line(line)) is not None]
    return rows, len(lines) - len(rows)


def _read_line(line: bytes) -> Row | None:
    """Return the row of a line; None if it is damaged."""
    try:
        text = line.decode()
        checked = CHECKED.fullmatch(text)
        if checked is not None:
            text = checked["content"] + "}"
            if _sum(text) != checked["checksum"]:
                return None
        row = read_json(text, nan=True)
    except ValueError:
        return None
    row = {name: _drop(value) for name, value in row.items()} if isinstance(row, dict) else None
    # a damaged checksum is a value that is no number
    numbers = row is not None and all(value is None or type(value) in (int, float) for value in row.values())
    return row if row is not None and numbers and type(row.get("update")) is int else None


def _drop(value: object) -> object:
    """Return None for a number that is not finite, or too large for a float."""
    unusable = (isinstance(value, float) and not math.isfinite(value)) or (
        isinstance(value, int) and abs(value) > 2**53
    )
    return None if unusable else value


def _write_line(row: Mapping[str, Any]) -> str:
    text = write_payload(row)
    return f'{text[:-1]}, "crc32": "{_sum(text)}"}}\n'


def _sum(text: str) -> str:
    return f"{crc32(text.encode()):08x}"
