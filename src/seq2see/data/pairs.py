"""Pairs of source and target text, where they come from, and what was found wrong with them."""

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

Row = tuple[int, str, str]  # line, source, target
Side = Literal["source", "target"]
LINED = {".tsv", ".txt", ".csv", ".jsonl", ".ndjson", ".token"}
SIDES: tuple[Side, Side] = ("source", "target")


@dataclass(frozen=True)
class Pairs:
    """Source and target texts side by side, with the line of the file each came from.

    A source may be the absolute path of an image; one with several captions is repeated for each.
    """

    source: Sequence[str]
    target: Sequence[str]
    lines: Sequence[int] = field(default_factory=tuple)
    more: Sequence[Sequence[str]] = field(default_factory=tuple)  # further targets of each source, once grouped
    labels: bool | None = None  # whether the data says that targets are labels, or that they are texts
    separator: str | None = None  # the text between the labels of one source, where the data lists several

    def __len__(self) -> int:
        return len(self.source)

    def take(self, rows: Sequence[int]) -> "Pairs":
        """The given rows, in that order."""
        lines = [self.lines[row] for row in rows] if self.lines else ()
        more = [self.more[row] for row in rows] if self.more else ()
        source, target = ([side[row] for row in rows] for side in (self.source, self.target))
        return Pairs(source, target, lines, more, self.labels, self.separator)

    def group(self) -> "Pairs":
        """Each source once, where it comes first, with all targets it has."""
        return self._group(self.source)

    def group_lists(self) -> "Pairs":
        """Each source with all targets that its line of the file lists; a source that comes again counts again."""
        grouped = self._group(list(zip(self.lines, self.source, strict=True))) if self.lines else self
        return self if len(grouped) == len(self) else grouped

    def _group(self, keys: Sequence[Hashable]) -> "Pairs":
        places: dict[Hashable, list[int]] = {}
        for row, key in enumerate(keys):
            places.setdefault(key, []).append(row)
        firsts = self.take([rows[0] for rows in places.values()])
        return replace(firsts, more=[[self.target[row] for row in rows[1:]] for rows in places.values()])

    def ungroup(self) -> "Pairs":
        """Each target with its source, as before they were grouped."""
        told = [(source, one) for source, targets in zip(self.source, self.references, strict=True) for one in targets]
        source, target = [source for source, _ in told], [target for _, target in told]
        return Pairs(source, target, labels=self.labels, separator=self.separator)

    @property
    def references(self) -> list[list[str]]:
        """All targets of each source."""
        return [[first, *more] for first, more in zip(self.target, self.more or [()] * len(self), strict=True)]


@dataclass(frozen=True)
class Origin:
    """Where pairs come from: one file with both sides, two parallel files, or a folder with a sub-folder a class."""

    file: Path
    target_file: Path | None = None
    fields: tuple[str, str] | None = None  # the columns or JSON fields of source and target

    def holding(self, side: Side) -> Path:
        """The file that holds a side."""
        return self.target_file if side == "target" and self.target_file is not None else self.file

    @property
    def has_lines(self) -> bool:
        """Whether pairs are lines of a file; those of a folder, of COCO's JSON or of idx files are counted only."""
        return self.target_file is not None or bool({suffix.lower() for suffix in self.file.suffixes} & LINED)

    def __str__(self) -> str:
        return str(self.file) if self.target_file is None else f"{self.file} and {self.target_file}"


@dataclass(frozen=True)
class Finding:
    """One thing that is wrong or odd in a data file, and what to do about it."""

    level: Literal["error", "warning", "note"]
    message: str
    remedy: str
    file: Path | None = None
    line: int | None = None  # the first place, if there are several
    count: int = 1

    def __str__(self) -> str:
        place = (
            "" if self.file is None else f"{self.file}: " if self.line is None else f"{self.file}, line {self.line}: "
        )
        times = f" ({self.count} times)" if self.count > 1 else ""
        return f"{place}{self.message}{times}; {self.remedy}."
