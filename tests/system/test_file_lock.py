"""A lock is held once at a time, and nobody who was killed holds it."""

import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.system.file_lock import FileLock

HOLD = """
import sys
from pathlib import Path
from seq2see.system.file_lock import FileLock
lock = FileLock(Path(sys.argv[1]))
print("held", flush=True)
sys.stdin.readline()
"""


def test_one_holds_it_until_it_is_released_or_collected(tmp_path: Path) -> None:
    first = FileLock(tmp_path / "lock")
    with pytest.raises(BlockingIOError):
        FileLock(tmp_path / "lock")
    first.release()
    first.release()
    second = FileLock(tmp_path / "lock")
    del second
    with FileLock(tmp_path / "lock"), pytest.raises(BlockingIOError):
        FileLock(tmp_path / "lock")
    FileLock(tmp_path / "lock").release()


def test_the_system_releases_it_when_its_holder_is_killed(tmp_path: Path) -> None:
    command = [sys.executable, "-c", HOLD, str(tmp_path / "lock")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError):
            FileLock(tmp_path / "lock")
        holder.kill()
    FileLock(tmp_path / "lock").release()
