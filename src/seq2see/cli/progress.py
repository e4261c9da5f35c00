"""A live bar for the events of a training; plain lines where there is no terminal."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from seq2see.train.event import Evaluated, Event, Finished, Resumed, Stepped

# what is shown of each look: the first of these that is measured, and those behind it that are not nothing
SHOWN = {
    "exact_match": "exact match {:.1f}%",
    "accuracy": "accuracy {:.1f}%",
    "micro_f1": "F1 {:.1f}",
    "bleu": "BLEU {:.1f}",
    "bleu_4": "BLEU-4 {:.1f}",
}
SMOOTH = 0.95  # of the running means that the bar shows
QUIET = 60  # seconds between two lines of a preparation that nobody watches


def show_progress(events: Iterable[Event], console: Console, *, total: int, unit: str = "tokens") -> Finished:
    """Show events until the training is finished; the last one is returned."""
    bar = Progress(
        TextColumn("training"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TextColumn("{task.fields[numbers]}"),
        TimeElapsedColumn(),
        TextColumn("ETA {task.fields[eta]}"),
        console=console,
        disable=not console.is_terminal,
    )
    view = _View(bar, console, total, unit)
    with bar:
        for event in events:
            view.show(event)
            if isinstance(event, Finished):
                return event
    raise AssertionError("a training ends with Finished")


@contextmanager
def showing_preparation(console: Console) -> Iterator[Callable[[int, int], None]]:
    """A bar for what is made ready before a training, which appears only if there is such work."""
    columns = (
        TextColumn("looking at pictures"),
        BarColumn(bar_width=24),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("ETA"),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task("pictures", visible=False)
        began, ready = (0.0, 0), -1  # when, and how many were ready by then and are now
        told = time.monotonic()

        def tell(done: int, total: int) -> None:
            nonlocal began, ready, told
            bar.update(task, completed=done, total=total, visible=True)
            now = time.monotonic()
            if not 0 <= ready <= done:  # the first pictures, or those of the next file
                began = (now, done)
            ready = done
            if not console.is_terminal and now - told >= QUIET and done > began[1]:
                told = now
                left = (now - began[0]) / (done - began[1]) * (total - done)
                console.print(f"looking at pictures: {done:,} of {total:,}, ETA {write_time(left)}")

        yield tell


def write_time(seconds: float) -> str:
    """Hours, minutes and seconds."""
    whole = int(seconds)
    return f"{whole // 3600}:{whole // 60 % 60:02d}:{whole % 60:02d}"


class _View:
    """Running means, and the line they make."""

    def __init__(self, bar: Progress, console: Console, total: int, unit: str) -> None:
        self.bar, self.console, self.total, self.unit = bar, console, total, unit
        self.task = bar.add_task("training", total=total, numbers="", eta="?")
        self.loss = self.speed = self.pace = 0.0
        self.seen = 0
        self.score = ""

    def show(self, event: Event) -> None:
        if isinstance(event, Stepped):
            self._step(event)
        elif isinstance(event, Evaluated):
            self._look(event)
        elif isinstance(event, Resumed):
            for sentence in event.skipped:
                self.console.print(f"warning: {sentence} Going on from the checkpoint before it.")
            self.console.print(f"going on from update {event.update:,}")
            self.bar.update(self.task, completed=event.update)

    def _step(self, event: Stepped) -> None:
        keep = SMOOTH if self.seen else 0.0
        self.seen += 1
        self.loss = keep * self.loss + (1 - keep) * event.loss
        self.speed = keep * self.speed + (1 - keep) * event.tokens / event.seconds
        self.pace = keep * self.pace + (1 - keep) * event.seconds
        numbers = f"loss {self.loss:.3f}{self.score}  {self.speed:,.0f} {self.unit}/s"
        eta = write_time(self.pace * (self.total - event.update))
        self.bar.update(self.task, completed=event.update, numbers=numbers, eta=eta)

    def _look(self, event: Evaluated) -> None:
        first, *others = [name for name in SHOWN if name in event.metrics]
        shown = [first, *(name for name in others if event.metrics[name])]
        self.score = "".join("  " + SHOWN[name].format(event.metrics[name]) for name in shown)
        mark = " (best so far)" if event.best else ""
        perplexity = f"  perplexity {event.metrics['perplexity']:.2f}" if "perplexity" in event.metrics else ""
        self.console.print(
            f"update {event.update:>6,}  loss {self.loss:.3f}  held-out loss {event.metrics['valid_loss']:.3f}"
            f"{perplexity}{self.score}{mark}  {self.speed:,.0f} {self.unit}/s"
        )
