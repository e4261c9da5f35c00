"""What commands say beside their results, on standard error, and how much of it: quiet, as usual, or verbose."""

import logging
import os
import sys
import time
from collections.abc import Iterator, MutableSequence
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from platform import machine, python_version, system

import typer

from seq2see import __version__
from seq2see.system.files import cache_folder
from seq2see.system.processes import measure_memory

QUIET, VERBOSE = ("-q", "--quiet"), ("-v", "--verbose")
FOR_ALL = "Every command: -q, --quiet prints errors and results alone; -v, --verbose also versions, threads and times."


@dataclass
class Verbosity:
    """How much this process says; there is one, because there is one standard error.

    Args:
        quiet: whether only errors and results are printed.
        verbose: whether versions, threads, times and folders are printed, and tracebacks of unexpected errors.
    """

    quiet: bool = False
    verbose: bool = False


verbosity = Verbosity()


def take_verbosity(words: MutableSequence[str]) -> None:
    """Remove the options for every command from a command line, wherever they are, and follow them.

    Args:
        words: the command line; what comes after `--` is left as it is.
    """
    end = words.index("--") if "--" in words else len(words)
    before = words[:end]
    verbosity.quiet = any(word in QUIET for word in before)
    verbosity.verbose = any(word in VERBOSE for word in before)
    words[:end] = [word for word in before if word not in QUIET + VERBOSE]
    logging.getLogger("seq2see").setLevel(logging.ERROR if verbosity.quiet else logging.NOTSET)


def tell(text: str) -> None:
    """Print a line on standard error, unless nobody wants to read more than results.

    Args:
        text: the line.
    """
    if not verbosity.quiet:
        typer.echo(text, err=True)


def warn(text: str) -> None:
    """Print a warning on standard error, unless nobody wants to read more than results.

    Args:
        text: the sentence, with what it begins with, such as `warning: `.
    """
    if not verbosity.quiet:
        typer.secho(text, fg=typer.colors.YELLOW, err=True)


@contextmanager
def telling_surroundings() -> Iterator[None]:
    """Tell, if asked, with which versions and where a command runs, and at its end how long it took."""
    if not verbosity.verbose:
        yield
        return
    began = time.perf_counter()
    versions = ", ".join(f"{name} {version(name)}" for name in ("torch", "numpy", "tokenizers"))
    tell(f"versions: seq2see {__version__}, {versions}, Python {python_version()} on {system()} {machine()}")
    tell(f"folders:  here {Path.cwd()}; prepared data {cache_folder()}; seq2see {Path(__file__).parent.parent}")
    try:
        yield
    finally:
        torch = sys.modules.get("torch")  # of a command that had to import it
        if torch is not None:
            tell(f"threads:  {torch.get_num_threads()} of {os.cpu_count()} cores in this process")
        tell(f"took:     {time.perf_counter() - began:.1f} seconds, and at most {measure_memory() / 1e6:,.0f} MB")
