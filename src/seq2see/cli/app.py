"""The command line: one file a command; nothing heavy is imported before a command runs."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from platform import python_version
from typing import Annotated

import typer

from seq2see import __version__
from seq2see.cli import (
    align,
    cache,
    compare,
    doctor,
    evaluate,
    inspect,
    parts,
    predict,
    presets,
    quickstart,
    resume,
    serve,
    train,
)
from seq2see.core.errors import Seq2SeeError
from seq2see.core.unicode import is_text
from seq2see.system.processes import own_process

app = typer.Typer(
    name="seq2see",
    help="Sequence-to-sequence models you can see through: train, predict, measure, look inside.\n\n"
    "Start with: seq2see quickstart",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (quickstart.quickstart, train.train, resume.resume, predict.predict, evaluate.evaluate, inspect.inspect):
    app.command()(command)
app.command()(compare.compare)
app.command()(align.align)
app.command()(serve.serve)
app.command()(doctor.doctor)
app.command()(presets.presets)
app.command()(parts.parts)
app.command()(cache.cache)


def _tell_version(wanted: bool) -> bool:
    """What to name when something is reported; torch is asked for its version without importing it."""
    if wanted:
        print(f"seq2see {__version__} with torch {version('torch')} on Python {python_version()}")
        raise typer.Exit
    return wanted


@app.callback()
def _listen(
    wanted: Annotated[
        bool, typer.Option("--version", callback=_tell_version, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    """What can be said before any command."""


def main() -> None:
    """Run a command; a mistake we can explain is one line and exit code 2 (with --debug, a traceback)."""
    debug = "--debug" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--debug"]
    if isinstance(sys.stdout, io.TextIOWrapper):
        # as our input is, whatever the terminal says; names of files stay the bytes they are
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    own_process()
    try:
        try:
            _check_words(sys.argv)
            app()
        finally:
            sys.stdout.flush()  # a disk that is full is noticed here
    except (Seq2SeeError, OSError) as error:
        if debug:
            raise
        if isinstance(error, OSError):
            _drop_output()
        if not isinstance(error, BrokenPipeError):  # whoever reads has seen enough
            print(f"seq2see: {_explain(error)}", file=sys.stderr)
        sys.exit(2)


def _check_words(words: Sequence[str]) -> None:
    """Whoever types other bytes than UTF-8 must mean a file, which may have any name."""
    for word in words:
        if not is_text(word) and not os.path.lexists(word):
            raise Seq2SeeError(f"what is typed must be UTF-8, or the name of a file; got {word!r}; write it anew.")


def _explain(error: Exception) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."


def _drop_output() -> None:
    """Let what could not be written go, or Python would try again at the end, and complain."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
