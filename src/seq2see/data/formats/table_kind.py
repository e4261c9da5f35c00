"""The format of a table, by the name of its file and by its content, and whether lines are a table at all."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from seq2see.data.formats.cells import count_columns
from seq2see.data.formats.headers import IMAGE_NAMES, SOURCE_NAMES, names_images

Kind = Literal["csv", "tsv", "jsonl", "json", "parquet"]
ENDINGS: dict[str, Kind] = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "json",
    ".parquet": "parquet",
}


def find_kind(name: str) -> Kind | None:
    """Return the format of tables that the ending of a file names; None if it names none.

    Args:
        name: the name of a file, which may end in `.gz` behind its ending.
    """
    return ENDINGS.get(Path(name.lower().removesuffix(".gz")).suffix)


def guess_kind(lines: Sequence[str]) -> Kind:
    """Return the format of a table whose name does not tell it.

    Args:
        lines: its lines, of which the first with text tells it.
    """
    first = next((line.strip() for line in lines if line.strip()), "")
    if first.startswith("{"):
        return "jsonl"
    return "json" if first.startswith("[") else "tsv" if "\t" in first else "csv"


def resembles_table(name: str, lines: Sequence[str]) -> bool:
    """Tell whether lines are rows of a table, by the ending of their file and by their content.

    Args:
        name: the name of the file; empty for standard input.
        lines: its lines; texts with commas are texts, unless the name ends in `.csv`.
    """
    kind, full = find_kind(name), [line for line in lines if line.strip()]
    if kind == "parquet" or not full:
        return kind == "parquet"
    first = full[0].strip()
    if kind in ("json", "jsonl"):
        return first[0] in "{["
    heads = first.strip('"').lower() in (*SOURCE_NAMES, *IMAGE_NAMES) and len(full) > 1
    if kind == "tsv":
        return "\t" in full[0] or heads
    if kind == "csv":
        quoted = all(line.startswith('"') and line.endswith('"') for line in full)
        several = [count_columns(full, delimiter) for delimiter in (",", ";", "\t", "|")]
        return heads or quoted or any(counts and counts[0] > 1 for counts in several)
    tabs = {line.count("\t") for line in full}
    objects = all(line.startswith("{") and line.rstrip().endswith("}") for line in full)
    return names_images(first.split(",")) or (len(full) > 1 and (objects or (len(tabs) == 1 and tabs != {0})))
