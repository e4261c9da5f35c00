"""Decoding options of the commands, made from `seq2see.search.options.DecodeOptions`."""

import inspect
from collections.abc import Callable, Collection
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from seq2see.cli.data_options import keep_inputs
from seq2see.core.errors import SearchError
from seq2see.search.options import OPTIONS, DecodeOptions, OptionDescription

if TYPE_CHECKING:
    from seq2see.runs.run import Run

WithOption = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="RUN", help="A further run to average probabilities with; several times for more."),
]
WorkersOption = Annotated[
    int,
    typer.Option(min=0, help="Processes of one thread each that share the work; 0: one a core for large inputs."),
]
TYPES: dict[str, object] = {
    "integer": int | None,
    "number": float | None,
    "boolean": bool,
    "words": list[str] | None,
    "dictionary": Path | None,
}
VALUES = {"words": "WORD", "dictionary": "FILE"}  # what help calls a value that is no number
WRITTEN = ("out", "alignments", "plot")  # parameters of commands that name files to write


def with_decode_options(*, leave_out: Collection[str] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command one option for each field of `DecodeOptions`, which it gets together as its argument `options`."""
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
    """One decoding option as typer reads it."""
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
    """The decoding options of a command line; a dictionary is read from its file."""
    from seq2see.data.formats.dictionary import read_dictionary
    from seq2see.search.factory import read_options

    named = {name: value for name, value in given.items() if value is not None}
    files = {name: value for name, value in named.items() if isinstance(value, Path)}
    return read_options({**named, **{name: read_dictionary(file) for name, file in files.items()}})


def warn_of_labels(run: "Run", options: DecodeOptions | None = None, **others: object) -> None:
    """Name the options that were given for a run that chooses labels, where they mean nothing."""
    given = {**(options.given() if options is not None else {}), **{n: value for n, value in others.items() if value}}
    flags = [f"--{name.replace('_', '-')}" for name in given if name != "n_best"]
    if flags and not run.task.writes_text:
        message = f"warning: this run chooses labels and writes nothing; without effect: {', '.join(flags)}"
        typer.secho(message, fg=typer.colors.YELLOW, err=True)


def read_prefixes(prefix: str | None, file: Path | None, count: int) -> list[str]:
    """What the output of each of `count` lines begins with."""
    if file is None:
        return [prefix or ""] * count
    if prefix is not None:
        raise SearchError("give either --prefix or --prefix-file, not both.")
    from seq2see.data.formats.lines import decode, read_bytes, split_lines

    lines = split_lines(decode(read_bytes(file), file))
    if len(lines) != count:
        raise SearchError(f"{file} must have a line for each input, blank for no prefix; got {len(lines)} for {count}.")
    return lines
