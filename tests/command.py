"""Commands as a user types them, run inside this process, where torch is loaded already."""

import contextlib
import io
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from seq2see.cli.app import main


@dataclass(frozen=True)
class Result:
    """What a command left behind."""

    returncode: int
    stdout: str
    stderr: str


def seq2see(*words: Any, cwd: Path | None = None, stdin: str = "") -> Result:
    """Run a command."""
    out, err = io.StringIO(), io.StringIO()
    source = io.TextIOWrapper(io.BytesIO(stdin.encode()), encoding="utf-8")
    with contextlib.ExitStack() as stack:
        stack.enter_context(contextlib.redirect_stdout(out))
        stack.enter_context(contextlib.redirect_stderr(err))
        stack.enter_context(mock.patch.object(sys, "argv", ["seq2see", *map(str, words)]))
        stack.enter_context(mock.patch.object(sys, "stdin", source))
        stack.enter_context(contextlib.chdir(cwd or Path.cwd()))
        try:
            main()
            code = 0
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 1
    return Result(code, out.getvalue(), err.getvalue())


def refused(result: Result) -> str:
    """The one sentence of a refusal."""
    assert result.returncode == 2, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert lines[0].startswith("seq2see: ")
    assert "Traceback" not in result.stderr
    return lines[0]
