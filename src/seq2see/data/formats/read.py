"""Reading pairs of a source and a target from any supported file or folder.

Every oddity of a file becomes a finding, and no pair is ever misaligned.
"""

import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.formats.coco import read_coco
from seq2see.data.formats.encodings import check_encoding
from seq2see.data.formats.file_bytes import read_bytes
from seq2see.data.formats.folders import find_splits, read_classes
from seq2see.data.formats.idx import is_idx, read_idx_rows
from seq2see.data.formats.image_paths import find_images
from seq2see.data.formats.jsonl import read_records
from seq2see.data.formats.lines import IGNORED, ReadReport, read_lines, read_text
from seq2see.data.formats.tables import read_csv, read_tsv, read_txt
from seq2see.data.pairs import Finding, Origin, Pairs, Row

# what is said of a pair, by whether its source and its target have text
EMPTY_SIDES = {
    "the source is blank but the target is not": (False, True),
    "the target is blank but the source is not": (True, False),
    "both sides are blank": (False, False),
}
LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def read_pairs(origin: Origin) -> tuple[Pairs, list[Finding]]:
    """Read all usable pairs of an origin, and everything odd about them; an origin without any is an error.

    Args:
        origin: a file, two parallel files or a folder.
    """
    encoding = None if origin.encoding is None else check_encoding(origin.encoding)
    reading, origin = ReadReport(encoding), _find_file(origin)
    rows = list(_read_rows(origin, reading))
    full = [(bool(source.strip()), bool(target.strip())) for _, source, target in rows]
    for message, pattern in EMPTY_SIDES.items():
        empty = [row[0] for row, has in zip(rows, full, strict=True) if has == pattern]
        file = origin.holding("target" if pattern == (True, False) else "source")
        first = empty[0] if empty and origin.has_lines else None
        found = Finding("warning", message, "the pair is skipped; fill it in or remove it", file, first, len(empty))
        reading.findings += [found] if empty else []
    kept = [row for row, has in zip(rows, full, strict=True) if all(has)]
    if not kept:
        raise DataError("there is not one pair with text on both sides; give at least a few.", file=origin.file)
    if not is_idx(origin.file) and not os.path.isdir(origin.file):
        kept = find_images(kept, origin.file, reading)
    _require_unicode(kept, origin)
    lines, source, target = zip(*kept, strict=True)
    return Pairs(source, target, lines, labels=reading.labels, separator=reading.separator), reading.findings


def _require_unicode(rows: Sequence[Row], origin: Origin) -> None:
    """Refuse names of files and folders that are not UTF-8, which Python reads as lone surrogates."""
    for _, source, target in rows:
        if LONE_SURROGATE.search(source) or LONE_SURROGATE.search(target):
            name = os.fsencode(source if LONE_SURROGATE.search(source) else target)
            raise DataError(f"names of files and folders must be UTF-8; got {name!r}; rename it.", file=origin.file)


def _find_file(origin: Origin) -> Origin:
    """Return the one data file of a folder, or the folder itself if its sub-folders are classes."""
    if origin.target_file is not None or not os.path.isdir(origin.file):
        return origin
    splits = find_splits(origin.file)
    if len(splits) > 1:
        parts = ", ".join(f"{part.name} ({split})" for split, part in splits.items())
        raise DataError(f"this folder holds {parts}; name one of them.", file=origin.file)
    (part,) = splits.values()
    return origin if part == origin.file else _find_file(replace(origin, file=part))


def _read_rows(origin: Origin, reading: ReadReport) -> Iterable[Row]:
    """Choose the format by folder, name and ending, and read the rows."""
    if origin.target_file is not None:
        return _read_parallel(origin.file, origin.target_file, reading)
    if os.path.isdir(origin.file):
        return read_classes(origin.file, reading)
    if is_idx(origin.file):
        reading.labels = True
        return read_idx_rows(origin.file)
    readers: dict[str, Callable[[Origin, ReadReport], Iterable[Row]]] = {
        ".tsv": read_tsv,
        ".txt": read_txt,
        ".token": read_tsv,
        ".csv": read_csv,
        ".jsonl": read_records,
        ".ndjson": read_records,
        ".json": _read_json,
        ".parquet": read_records,
    }
    endings = [suffix.lower() for suffix in origin.file.suffixes if suffix.lower() != ".gz"]
    if not endings or endings[-1] not in readers:
        read_bytes(origin.file)  # a missing file is the better message
        raise DataError(
            f"a file with both sides must end in {', '.join(readers)} (or .gz behind it); rename or convert it, or "
            "give a source and a target file whose lines belong together.",
            file=origin.file,
        )
    return readers[endings[-1]](origin, reading)


def _read_json(origin: Origin, reading: ReadReport) -> Iterable[Row]:
    """Read an array of objects, or COCO's captions."""
    if read_text(origin.file, ReadReport(reading.encoding)).lstrip("\ufeff \t\r\n").startswith("["):
        return read_records(origin, reading)
    return read_coco(origin.file, reading)


def _read_parallel(source: Path, target: Path, reading: ReadReport) -> Iterator[Row]:
    """Pair the lines of two files; blank lines at the end of one of them do not count."""
    left, right = read_lines(source, reading), read_lines(target, reading)
    for file, mine, others in ((source, left, right), (target, right, left)):
        rest = range(len(others), len(mine))
        if not any(mine[number].strip() for number in rest):
            reading.note("a blank line behind the last one", IGNORED, file, [number + 1 for number in rest], "note")
            del mine[len(others) :]
    if len(left) != len(right):
        raise DataError(
            f"parallel files must have as many lines each; got {len(left)} in {source} and {len(right)} in {target}; "
            f"the pairing is lost at or before line {min(len(left), len(right)) + 1}: find the line that is missing."
        )
    return ((number, *pair) for number, pair in enumerate(zip(left, right, strict=True), 1))
