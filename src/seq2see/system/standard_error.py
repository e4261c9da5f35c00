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
        return str(getattr(self._stream, "encoding", None) or "utf-8")

    def writable(self) -> bool:
        return True

    def isatty(self) -> bool:
        return bool(self._stream.isatty())

    def fileno(self) -> int:
        return int(self._stream.fileno())

    def write(self, text: str, /) -> int:
        with suppress(OSError):
            self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with suppress(OSError):
            self._stream.flush()
