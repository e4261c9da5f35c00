"""The metrics of the server, in the text format of Prometheus."""

import threading
from bisect import bisect_left
from collections.abc import Callable, Iterable, Mapping, Sequence

SECOND_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)  # upper bounds
SIZE_BUCKETS = (1, 2, 4, 8, 16, 32, 64, 128)

Labels = tuple[tuple[str, str], ...]


class Counter:
    """A count that only grows, kept apart for each set of labels.

    Args:
        name: the name of the metric in Prometheus.
        about: one sentence that explains it.
    """

    kind = "counter"

    def __init__(self, name: str, about: str) -> None:
        self.name, self.about = name, about
        self._values: dict[Labels, int | float] = {}
        self._lock = threading.Lock()

    def add(self, amount: int | float = 1, **labels: str) -> None:
        """Increase the count of one set of labels.

        Args:
            amount: the increase, at least 0.
            **labels: names and values of the labels.
        """
        with self._lock:
            key = tuple(sorted(labels.items()))
            self._values[key] = self._values.get(key, 0) + amount

    def lines(self) -> Iterable[str]:
        """Return a line for each set of labels; without any count, one line with 0."""
        with self._lock:
            values = dict(self._values) or {(): 0}
        return [f"{self.name}{_label(dict(key))} {value:g}" for key, value in values.items()]


class Gauge:
    """A number that is read whenever the metrics are rendered.

    Args:
        name: the name of the metric in Prometheus.
        about: one sentence that explains it.
        read: returns the number.
    """

    kind = "gauge"

    def __init__(self, name: str, about: str, read: Callable[[], int | float]) -> None:
        self.name, self.about, self.read = name, about, read

    def lines(self) -> Iterable[str]:
        """Return the line with the number."""
        return [f"{self.name} {self.read():g}"]


class Histogram:
    """Counts of observed numbers in buckets, kept apart for each set of labels.

    Args:
        name: the name of the metric in Prometheus.
        about: one sentence that explains it.
        bounds: the upper bounds of the buckets, inclusive and ascending; a last bucket without bound is added.
    """

    kind = "histogram"

    def __init__(self, name: str, about: str, bounds: Sequence[int | float]) -> None:
        self.name, self.about, self.bounds = name, about, bounds
        self._counts: dict[Labels, list[int]] = {}
        self._sums: dict[Labels, int | float] = {}
        self._lock = threading.Lock()

    def observe(self, value: int | float, **labels: str) -> None:
        """Count one number in its bucket.

        Args:
            value: the number.
            **labels: names and values of the labels.
        """
        with self._lock:
            key = tuple(sorted(labels.items()))
            counts = self._counts.setdefault(key, [0] * (len(self.bounds) + 1))
            counts[bisect_left(self.bounds, value)] += 1
            self._sums[key] = self._sums.get(key, 0.0) + value

    def lines(self) -> Iterable[str]:
        """Return the lines of all buckets, each with the count of all up to its bound, and of the sum and the count."""
        with self._lock:
            found = [(dict(key), list(counts), self._sums[key]) for key, counts in self._counts.items()]
        lines = []
        for labels, counts, total in found:
            below = 0
            for bound, count in zip([*map(str, self.bounds), "+Inf"], counts, strict=True):
                below += count
                lines.append(f"{self.name}_bucket{_label({**labels, 'le': bound})} {below}")
            lines.append(f"{self.name}_sum{_label(labels)} {total:g}")
            lines.append(f"{self.name}_count{_label(labels)} {below}")
        return lines


class ServerMetrics:
    """All metrics of one server."""

    def __init__(self) -> None:
        self.requests = Counter("seq2see_requests_total", "Requests by path and status.")
        self.seconds = Histogram(
            "seq2see_request_duration_seconds", "Seconds from request to response, by path.", SECOND_BUCKETS
        )
        self.batch_size = Histogram("seq2see_batch_size", "Texts in a batch.", SIZE_BUCKETS)
        self.redecoded = Counter("seq2see_redecoded_total", "Texts decoded again alone after a narrow decision.")
        self.output_tokens = Counter("seq2see_output_tokens_total", "Tokens of the outputs that were sent.")
        self.cancelled = Counter("seq2see_cancelled_total", "Requests that timed out, or whose client disconnected.")
        self.gauges: list[Gauge] = []

    def add_gauge(self, name: str, about: str, read: Callable[[], int | float]) -> None:
        """Add a gauge.

        Args:
            name: the name of the metric in Prometheus.
            about: one sentence that explains it.
            read: returns the number whenever the metrics are rendered.
        """
        self.gauges.append(Gauge(name, about, read))

    def render(self) -> str:
        """Return all metrics in the text format of Prometheus."""
        lines: list[str] = []
        shown: list[Counter | Histogram | Gauge] = [self.requests, self.seconds, self.batch_size, self.redecoded]
        for each in [*shown, self.output_tokens, self.cancelled, *self.gauges]:
            lines += [f"# HELP {each.name} {each.about}", f"# TYPE {each.name} {each.kind}", *each.lines()]
        return "\n".join(lines) + "\n"


def _label(labels: Mapping[str, str]) -> str:
    escaped = {
        name: value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n") for name, value in labels.items()
    }
    inner = ",".join(f'{name}="{value}"' for name, value in escaped.items())
    return f"{{{inner}}}" if inner else ""
