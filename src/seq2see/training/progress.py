"""The display of a training's progress: a live bar in a terminal or a notebook, and plain lines elsewhere."""

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from types import TracebackType
from typing import Protocol, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from seq2see.training.events import Event, Resumed, Stepped, Validated

# what is shown of each validation: the first of these that is measured, and the others that are not 0
SHOWN_METRICS = {
    "exact_match": "exact match {:.1f}%",
    "accuracy": "accuracy {:.1f}%",
    "micro_f1": "F1 {:.1f}",
    "bleu": "BLEU {:.1f}",
    "bleu_4": "BLEU-4 {:.1f}",
}
SMOOTHING = 0.95  # of the running means that a bar shows
SECONDS_BETWEEN_LINES = 60  # where there is no terminal
SECONDS_BETWEEN_PAGES = 0.2  # of a bar in a notebook


@runtime_checkable
class Display(Protocol):
    """Where the progress of a training is shown."""

    def advance(self, update: int, numbers: str, eta: str) -> None:
        """Show how far the training is.

        Args:
            update: how many updates are made.
            numbers: loss, scores and speed, as text.
            eta: the time that is left, as text.
        """
        ...

    def print(self, line: str) -> None:
        """Show a line that stays.

        Args:
            line: the text, without line break.
        """
        ...

    def __enter__(self) -> "Display": ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...


class TerminalDisplay:
    """A live bar in a terminal, with a line for each validation; elsewhere these lines, and one a minute between them.

    Args:
        console: where to print.
        total: the number of updates at which the bar is full.
    """

    def __init__(self, console: Console, *, total: int) -> None:
        self.console = console
        self.bar = Progress(
            TextColumn("training"),
            BarColumn(bar_width=24),
            MofNCompleteColumn(),
            TextColumn("{task.fields[numbers]}"),
            TimeElapsedColumn(),
            TextColumn("ETA {task.fields[eta]}"),
            console=console,
            disable=not console.is_terminal,
        )
        self.task = self.bar.add_task("training", total=total, numbers="", eta="?")
        self.total, self.told = total, time.monotonic()

    def advance(self, update: int, numbers: str, eta: str) -> None:
        """Move the bar to an update.

        Args:
            update: how many updates are made.
            numbers: loss, scores and speed, as text.
            eta: the time that is left, as text.
        """
        self.bar.update(self.task, completed=update, numbers=numbers, eta=eta)
        if not self.console.is_terminal and time.monotonic() - self.told >= SECONDS_BETWEEN_LINES:
            self.print(f"update {update:>6,} of {self.total:,}  {numbers}  ETA {eta}")

    def print(self, line: str) -> None:
        """Print a line above the bar.

        Args:
            line: the text, without line break.
        """
        self.told = time.monotonic()
        self.console.print(line)

    def __enter__(self) -> "TerminalDisplay":
        self.bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.stop()


class NotebookDisplay:
    """One output of a notebook cell that is updated in place: a bar, and a line for each validation.

    Args:
        total: the number of updates at which the bar is full.
    """

    def __init__(self, *, total: int) -> None:
        from IPython.display import HTML, display

        self.total, self.update, self.numbers, self.eta = total, 0, "", "?"
        self.lines: list[str] = []
        self._html, self._shown = HTML, -SECONDS_BETWEEN_PAGES
        self._handle = display(HTML(self._render()), display_id=True)

    def advance(self, update: int, numbers: str, eta: str) -> None:
        """Move the bar to an update; the cell changes at most five times a second.

        Args:
            update: how many updates are made.
            numbers: loss, scores and speed, as text.
            eta: the time that is left, as text.
        """
        self.update, self.numbers, self.eta = update, numbers, eta
        if time.monotonic() - self._shown >= SECONDS_BETWEEN_PAGES:
            self._show()

    def print(self, line: str) -> None:
        """Add a line below the bar.

        Args:
            line: the text, without line break; it is escaped.
        """
        self.lines.append(line)
        self._show()

    def __enter__(self) -> "NotebookDisplay":
        return self

    def __exit__(self, *_: object) -> None:
        self._show()

    def _show(self) -> None:
        self._shown = time.monotonic()
        self._handle.update(self._html(self._render()))

    def _render(self) -> str:
        counts = f"{self.update:,}/{self.total:,} {self.numbers} ETA {self.eta}"
        bar = f'<progress value="{self.update}" max="{self.total}"></progress> <code>{escape(counts)}</code>'
        return f"<div>{bar}<pre>{escape(chr(10).join(self.lines))}</pre></div>"


class ProgressView:
    """Show the events of a training on a display, with running means of loss and speed.

    Args:
        display: where to show them.
        total: the number of updates of the training.
        unit: what losses are means over, and speed counts: tokens or sources.
    """

    def __init__(self, display: Display, *, total: int, unit: str = "tokens") -> None:
        self.display, self.total, self.unit = display, total, unit
        self.loss = self.speed = self.seconds = 0.0  # running means
        self.steps = 0
        self.scores = ""

    def show(self, event: Event) -> None:
        """Show one event; `Finished` is left to the caller.

        Args:
            event: an event of the training loop.
        """
        match event:
            case Stepped():
                self._step(event)
            case Validated():
                self._validate(event)
            case Resumed():
                for sentence in event.skipped:
                    self.display.print(f"warning: {sentence} Going on from the checkpoint before it.")
                self.display.print(f"going on from update {event.update:,}")
                self.display.advance(event.update, "", "?")

    def _step(self, event: Stepped) -> None:
        keep = SMOOTHING if self.steps else 0.0
        self.steps += 1
        self.loss = keep * self.loss + (1 - keep) * event.loss
        self.speed = keep * self.speed + (1 - keep) * event.tokens / event.seconds
        self.seconds = keep * self.seconds + (1 - keep) * event.seconds
        numbers = f"loss {self.loss:.3f}{self.scores}  {self.speed:,.0f} {self.unit}/s"
        self.display.advance(event.update, numbers, write_time(self.seconds * (self.total - event.update)))

    def _validate(self, event: Validated) -> None:
        first, *others = [name for name in SHOWN_METRICS if name in event.metrics]
        shown = [first, *(name for name in others if event.metrics[name])]
        self.scores = "".join("  " + SHOWN_METRICS[name].format(event.metrics[name]) for name in shown)
        mark = " (best so far)" if event.best else ""
        told = f"loss {self.loss:.3f}  held-out loss" if self.steps else "before training: held-out loss"
        speed = f"  {self.speed:,.0f} {self.unit}/s" if self.steps else ""
        perplexity = f"  perplexity {event.metrics['perplexity']:.2f}" if "perplexity" in event.metrics else ""
        self.display.print(
            f"update {event.update:>6,}  {told} {event.metrics['valid_loss']:.3f}{perplexity}{self.scores}{mark}{speed}"
        )


def choose_display(console: Console, *, total: int) -> Display:
    """Return a bar in the notebook if this is one, else on the console; a quiet console shows nothing anywhere.

    Args:
        console: the console of the training.
        total: the number of updates at which the bar is full.
    """
    return (
        NotebookDisplay(total=total) if is_notebook() and not console.quiet else TerminalDisplay(console, total=total)
    )


def is_notebook() -> bool:
    """Return whether this runs in a kernel of Jupyter, which can update what a cell has shown."""
    get_ipython = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)
    return hasattr(get_ipython(), "kernel")


@contextmanager
def showing_preparation(console: Console) -> Iterator[Callable[[int, int], None]]:
    """Show a bar for the preparation of images before a training; it appears only if there is such work.

    Args:
        console: where to show it; without a terminal, a line a minute.

    Yields:
        A function to call with how many images are ready and how many there are.
    """
    columns = (
        TextColumn("preparing images"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("images", visible=False)
        began, ready = (0.0, 0), -1  # when, and how many were ready by then and are now
        told = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal began, ready, told
            bar.update(task, completed=done, total=total, visible=True)
            now = time.monotonic()
            if not 0 <= ready <= done:  # the first images, or those of the next file
                began = (now, done)
            ready = done
            if not console.is_terminal and now - told >= SECONDS_BETWEEN_LINES and done > began[1]:
                told = now
                left = (now - began[0]) / (done - began[1]) * (total - done)
                console.print(f"preparing images: {done:,} of {total:,}, ETA {write_time(left)}")

        yield tell


def write_time(seconds: float) -> str:
    """Write a time as hours:minutes:seconds.

    Args:
        seconds: the time in seconds; fractions are cut off.
    """
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"
