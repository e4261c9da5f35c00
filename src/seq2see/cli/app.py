"""The application of the command line; no heavy package is imported before a command runs."""

import io
import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from importlib.metadata import version
from pathlib import Path
from platform import python_version
from traceback import extract_tb
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
from seq2see.cli.messages import FOR_ALL, take_verbosity, telling_surroundings, verbosity
from seq2see.cli.usage import explain_usage
from seq2see.core.errors import Seq2SeeError
from seq2see.core.unicode import is_text
from seq2see.system.processes import own_process

app = typer.Typer(
    name="seq2see",
    help="Sequence-to-sequence models you can see through: train, predict, evaluate, explain.\n\n"
    f"Start with: seq2see quickstart\n\n{FOR_ALL}",
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)
MAX_EXPLAINED = 300  # characters of an error that should not happen
USAGE_ERROR: type[Exception] = typer.BadParameter.__bases__[0]  # of a command line that names what does not exist
for command in (quickstart.quickstart, train.train, resume.resume, predict.predict, evaluate.evaluate, inspect.inspect):
    app.command(epilog=FOR_ALL)(command)
for command in (compare.compare, align.align, serve.serve, doctor.doctor, presets.presets, parts.parts, cache.cache):
    app.command(epilog=FOR_ALL)(command)


def _tell_version(wanted: bool) -> bool:
    """Print the versions that a bug report needs; that of torch is read without importing it."""
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
    """Take the options that come before any command."""


def main() -> None:
    """Run a command; an error is one line, with exit code 2 if it can be explained, else 1 (--verbose: a traceback)."""
    debug = "--debug" in sys.argv  # a traceback of errors that we can explain, too
    sys.argv = [word for word in sys.argv if word != "--debug"]
    take_verbosity(sys.argv)
    if isinstance(sys.stdout, io.TextIOWrapper):
        # UTF-8 like our input, whatever the locale; bytes of file names that are not UTF-8 stay as they are
        sys.stdout.reconfigure(encoding="utf-8", errors="surrogateescape")
    own_process()
    try:
        try:
            _check_words(sys.argv)
            with telling_surroundings():
                _run_command()
        finally:
            sys.stdout.flush()  # raises an error here if the disk is full
    except (Seq2SeeError, OSError) as error:
        if debug:
            raise
        if isinstance(error, OSError):
            _drop_output()
        if not isinstance(error, BrokenPipeError):  # the reader, such as head, has closed the pipe
            print(f"seq2see: {_explain(error)}", file=sys.stderr)
        sys.exit(2)
    except Exception as error:
        if debug or verbosity.verbose:
            raise
        print(f"seq2see: {_explain_unexpected(error)}", file=sys.stderr)
        sys.exit(1)


def _run_command() -> None:
    """Run the command that `sys.argv` names, and end the process if it has another exit code than 0."""
    try:
        code = app(sys.argv[1:] or ["--help"], prog_name="seq2see", standalone_mode=False)
    except Exception as error:
        if not isinstance(error, USAGE_ERROR):
            raise
        raise Seq2SeeError(explain_usage(error)) from None
    if code:
        sys.exit(code)


def _check_words(words: Sequence[str]) -> None:
    """Refuse an argument that is not UTF-8, unless it is the name of a file, which may have any bytes."""
    for word in words:
        if not is_text(word) and not os.path.lexists(word):
            raise Seq2SeeError(f"an argument must be UTF-8, or the name of a file; got {word!r}; type it again.")


def _explain(error: Exception) -> str:
    if not isinstance(error, OSError) or not error.strerror:
        return str(error)
    return f"{error.filename}: {error.strerror}." if error.filename else f"{error.strerror}."


def _explain_unexpected(error: Exception) -> str:
    """Return one line on a mistake of ours, and how to see all of it."""
    *_, last = extract_tb(error.__traceback__)
    what = " ".join(f"{type(error).__name__}: {error}".split())[:MAX_EXPLAINED]
    return (
        f"this should not happen: {what} ({Path(last.filename).name}, line {last.lineno}); please report what the same "
        "command with -v prints."
    )


def _drop_output() -> None:
    """Discard output that could not be written, or Python would try again at its end and print another error."""
    with suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
