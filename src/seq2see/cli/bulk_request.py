"""What a large prediction in shards is asked for: the same for every shard, and for joining them."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from seq2see.cli.predict import Format
from seq2see.core.errors import DataError
from seq2see.search.options import DecodeOptions

if TYPE_CHECKING:
    from seq2see.runs.shards import ShardStamp


@dataclass(frozen=True)
class BulkRequest:
    """Says what is predicted in shards, and into which file they are joined.

    Args:
        runs: the run folders, of which several are an ensemble.
        file: the input.
        field: the column of a table; None for texts.
        lines: whether every line of a table is one input.
        encoding: the encoding of the input; None takes UTF-8, or guesses another one.
        prefix: what every output begins with; None for nothing.
        prefix_file: a file with a prefix for each input; None if there is none.
        out: the whole output; the shards lie in a folder beside it.
        form: the format of predictions.
        attention: whether JSON lines have attention weights.
        options: the decoding options.
    """

    runs: Sequence[Path]
    file: Path
    field: str | None
    lines: bool
    encoding: str | None
    prefix: str | None
    prefix_file: Path | None
    out: Path
    form: Format
    attention: bool
    options: DecodeOptions

    def make_stamp(self) -> "ShardStamp":
        """Return the stamp of all shards of this prediction."""
        from seq2see.runs.folder import RunFolder
        from seq2see.runs.shards import ShardStamp, digest_files, digest_values

        prefixes = digest_files([self.prefix_file]) if self.prefix_file is not None else None
        values = {
            **{name: getattr(self, name) for name in ("field", "lines", "encoding", "prefix", "form", "attention")},
            "decoding": self.options.given(),
            "prefixes": prefixes,
            "ending": "".join(self.out.suffixes[-2:]).lower(),
        }
        run = digest_files([file for folder in self.runs for file in RunFolder(folder).files])
        return ShardStamp(run, digest_files([self.file]), digest_values(values))


def choose_file(files: Sequence[Path]) -> Path:
    """Return the one file that shards are predicted from.

    Args:
        files: the inputs on the command line.

    Raises:
        DataError: it is no file that every process can read from its beginning.
    """
    if len(files) == 1 and files[0].is_file():
        return files[0]
    got = f"{len(files)} of them" if len(files) > 1 else "a folder or pipe" if files else "standard input"
    got = "standard input" if [str(file) for file in files] == ["-"] else got
    raise DataError(f"shards are of one file, which each process reads for itself; got {got}; name one file.")


def choose_out(out: Path | None, alignments: Path | None) -> Path:
    """Return the file of the whole output.

    Args:
        out: the file; None if none is named.
        alignments: the file of word alignments; None if none is named.

    Raises:
        DataError: no file is named, or alignments are asked for.
    """
    if out is None:
        raise DataError("shards are written to files; name the whole output with -o, and its shards lie beside it.")
    if alignments is not None:
        raise DataError("shards have no word alignments; leave out --alignments, and run seq2see align afterwards.")
    return out
