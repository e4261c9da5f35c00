"""Shards of one large prediction: which rows each has, where its output lies, and whether all belong together."""

import hashlib
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.core.json_text import read_json
from seq2see.system.files import DRAFT, write_atomic

CHUNK_ROWS = 2_000  # that are read, sorted by length and decoded together; a shard has whole chunks
STAMP = re.compile(r"\d{5}-of-(\d{5}).*\.json")
OF_WHOM = {"run": "another run", "input": "another input", "options": "other options"}


@dataclass(frozen=True)
class Shard:
    """One of several parts of an input, of neighbouring rows.

    Args:
        number: which part, counted from 1.
        count: how many parts there are.
    """

    number: int
    count: int

    @classmethod
    def parse(cls, text: str) -> "Shard":
        """Read a shard as the command line names it.

        Args:
            text: such as `3/16`.

        Raises:
            DataError: there is no such shard.
        """
        found = re.fullmatch(r"([1-9][0-9]{0,4})/([1-9][0-9]{0,4})", text)
        if found is None or int(found[1]) > int(found[2]):
            raise DataError(f"a shard is its number, from 1, and how many there are, such as 3/16; got {text!r}.")
        return cls(int(found[1]), int(found[2]))

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"

    def find_rows(self, total: int) -> range:
        """Return the rows of the shard, counted from 0.

        Shards have equally many chunks, give or take one, and begin where a chunk begins. So the same rows are decoded
        together as in one process without shards, and give the same numbers to the last bit.

        Args:
            total: the rows of the whole input.
        """
        chunks = -(-total // CHUNK_ROWS)
        start, stop = (chunks * number // self.count * CHUNK_ROWS for number in (self.number - 1, self.number))
        return range(min(start, total), min(stop, total))

    def name_file(self, out: Path) -> Path:
        """Return the file of the shard's output, in a folder beside the whole output.

        Args:
            out: the file of the whole output.
        """
        ending = "".join(out.suffixes[-2:]) if out.suffix.lower() == ".gz" else out.suffix
        return name_folder(out) / f"{self.number:05d}-of-{self.count:05d}{ending}"


def name_folder(out: Path) -> Path:
    """Return the folder of the shards of an output.

    Args:
        out: the file of the whole output.
    """
    return out.with_name(f"{out.name}.shards")


@dataclass(frozen=True)
class ShardStamp:
    """Says by digests what the output of a shard belongs to, and what it is.

    Args:
        run: of the files of the run, or of several runs together.
        input: of the file that is predicted.
        options: of everything else that outputs and their form depend on.
        output: of the file of the shard.
        head: the bytes of that file before its first row, such as the header of a table.
    """

    run: str
    input: str
    options: str
    output: str = ""
    head: int = 0

    def find_difference(self, other: "ShardStamp") -> str | None:
        """Return what a shard belongs to in place of this prediction; None if it belongs to it.

        Args:
            other: the stamp of the shard.
        """
        return next((what for name, what in OF_WHOM.items() if getattr(self, name) != getattr(other, name)), None)


def digest_files(files: Sequence[Path]) -> str:
    """Return one digest of the content of files, of which some may be missing.

    Args:
        files: the files, in a fixed order.
    """
    whole = hashlib.sha256()
    for file in files:
        if file.is_file():
            with file.open("rb") as content:
                whole.update(hashlib.file_digest(content, "sha256").digest())
        else:
            whole.update(b"none")
    return whole.hexdigest()


def digest_values(values: Mapping[str, object]) -> str:
    """Return a digest of options.

    Args:
        values: the options by name: JSON values, or anything that is the same where its text is.
    """
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def name_stamp(file: Path) -> Path:
    """Return the file of the stamp of a shard, which is written when its output is whole.

    Args:
        file: the file of the output.
    """
    return file.with_name(f"{file.name}.json")


def write_stamp(file: Path, stamp: ShardStamp) -> None:
    """Write the stamp of a shard.

    Args:
        file: the file of its output.
        stamp: the stamp.
    """
    write_atomic(name_stamp(file), json.dumps(asdict(stamp), indent=1) + "\n")


def read_stamp(file: Path) -> ShardStamp | None:
    """Read the stamp of a shard; None if there is none, or its output is not as it was written.

    Args:
        file: the file of its output.
    """
    try:
        found = read_json(name_stamp(file).read_bytes())
        stamp = ShardStamp(**{each.name: found[each.name] for each in fields(ShardStamp)})
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return stamp if file.is_file() and stamp.output == digest_files([file]) else None


def remove_drafts(file: Path) -> None:
    """Remove what processes that were killed while they wrote a shard have left.

    Args:
        file: the file of its output.
    """
    for entry in file.parent.glob(f".{file.name}.*"):
        if DRAFT.fullmatch(entry.name):
            entry.unlink(missing_ok=True)


def gather_shards(out: Path, wanted: ShardStamp) -> list[tuple[Path, ShardStamp]]:
    """Return the files of all shards of an output, in order, with their stamps.

    Args:
        out: the file of the whole output.
        wanted: what they must belong to.

    Raises:
        DataError: some are missing or belong to something else.
    """
    folder = name_folder(out)
    named = [STAMP.fullmatch(file.name) for file in folder.iterdir()] if folder.is_dir() else []
    counts = sorted({int(found[1]) for found in named if found})
    if len(counts) != 1:
        what = f"shards of {' and of '.join(map(str, counts))}; remove those of one" if counts else "none"
        hint = "" if counts else "; predict them first, with --shard 1/4 and so on"
        raise DataError(f"the shards of one division are joined; got {what}{hint}.", file=folder)
    shards = [Shard(number, counts[0]) for number in range(1, counts[0] + 1)]
    found = [(shard, shard.name_file(out)) for shard in shards]
    stamps = [(shard, file, read_stamp(file)) for shard, file in found]
    wrong: dict[str, list[Shard]] = {}
    for shard, _, stamp in stamps:
        problem = "missing" if stamp is None else wanted.find_difference(stamp)
        if problem is not None:
            wrong.setdefault(problem if stamp is None else f"of {problem}", []).append(shard)
    if wrong:
        parts = [f"{what}: {', '.join(map(str, some))}" for what, some in wrong.items()]
        raise DataError(
            f"all shards of this run, input and options must be there; {'; '.join(parts)}; run them again.", file=folder
        )
    return [(file, stamp) for _, file, stamp in stamps if stamp is not None]
