"""The log of a training: a line of metrics.jsonl and TensorBoard scalars at every validation."""

from dataclasses import dataclass, field
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from seq2see.runs.folder import RunFolder


@dataclass
class MetricsLog:
    """The sums since the last validation."""

    folder: RunFolder
    update: int  # where recording begins; what an earlier, killed run recorded after it is dropped
    losses: float = 0.0
    tokens: int = 0
    seconds: float = 0.0
    _board: Any = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self.folder.rewind_metrics(self.update)
        self._board = SummaryWriter(str(self.folder.path / "tensorboard"), purge_step=self.update + 1)

    def step(self, *, loss: float, tokens: int, seconds: float) -> None:
        """Add one update.

        Args:
            loss: per target token.
            tokens: target tokens, without padding.
            seconds: that the update took.
        """
        self.losses, self.tokens, self.seconds = (
            self.losses + loss * tokens,
            self.tokens + tokens,
            self.seconds + seconds,
        )

    def write(self, *, update: int, learning_rate: float, metrics: dict[str, float]) -> None:
        """Write a row about everything since the last validation."""
        row = {
            "update": update,
            "loss": self.losses / max(self.tokens, 1),
            "learning_rate": learning_rate,
            "tokens_per_second": self.tokens / max(self.seconds, 1e-9),
            "seconds": self.seconds,
            **metrics,
        }
        self.folder.append_metrics(row)
        for name, value in row.items():
            if name != "update":
                self._board.add_scalar(name, value, update)
        self.losses, self.tokens, self.seconds = 0.0, 0, 0.0

    def close(self) -> None:
        """Flush the board."""
        self._board.close()
