"""What every process of a training does: gradients of its share of an update, and one step with those of all."""

import math
import zlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, optim

from seq2see.config.schema import Config
from seq2see.data.batch import Batch, turn
from seq2see.tasks.task import Task
from seq2see.train.checkpoint import dump_optimizer, restore_optimizer
from seq2see.train.ema import keep_average
from seq2see.train.muon import find_matrices, move_matrices

# between the seeds of two workers: 2 ** 32 over the golden ratio, because torch takes the lowest 32 bits of a seed, and
# multiples of it are as far from each other as they can be, so that no worker repeats what another one drew
STREAMS = 2_654_435_769


@dataclass(frozen=True)
class Sums:
    """What the batches of an update add up to, beside the gradients."""

    loss: float  # with smoothing
    tokens: int  # target tokens, without padding
    moved: bool = True  # whether the gradient was a number, so that there was a step


class Learner:
    """A model with its optimizer."""

    def __init__(self, config: Config, task: Task, model: Any) -> None:
        self.config, self.task, self.model = config, task, model
        train = config.train
        self.optimizer = optim.AdamW(
            model.parameters(),
            lr=train.learning_rate,
            betas=(0.9, train.beta2),
            weight_decay=train.weight_decay,
            fused=True,
        )
        if train.optimizer == "muon":
            move_matrices(self.optimizer, find_matrices(model))
        if train.ema:
            keep_average(self.optimizer, decay=train.ema)

    def learn(
        self,
        update: int,
        batches: Iterable[Batch | None],
        *,
        worker: int = 0,
        learned: Callable[[int], None] = lambda tokens: None,
    ) -> Sums:
        """Add the gradients of the summed loss; all that is random follows from seed, update and worker.

        A batch of which nothing is for this worker is None; `learned` hears of the tokens of each.
        """
        train = self.config.train
        torch.manual_seed((self.config.seed * 1_000_003 + update + worker * STREAMS) % 2**64)
        self.model.train()
        total, tokens = 0.0, 0
        guessed = train.scheduled_sampling * update / train.updates
        turned = self.turns(update)  # and then not rewarded, for what is rewarded is from source to target
        rewarded = train.reward.share if train.reward is not None and self.rewards(update) and not turned else 0.0
        taught = train.teacher.share if train.teacher is not None and not turned else 0.0
        for batch in batches:
            if batch is None:
                learned(0)
                continue
            given = turn(batch) if turned else batch
            loss = self.task.loss(
                self.model, given, smoothing=train.label_smoothing, guessed=guessed, rewarded=rewarded, taught=taught
            )
            loss.total.backward()
            total, tokens = total + loss.total.item(), tokens + loss.tokens
            learned(loss.tokens)
        return Sums(total, tokens)

    def turns(self, update: int) -> bool:
        """Whether an update learns from target to source (Ding, Wu & Tao 2021: both directions first)."""
        train = self.config.train
        return update % 2 == 0 and update <= train.both_ways * train.updates

    def rewards(self, update: int) -> bool:
        """Whether outputs are rewarded at an update."""
        train = self.config.train
        return train.reward is not None and update > train.reward.after * train.updates

    def descend(self, rate: float, tokens: int) -> bool:
        """One step against the mean gradient, clipped; a gradient that is not a number changes nothing, and is told."""
        gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients).item() / tokens
        moved = math.isfinite(norm)
        if moved:
            clip = self.config.train.clip
            shrink = min(1.0, clip / (norm + 1e-6)) if clip else 1.0
            torch._foreach_mul_(gradients, shrink / tokens)
            for group in self.optimizer.param_groups:
                group["lr"] = rate
            self.optimizer.step()
        self.optimizer.zero_grad()
        return moved

    def dump(self) -> dict[str, Tensor]:
        """Everything that learning changes, by name."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        return tensors | {f"optimizer.{n}": t for n, t in dump_optimizer(self.optimizer, self.model).items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `dump` gave."""
        self.model.load_state_dict(strip(tensors, "model."))
        restore_optimizer(self.optimizer, self.model, strip(tensors, "optimizer."))

    def checksum(self) -> int:
        """A number that two different sets of weights hardly share."""
        number = 0
        for parameter in self.model.parameters():
            number = zlib.crc32(parameter.detach().reshape(-1).view(torch.uint8).numpy().data, number)
        return number


def strip(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """The tensors whose names begin with a prefix, without it."""
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
