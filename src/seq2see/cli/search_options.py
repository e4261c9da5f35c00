"""Decoding options of the commands, made from `seq2see.search.options.DecodeOptions`."""

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.data_options import keep_inputs
from seq2see.cli.messages import warn
from seq2see.core.errors import SearchError
from seq2see.search.option_description import OptionDescription
from seq2see.search.options import OPTIONS, DecodeOptions

if TYPE_CHECKING:
    from seq2see.runs.run import Run

WithOption = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="RUN", help="A further run to average probabilities with; several times for more."),
]
WorkersOption = Annotated[
    int,
    typer.Option(
        min=0, help="Processes of one thread each that share the work; 0: one for each core if there are many inputs."
    ),
]
TYPES: dict[str, object] = {
    "integer": int | None,
    "number": float | None,
    "boolean": bool,
    "words": list[str] | None,
    "dictionary": Path | None,
}
VALUES = {"words": "WORD", "dictionary": "FILE"}  # the name of a value in the help text, if it is not a number
WRITTEN = ("out", "alignments", "plot")  # parameters of commands that name files to write


def with_decode_options(*, leave_out: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Return a decorator that gives a command one option for each field of `DecodeOptions`.

    The command has one argument `options`, in whose place the options appear, and which gets them as `DecodeOptions`.

    Args:
        leave_out: the names of fields without an option.
    """
    shown = [each for each in OPTIONS if each.name not in leave_out]

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        @wraps(command)
        def adapted(**given: object) -> None:
            decoding = {each.name: given.pop(each.name) for each in shown}
            written = [file for file in map(given.get, WRITTEN) if isinstance(file, Path)]
            keep_inputs(written, [file for file in decoding.values() if isinstance(file, Path)])
            command(**given, options=gather_options(decoding))

        parameters = list(inspect.signature(command).parameters.values())
        place = [each.name for each in parameters].index("options")
        parameters[place : place + 1] = [make_parameter(each) for each in shown]
        adapted.__dict__["__signature__"] = inspect.Signature(parameters)
        adapted.__annotations__ = {each.name: each.annotation for each in parameters}
        return adapted

    return decorate


def make_parameter(option: OptionDescription) -> inspect.Parameter:
    """Return one decoding option as a parameter that typer reads.

    Args:
        option: the description of the option, with its type, bounds and help text.
    """
    setting = typer.Option(
        f"--{option.name.replace('_', '-')}",
        min=option.minimum,
        max=option.maximum,
        metavar=VALUES.get(option.kind),
        help=option.help,
    )
    return inspect.Parameter(
        option.name,
        inspect.Parameter.POSITIONAL_OR_KEYWORD,
        default=False if option.kind == "boolean" else None,
        annotation=Annotated[TYPES.get(option.kind, option.annotation), setting],
    )


def gather_options(given: dict[str, object]) -> DecodeOptions:
    """Return the decoding options of a command line.

    Args:
        given: the values by name; None leaves an option as the run is configured, and a path is the file of a
            dictionary, which is read here.

    Raises:
        SearchError: options contradict each other.
    """
    from seq2see.data.formats.dictionary import read_dictionary
    from seq2see.search.factory import read_options

    named = {name: value for name, value in given.items() if value is not None}
    files = {name: value for name, value in named.items() if isinstance(value, Path)}
    return read_options({**named, **{name: read_dictionary(file) for name, file in files.items()}})


def warn_of_labels(run: "Run", options: DecodeOptions | None = None, **others: object) -> None:
    """Warn of options that have no effect, because the run chooses labels.

    Args:
        run: the run.
        options: the decoding options, of which n_best alone has an effect on labels.
        **others: further options by their argument name; those that are None or empty were not given.
    """
    given = {**(options.given() if options is not None else {}), **{n: value for n, value in others.items() if value}}
    flags = [f"--{name.replace('_', '-')}" for name in given if name != "n_best"]
    if flags and not run.task.writes_text:
        message = f"warning: this run chooses labels and writes nothing; without effect: {', '.join(flags)}"
        warn(message)


def read_prefixes(prefix: str | None, file: Path | None, count: int) -> list[str]:
    """Return what the output of each line begins with; an empty text if there is no prefix.

    Args:
        prefix: the prefix of all lines; None if there is none.
        file: a file with a prefix for each line; None if there is none.
        count: the number of lines.

    Raises:
        SearchError: both are given, or the file has another number of lines.
    """
    if file is None:
        return [prefix or ""] * count
    if prefix is not None:
        raise SearchError("give either --prefix or --prefix-file, not both.")
    from seq2see.data.formats.encodings import decode
    from seq2see.data.formats.file_bytes import read_bytes
    from seq2see.data.formats.lines import split_lines

    lines = split_lines(decode(read_bytes(file), file))
    if len(lines) != count:
        raise SearchError(f"{file} must have a line for each input, blank for no prefix; got {len(lines)} for {count}.")
    return lines
