"""What every process of a training does: the gradients of its part of an update, and the same optimizer step."""

import math
import zlib
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

import torch
from torch import Tensor, optim

from seq2see.config.schema import Config
from seq2see.data.batch import Batch
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.build import build_objective
from seq2see.objectives.minimum_risk import Reward
from seq2see.runs.checkpoint import dump_optimizer, restore_optimizer
from seq2see.tasks.task import Task
from seq2see.training.ema import KEY, keep_average
from seq2see.training.muon import find_matrices, move_matrices
from seq2see.training.precision import Precision

# between the seeds of two workers: 2 ** 32 over the golden ratio, because torch takes the lowest 32 bits of a seed, and
# multiples of it are as far from each other as they can be, so that no worker repeats the random numbers of another
SEED_DISTANCE = 2_654_435_769

# what the optimizers keep of a parameter
ADAM_STATE = {"step", "exp_avg", "exp_avg_sq"}
MUON_STATE = {"step", "momentum"}

NetworkT = TypeVar("NetworkT", bound=Network)


@dataclass(frozen=True)
class Sums:
    """The sums over the batches of an update, beside the gradients.

    Args:
        loss: the summed loss, with label smoothing and all terms of the objective.
        tokens: how many target tokens it was summed over, without padding (sources, for labels).
        moved: whether the gradient was finite, so that the optimizer made a step.
        stop: whether a process was asked to stop after this update.
        cancelled: whether a process ended the training before this update, which changed nothing.
    """

    loss: float
    tokens: int
    moved: bool = True
    stop: bool = False
    cancelled: bool = False


class Learner(Generic[NetworkT]):
    """A model with its objective and its optimizer.

    Args:
        config: the configuration of the run.
        task: the task of the run, with its tokenizers.
        model: the model whose weights are learned.
        teachers: the models of a distillation; empty without one.
        reward: the reward of minimum risk training; None without it.
    """

    def __init__(
        self,
        config: Config,
        task: Task,
        model: NetworkT,
        *,
        teachers: Sequence[Seq2Seq] = (),
        reward: Reward | None = None,
    ) -> None:
        self.config, self.task, self.model, self.reward = config, task, model, reward
        self.objective = build_objective(config, task, teachers=teachers, reward=reward)
        train = config.train
        self.precision = Precision(train.precision)
        self.optimizer = optim.AdamW(
            model.parameters(),
            lr=train.learning_rate,
            betas=(0.9, train.beta2),
            weight_decay=train.weight_decay,
            fused=True,
        )
        self.matrices = find_matrices(Network.of(model)) if train.optimizer == "muon" else []
        if self.matrices:
            move_matrices(self.optimizer, self.matrices)
        if train.ema:
            keep_average(self.optimizer, decay=train.ema)

    def accumulate_gradients(
        self,
        update: int,
        batches: Sequence[Batch | None],
        *,
        rank: int = 0,
        after_batch: Callable[[int], None] = lambda tokens: None,
        around_last: Callable[[], AbstractContextManager[None]] = nullcontext,
    ) -> Sums:
        """Add the gradients of the summed loss of some batches to those that the parameters have.

        Args:
            update: its number, from 1; all random numbers follow from it, the seed and the rank.
            batches: this process's part of each batch; None where nothing of a batch is for this process.
            rank: the rank of this process in the process group; 0 is the main process.
            after_batch: called after each batch with the number of its target tokens in this process.
            around_last: the backward pass of the last batch runs inside its context.
        """
        torch.manual_seed((self.config.seed * 1_000_003 + update + rank * SEED_DISTANCE) % 2**64)
        self.model.train()
        losses: list[Tensor] = []
        tokens = 0
        for number, batch in enumerate(batches, start=1):
            if batch is None:
                after_batch(0)
                continue
            with self.precision.autocast(self.model.device):
                loss = self.objective(self.model, batch.to(self.model.device), update)
            with around_last() if number == len(batches) else nullcontext():
                (loss.total * self.precision.factor).backward()
            losses.append(loss.total.detach())
            tokens += loss.tokens
            after_batch(loss.tokens)
        # the host waits for an accelerator once, not after each batch
        return Sums(sum(torch.stack(losses).tolist()) if losses else 0.0, tokens)

    def optimizer_step(self, learning_rate: float, tokens: int) -> bool:
        """Make one optimizer step with the mean gradient of a token, clipped to the norm train.clip_gradient.

        Args:
            learning_rate: the rate of this step, after the schedule.
            tokens: the number of target tokens that the gradients were summed over.

        Returns:
            False, without any change of the weights, if the gradient is not finite.
        """
        gradients = [parameter.grad for parameter in self.model.parameters() if parameter.grad is not None]
        norm = torch.nn.utils.get_total_norm(gradients).item() / self.precision.factor / tokens
        finite = math.isfinite(norm)
        if finite:
            largest = self.config.train.clip_gradient
            scale = min(1.0, largest / (norm + 1e-6)) if largest else 1.0
            torch._foreach_mul_(gradients, scale / self.precision.factor / tokens)
            for group in self.optimizer.param_groups:
                group["lr"] = learning_rate
            self.optimizer.step()
        self.optimizer.zero_grad()
        self.precision.observe(finite=finite)
        return finite

    def dump(self) -> dict[str, Tensor]:
        """Return all tensors that learning changes by name: `model.NAME`, `optimizer.KEY.NAME` and `precision.NAME`."""
        tensors = {f"model.{name}": tensor for name, tensor in self.model.state_dict().items()}
        tensors |= {f"precision.{name}": tensor for name, tensor in self.precision.dump().items()}
        return tensors | {f"optimizer.{n}": t for n, t in dump_optimizer(self.optimizer, self.model).items()}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `dump` returned.

        Args:
            tensors: the tensors by the names that `dump` gives them.

        Raises:
            RuntimeError: they are those of another model.
            ValueError: they are those of another optimizer.
        """
        self.model.load_state_dict(strip(tensors, "model."))
        self.precision.restore(strip(tensors, "precision."))
        restore_optimizer(self.optimizer, self.model, strip(tensors, "optimizer."))
        matrices, average = set(self.matrices), {KEY} if self.config.train.ema else set()
        for parameter in self.model.parameters():
            state = self.optimizer.state[parameter]
            expected = average | (MUON_STATE if parameter in matrices else ADAM_STATE)
            shapes = {name: tensor.shape for name, tensor in state.items() if name != "step"}
            if state and (state.keys() != expected or set(shapes.values()) != {parameter.shape}):
                raise ValueError("the state of an optimizer must be that of its parameters")

    def checksum(self) -> int:
        """Return a CRC-32 of all weights, which two different sets of weights hardly share."""
        number = 0
        for parameter in self.model.parameters():
            number = zlib.crc32(parameter.detach().reshape(-1).cpu().view(torch.uint8).numpy().data, number)
        return number


def strip(tensors: Mapping[str, Tensor], prefix: str) -> dict[str, Tensor]:
    """Return the tensors whose names begin with a prefix, by their names without it.

    Args:
        tensors: the tensors by name.
        prefix: the beginning of the names, its dot included, such as `model.`.
    """
    return {name.removeprefix(prefix): tensor for name, tensor in tensors.items() if name.startswith(prefix)}
