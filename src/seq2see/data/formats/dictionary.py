"""Word dictionaries: one source word and its target word a line, with a tab between them."""

from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.formats.lines import ReadReport, read_lines


def read_dictionary(file: Path) -> dict[str, str]:
    """Read the target word of each source word; of several target words for one source word the first counts.

    Args:
        file: a UTF-8 file with a source word, a tab and a target word a line; blank lines are skipped.
    """
    entries: dict[str, str] = {}
    for number, line in enumerate(read_lines(file, ReadReport()), 1):
        if not line.strip():
            continue
        cells = [cell.strip() for cell in line.split("\t")]
        if len(cells) != 2 or not all(cells):
            raise DataError("a line must be a source word, a tab and a target word; fix it.", file=file, line=number)
        entries.setdefault(cells[0], cells[1])
    return entries
