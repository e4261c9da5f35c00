"""Standard error that may vanish: a message that nobody can read must not end a training."""

import io
import sys
from contextlib import suppress
from typing import Any


class LossyStandardError(io.TextIOBase):
    """Writes to standard error; what cannot be written, because the terminal is gone or the disk full, is dropped."""

    @property
    def _stream(self) -> Any:  # whatever a program has put there
        return getattr(sys.stderr, "rich_proxied_file", sys.stderr)  # rich stands in its place while it draws

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Return the encoding of standard error."""
        return str(getattr(self._stream, "encoding", None) or "utf-8")

    def writable(self) -> bool:
        """Return True."""
        return True

    def isatty(self) -> bool:
        """Return whether standard error is a terminal."""
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        """Return the file descriptor of standard error."""
        return int(self._stream.fileno())

    def write(self, text: str, /) -> int:
        """Write a text, or drop it, and return its length.

        Args:
            text: the text.
        """
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        """Write what is waiting, or drop it."""
        with suppress(OSError):
            self._stream.flush()
