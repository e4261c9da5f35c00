"""Records of a training: a line of metrics.jsonl and TensorBoard scalars at every look."""

from dataclasses import dataclass, field
from typing import Any

from torch.utils.tensorboard import SummaryWriter

from seq2see.train.folder import RunFolder


@dataclass
class Record:
    """What happened since the last look."""

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
        """Hear of one update; loss is per token."""
        self.losses, self.tokens, self.seconds = (
            self.losses + loss * tokens,
            self.tokens + tokens,
            self.seconds + seconds,
        )

    def look(self, *, update: int, learning_rate: float, metrics: dict[str, float]) -> None:
        """Write down everything since the last look."""
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
