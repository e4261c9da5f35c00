"""A progress bar on standard error."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from seq2see.cli.messages import verbosity


@contextmanager
def counting(what: str, total: int) -> Iterator[Callable[..., None]]:
    """Show a progress bar inside the block, if standard error is a terminal.

    Args:
        what: what is done, in front of the bar.
        total: the number of steps.

    Yields:
        A function that advances the bar by one step, or by a given number.
    """
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    console = Console(stderr=True)
    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(24),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal or verbosity.quiet, transient=True) as bar:
        task = bar.add_task(what, total=total)
        yield lambda count=1: bar.advance(task, count)
