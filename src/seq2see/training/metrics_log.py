"""The log of a training: a line of metrics.jsonl and TensorBoard scalars at every validation."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from seq2see.runs.folder import RunFolder
from seq2see.runs.metrics_file import append_row, rewind_rows


@dataclass
class MetricsLog:
    """The sums over the updates since the last validation.

    Args:
        folder: the run folder, whose metrics.jsonl and TensorBoard log are written.
        update: the update after which recording begins; what an earlier, killed run recorded after it is dropped.
        expected: the updates up to then that were validated.
        losses: the summed loss since the last validation.
        tokens: the target tokens since then, without padding.
        seconds: the time that the updates since then took.
    """

    folder: RunFolder
    update: int
    expected: Sequence[int] = ()
    losses: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    _board: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        rewind_rows(self.folder.metrics_file, self.update, self.expected)
        self._board = SummaryWriter(str(self.folder.path / "tensorboard"), purge_step=self.update + 1)

    def step(self, *, loss: float, tokens: int, seconds: float) -> None:
        """Add one update.

        Args:
            loss: its mean loss of a target token.
            tokens: its target tokens, without padding.
            seconds: the time that it took.
        """
        self.losses, self.tokens, self.seconds = (
            self.losses + loss * tokens,
            self.tokens + tokens,
            self.seconds + seconds,
        )

    def sums(self) -> dict[str, int | float]:
        """Return the sums since the last validation by name, for a checkpoint between two validations."""
        return {"losses": self.losses, "tokens": self.tokens, "seconds": self.seconds}

    def write(self, *, update: int, learning_rate: float, metrics: dict[str, float]) -> None:
        """Write a row about all updates since the last validation, and begin new sums.

        Args:
            update: the number of updates made.
            learning_rate: the rate of the last update.
            metrics: what the validation measured, by name.
        """
        row = {
            "update": update,
            **({"loss": self.losses / self.tokens} if self.tokens else {}),  # none before the first update
            "learning_rate": learning_rate,
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
            "seconds": self.seconds,
            **metrics,
        }
        append_row(self.folder.metrics_file, row)
        for name, value in row.items():
            if name != "update":
                self._board.add_scalar(name, value, update)
        self.losses, self.tokens, self.seconds = 0.0, 0, 0.0

    def close(self) -> None:
        """Flush and close the TensorBoard log."""
        self._board.close()
