"""Pairs of source and target text, where they come from, and what was found wrong with them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from seq2see.core.unicode import escape_controls

Row = tuple[int, str, str]  # line, source, target
Side = Literal["source", "target"]
LINED = {".tsv", ".txt", ".csv", ".jsonl", ".ndjson", ".token"}
SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True)
class Pairs:
    """Source and target texts side by side, with the line of the file each came from.

    Args:
        source: the text of each source, or the absolute path of its image; one with several captions is repeated for
            each.
        target: the target of each source: a text, a label, or labels with the separator between them.
        lines: the line of each pair in its file, counted from 1; for data without lines the number of the pair. Empty
            if the pairs come from no file.
        more: the further targets of each source, besides the one in `target`; empty if the pairs are not grouped.
        labels: True if the data says that targets are labels, False if it says that they are texts, None if it says
            neither.
        separator: the text between the labels of one source; None if the data lists no source with several.
    """

    source: Sequence[str]
    target: Sequence[str]
    lines: Sequence[int] = field(default_factory=tuple)
    more: Sequence[Sequence[str]] = field(default_factory=tuple)
    labels: bool | None = None
    separator: str | None = None

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: Sequence[int]) -> "Pairs":
        """Return the given rows, in the given order.

        Args:
            rows: the numbers of pairs, counted from 0.
        """
        lines = [self.lines[row] for row in rows] if self.lines else ()
        more = [self.more[row] for row in rows] if self.more else ()
        source, target = ([side[row] for row in rows] for side in (self.source, self.target))
        return Pairs(source, target, lines, more, self.labels, self.separator)

    def group(self) -> "Pairs":
        """Return each source once, in the order of first occurrence, with all its targets."""
        return self._group(self.source)

    def group_lists(self) -> "Pairs":
        """Return the source of each line of the file once, with all targets that the line lists."""
        grouped = self._group(list(zip(self.lines, self.source, strict=True))) if self.lines else self
        return self if len(grouped) == len(self) else grouped

    def _group(self, keys: Sequence[Hashable]) -> "Pairs":
        places: dict[Hashable, list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        firsts = self.take([rows[0] for rows in places.values()])
        return replace(firsts, more=[[self.target[row] for row in rows[1:]] for rows in places.values()])

    def ungroup(self) -> "Pairs":
        """Return one pair for each target of grouped pairs; their lines are not kept."""
        told = [(source, one) for source, targets in zip(self.source, self.references, strict=True) for one in targets]
        source, target = [source for source, _ in told], [target for _, target in told]
        return Pairs(source, target, labels=self.labels, separator=self.separator)

    @property
    def references(self) -> list[list[str]]:
        """All targets of each source."""
        return [[first, *more] for first, more in zip(self.target, self.more or [()] * len(self), strict=True)]


@dataclass(frozen=True)
class Origin:
    """The place of pairs: one file with both sides, two parallel files, or a folder with a sub-folder for each class.

    Args:
        file: the file of both sides or of the sources, or the folder.
        target_file: the file of the targets, line by line as the sources; None if `file` holds both sides.
        fields: the columns or JSON fields of source and target, or the numbers of columns from 1 as texts; None finds
            them by their usual names.
        encoding: the encoding of the files, such as cp1252; None takes UTF-8, or guesses another one from the bytes.
    """

    file: Path
    target_file: Path | None = None
    fields: tuple[str, str] | None = None
    encoding: str | None = None

    def holding(self, side: Side) -> Path:
        """Return the file that holds a side.

        Args:
            side: source or target.
        """
        return self.target_file if side == "target" and self.target_file is not None else self.file

    @property
    def has_lines(self) -> bool:
        """Whether pairs are lines of a file; those of a folder, of COCO's JSON or of idx files are counted only."""
        return self.target_file is not None or bool({suffix.lower() for suffix in self.file.suffixes} & LINED)

    def __str__(self) -> str:
        return str(self.file) if self.target_file is None else f"{self.file} and {self.target_file}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or odd in a data file, and what to do about it.

    Args:
        level: error if training is impossible, warning if it will suffer, note if it may be as it should be.
        message: what is wrong, without a full stop.
        remedy: what to do about it, or what is done, without a full stop.
        file: the file or folder; None if the finding belongs to none.
        line: the first line it concerns, counted from 1; None if it belongs to no line.
        count: the number of lines, images or pairs that it concerns.
        lines: all lines it concerns; or, of data without lines, the numbers of the pairs; empty if they are not kept.
    """

    level: Literal["error", "warning", "note"]
    message: str
    remedy: str
    file: Path | None = None
    line: int | None = None
    count: int = 1
    lines: Sequence[int] = ()

    def __str__(self) -> str:
        place = (
            "" if self.file is None else f"{self.file}: " if self.line is None else f"{self.file}, line {self.line}: "
        )
        times = f" ({self.count} times)" if self.count > 1 else ""
        return escape_controls(f"{place}{self.message}{times}; {self.remedy}.")
