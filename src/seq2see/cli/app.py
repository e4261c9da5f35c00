"""The command line: one file a command; nothing heavy is imported before a command runs."""

import io
import sys

import typer

from seq2see.cli import align, compare, doctor, evaluate, inspect, predict, presets, quickstart, serve, train
from seq2see.core.errors import Seq2SeeError
from seq2see.core.process import keep_memory

app = typer.Typer(
    name="seq2see",
    help="Sequence-to-sequence models you can see through: train, predict, measure, look inside.\n\n"
    "Start with: seq2see quickstart",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
)
for command in (quickstart.quickstart, train.train, predict.predict, evaluate.evaluate, inspect.inspect):
    app.command()(command)
app.command()(compare.compare)
app.command()(align.align)
app.command()(serve.serve)
app.command()(doctor.doctor)
app.command()(presets.presets)


def main() -> None:
    """Run a command; a mistake we can explain is one line and exit code 2 (with --debug, a traceback)."""
    debug = "--debug" in sys.argv
    sys.argv = [word for word in sys.argv if word != "--debug"]
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8")  # as our input is, whatever the terminal says
    keep_memory()
    try:
        app()
    except Seq2SeeError as error:
        if debug:
            raise
        print(f"seq2see: {error}", file=sys.stderr)
        sys.exit(2)
