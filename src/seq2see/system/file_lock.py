"""A lock that one process holds at a time; the system releases it when the process ends, however it ends."""

import errno
import os
from pathlib import Path
from types import ModuleType
from weakref import finalize

fcntl: ModuleType | None
try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

NO_LINKS = getattr(os, "O_NOFOLLOW", 0)  # Windows has no such option
UNSUPPORTED = (errno.ENOLCK, errno.ENOTSUP, errno.ENOSYS)  # some network file systems have no locks


class FileLock:
    """Holds an exclusive lock on a file, until it is released or collected, or the process ends.

    A system or file system without locks permits every process to hold it.

    Args:
        file: the file, which is made if it is missing, and stays.

    Raises:
        BlockingIOError: somebody else holds it, perhaps in this process.
        OSError: the file cannot be made.
    """

    def __init__(self, file: Path) -> None:
        handle = os.open(file, os.O_RDWR | os.O_CREAT | NO_LINKS, 0o666)
        self._close = finalize(self, os.close, handle)
        if fcntl is None:
            return
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno not in UNSUPPORTED:
                self._close()
                raise

    def release(self) -> None:
        """Let others have the lock; once more does nothing."""
        self._close()

    def __enter__(self) -> "FileLock":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()
