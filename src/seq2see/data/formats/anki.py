"""Notes that Anki exports as text, and the attributions in pairs of sentences from Tatoeba.

The first lines of an export are settings such as `#separator:tab`, `#html:true` and `#columns:Front	Back`
(https://docs.ankiweb.net/importing/text-files.html).
"""

import html
import re
from collections.abc import Sequence
from pathlib import Path

from seq2see.core.registry import shorten
from seq2see.data.formats.lines import ReadReport

SETTING = re.compile(
    r"#(separator|html|columns|(?:tags|notetype|deck|guid)(?: column)?|if matches):(.*)", re.IGNORECASE
)
SEPARATORS = {"comma": ",", "semicolon": ";", "tab": "\t", "space": " ", "pipe": "|", "colon": ":"}
LINE_TAG = re.compile(r"</?(?:br|div|p|li|ul|ol|tr|td|th|table|hr|h[1-6])\b[^<>]*>", re.IGNORECASE)
TAG = re.compile(r"<!--.*?-->|</?[a-z][^<>]*>|\[sound:[^\]]*\]", re.IGNORECASE | re.DOTALL)
ATTRIBUTION = re.compile(
    r"\bCC[- ]?(?:BY|0)\b|\battribution\b|\btatoeba\b|\blicen[cs]ed?\b|©|\bcopyright\b", re.IGNORECASE
)
MIN_SHARE_OF_ATTRIBUTIONS = 0.95  # of the cells of a third column

Table = list[tuple[int, list[str]]]  # line and cells of each row


def read_settings(lines: Sequence[str]) -> dict[str, str]:
    """Return the settings of the first lines of an export by their names; none if it is another file.

    Args:
        lines: the lines of a file.
    """
    settings: dict[str, str] = {}
    for line in lines:
        match = SETTING.fullmatch(line)
        if match is None:
            break
        settings[match[1].lower()] = match[2].rstrip() if match[1].lower() == "columns" else match[2].strip()
    return settings


def find_separator(settings: dict[str, str]) -> str:
    """Return what is between the fields of an export.

    Args:
        settings: its settings; a separator has a name or is itself there, and without one it is a tab.
    """
    named = settings.get("separator") or "tab"
    return SEPARATORS.get(named.lower(), named[:1])


def take_notes(table: Table, settings: dict[str, str], file: Path, reading: ReadReport) -> Table:
    """Return the fields of notes as plain text, without the columns that are none, below the names of the columns.

    Args:
        table: the rows of an export, without its settings.
        settings: its settings, in the order of their lines.
        file: the file, for findings.
        reading: collects what is odd.
    """
    names = settings["columns"].split(find_separator(settings)) if "columns" in settings else []
    rows: Table = [(list(settings).index("columns") + 1, [name.strip() for name in names])] if names else []
    if settings.get("html", "").lower() == "true":
        plain = [(number, [strip_html(cell) for cell in row]) for number, row in table]
        marked = [number for (number, row), (_, cells) in zip(table, plain, strict=True) if row != cells]
        reading.note("fields of Anki with HTML", "tags are left out", file, marked, level="note")
        table = plain
    kinds = {name.removesuffix(" column"): value for name, value in settings.items() if name.endswith(" column")}
    others = {int(value) - 1: kind for kind, value in kinds.items() if value.isdecimal()}
    if others:
        message = f"columns of Anki's own ({', '.join(others.values())})"
        reading.note(message, "they are left out", file, [1], level="note")
    return [
        (number, [cell for place, cell in enumerate(row) if place not in others]) for number, row in (*rows, *table)
    ]


def strip_html(text: str) -> str:
    """Return the text of a field without tags and sounds; `<br>` becomes a space, `&amp;` becomes &.

    Args:
        text: a field with HTML.
    """
    if not any(sign in text for sign in "<&["):
        return text
    return " ".join(html.unescape(TAG.sub("", LINE_TAG.sub(" ", text))).split())


def drop_attributions(table: Table, file: Path, reading: ReadReport) -> Table:
    """Return the first two columns if the third one says who wrote the sentences, else the whole table.

    Args:
        table: rows without a header.
        file: the file, for the finding.
        reading: collects what is odd.
    """
    third = [(number, row[2]) for number, row in table if len(row) > 2 and row[2].strip()]
    told = [cell for _, cell in third if ATTRIBUTION.search(cell)]
    if 2 * len(third) <= len(table) or len(told) < MIN_SHARE_OF_ATTRIBUTIONS * len(third):
        return table
    if any(len(row) > 3 and any(cell.strip() for cell in row[3:]) for _, row in table):
        return table
    message = f"a third column with attributions, such as {shorten(told[0], most=60)}"
    reading.note(message, "it is left out", file, [number for number, _ in third], level="note")
    return [(number, row[:2]) for number, row in table]
