"""The table of seq2see beside its peers: a row for each peer and model, a column for each thing that is measured."""

import statistics
from typing import Any

# column: (part, key of the result, whether more is better)
COLUMNS = {
    "training tokens/s": ("training", "speed", True),
    "tokens/update": ("training", "batch", None),
    "first update s": ("training", "first", False),
    "training MiB": ("training", "peak", False),
    "greedy sentences/s": ("decoding", "1", True),
    "beam 5 sentences/s": ("decoding", "5", True),
    "decoding MiB": ("decoding", "peak", False),
    "--help s": ("startup", "help", False),
    "import s": ("startup", "import", False),
}
BASE = "seq2see"  # beside which all others are put


class Table:
    """What was measured, round by round, and what could not be."""

    def __init__(self, peers: list[str]) -> None:
        self.peers = peers
        self._found: dict[tuple[str, str, str], list[dict[str, Any]]] = {}  # by peer, model and part
        self._failures: dict[tuple[str, str, str], str] = {}

    def add(self, peer: str, model: str, part: str, found: dict[str, Any]) -> None:
        """One more round."""
        self._found.setdefault((peer, model, part), []).append(found)

    def fail(self, peer: str, model: str, part: str, reason: str) -> None:
        """It cannot be measured; it will not be tried again."""
        self._failures[peer, model, part] = reason

    def has_failed(self, peer: str, model: str, part: str) -> bool:
        """Whether it could not be measured before."""
        return (peer, model, part) in self._failures

    def show(self) -> None:
        """Print it: medians over rounds, and in brackets how many times better seq2see is."""
        headings = ["peer", "model", *COLUMNS, "same outputs, greedy and beam", "note"]
        print(f"| {' | '.join(headings)} |\n|{'---|' * len(headings)}")
        for model in dict.fromkeys(key[1] for key in [*self._found, *self._failures]):
            for peer in self.peers:
                cells = [self._cell(peer, model, column) for column in COLUMNS]
                reasons = {key[2]: why for key, why in self._failures.items() if key[:2] == (peer, model)}
                note = "; ".join(f"{part} failed: {why}" for part, why in reasons.items())
                if any(cells) or note:
                    print(f"| {' | '.join([peer, model, *cells, self._same(peer, model), note])} |")
        spread = max((max(values) / min(values) - 1 for values in self._all_values()), default=0.0)
        print(f"\nLargest difference between the rounds of one cell: {spread:.0%}.")

    def _values(self, peer: str, model: str, column: str) -> list[float]:
        part, key, _ = COLUMNS[column]
        return [row[key] for row in self._found.get((peer, model, part), []) if key in row]

    def _all_values(self) -> list[list[float]]:
        cells = [self._values(peer, model, column) for peer, model, _ in self._found for column in COLUMNS]
        return [values for values in cells if values]

    def _cell(self, peer: str, model: str, column: str) -> str:
        values, ours = (self._values(name, model, column) for name in (peer, BASE))
        if not values:
            return ""
        value, more = statistics.median(values), COLUMNS[column][2]
        shown = f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
        if more is None or not ours or peer == BASE:
            return shown
        ratio = statistics.median(ours) / value
        return f"{shown} ({ratio if more else 1 / ratio:.2f})"

    def _same(self, peer: str, model: str) -> str:
        rows = self._found.get((peer, model, "decoding"), [])
        return " ".join(f"{share:.1%}" for share in rows[-1]["same"]) if rows else ""
