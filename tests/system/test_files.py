"""Writing a file: a reader sees the old content or the new one, whatever happens in between."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from seq2see.core.errors import Seq2SeeError
from seq2see.system.files import write_atomic


def test_text_and_bytes_are_written_and_folders_made(tmp_path: Path) -> None:
    file = tmp_path / "a" / "b" / "x.txt"
    write_atomic(file, "ü\r\n")
    assert file.read_bytes() == "ü\r\n".encode()
    write_atomic(file, b"\x00\xff")
    assert file.read_bytes() == b"\x00\xff"
    assert list(file.parent.iterdir()) == [file]


def test_content_is_on_the_disk_before_it_is_put_in_place_and_the_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done: list[object] = []
    replace, sync = os.replace, os.fsync

    def note_sync(handle: int) -> None:
        done.append(os.fstat(handle).st_ino)
        sync(handle)

    def note_replace(*paths: Path) -> None:
        done.append("in place")
        replace(*paths)

    monkeypatch.setattr(os, "fsync", note_sync)
    monkeypatch.setattr(os, "replace", note_replace)
    write_atomic(tmp_path / "x.txt", "new")
    assert done == [(tmp_path / "x.txt").stat().st_ino, "in place", tmp_path.stat().st_ino]


@pytest.mark.parametrize("function", ["replace", "fsync"])
@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), KeyboardInterrupt()])
def test_a_failing_write_leaves_the_old_content_and_no_draft(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, function: str, error: BaseException
) -> None:
    file = tmp_path / "x.txt"
    file.write_text("old")

    def fail(*_: object) -> None:
        raise error

    monkeypatch.setattr(os, function, fail)
    with pytest.raises(KeyboardInterrupt if isinstance(error, KeyboardInterrupt) else Seq2SeeError) as caught:
        write_atomic(file, "new")
    assert file.read_text() == "old"
    assert list(tmp_path.iterdir()) == [file]
    if isinstance(error, OSError):
        assert str(caught.value).startswith(f"{file} cannot be written: No space left on device; what was there before")


FULL = """
import resource, signal, sys
from pathlib import Path
from seq2see.core.errors import Seq2SeeError
from seq2see.system.files import write_atomic

signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
try:
    write_atomic(Path(sys.argv[1]), b"x" * 5000)
except Seq2SeeError as error:
    print(error)
"""


def test_a_full_disk_leaves_the_old_content_and_no_draft(tmp_path: Path) -> None:
    file = tmp_path / "x.bin"
    file.write_bytes(b"old")
    said = subprocess.run([sys.executable, "-c", FULL, str(file)], capture_output=True, text=True, check=True).stdout
    assert "cannot be written: File too large" in said
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_a_folder_in_the_way_and_a_file_for_a_folder_are_one_sentence(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    for path in (tmp_path, tmp_path / "file" / "x"):
        with pytest.raises(Seq2SeeError, match="cannot be written: "):
            write_atomic(path, "x")
    assert not list(tmp_path.rglob("*.draft"))


def test_text_that_is_no_text_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(UnicodeEncodeError):
        write_atomic(tmp_path / "x", "\ud800")
    assert not list(tmp_path.iterdir())


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomic(pipe, "through")
    assert os.read(reader, 100) == b"through"
    os.close(reader)
    assert pipe.is_fifo()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="there are no named pipes")
def test_a_pipe_that_nobody_reads_is_refused_at_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(Seq2SeeError, match="pipe cannot be written"):
        write_atomic(tmp_path / "pipe", "text")
    reader = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_atomic(tmp_path / "pipe", "text")
        assert os.read(reader, 9) == b"text"
    finally:
        os.close(reader)
