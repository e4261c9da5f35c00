"""The errors a user can cause, each with one sentence: what must be how; got what; what to do.

Seq2SeeError
├── ConfigError        a key or value in a config file or on the command line
├── DataError          a data file: names the file and, where there is one, the line
├── TokenError         text that cannot be turned into tokens or back
├── CheckpointError    a run folder: missing, damaged, or of another run
├── SearchError        decoding options that make no sense
└── AttentionError     attention that a model does not have, or that tensors do not fit
"""

from pathlib import Path

from seq2see.core.unicode import escape_controls

MAX_MESSAGE = 2000  # characters


class Seq2SeeError(Exception):
    """Is a mistake that can be explained; the command line prints it as one line and exits with 2.

    Args:
        message: the sentence for the user; control characters in it, which may come from data, become escapes.
    """

    def __init__(self, message: str = "") -> None:
        super().__init__(escape_controls(message, kept="\n", most=MAX_MESSAGE))


class ConfigError(Seq2SeeError):
    """Is a configuration that cannot be used.

    Args:
        message: the sentence for the user, without the place of the key.
        path: the keys that lead to the wrong value, outermost first, from which a loader finds file and line; empty
            if the error belongs to no single key.
    """

    def __init__(self, message: str, *, path: tuple[str, ...] = ()) -> None:
        super().__init__(message)
        self.path = path


class DataError(Seq2SeeError):
    """Is a data file that cannot be used; the message begins with the file and the line.

    Args:
        message: the sentence for the user, without file and line.
        file: the data file; None if the data did not come from a file.
        line: the number of the line, from 1; None if the whole file is meant. It is shown only together with `file`.
    """

    def __init__(self, message: str, *, file: Path | str | None = None, line: int | None = None) -> None:
        place = "" if file is None else f"{file}: " if line is None else f"{file}, line {line}: "
        super().__init__(escape_controls(place) + message)


class TokenError(Seq2SeeError):
    """Is a text or a token that does not fit the tokenizer."""


class CheckpointError(Seq2SeeError):
    """Is a run folder that cannot be read or written."""


class SearchError(Seq2SeeError):
    """Is a decoding option that makes no sense."""


class AttentionError(Seq2SeeError):
    """Is attention, or one map of it, that a model does not have or that cannot be computed."""
