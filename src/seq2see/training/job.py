"""A prepared training: its loop, its data, what was decided, and how long it will take."""

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from seq2see.data.batch import plan_batches
from seq2see.data.pairs import Finding, Pairs
from seq2see.training.loop import TrainingLoop


@dataclass(frozen=True)
class Job:
    """Everything a training needs, prepared.

    Args:
        loop: the training loop, with model, task and training data.
        train: the training pairs as they were read, without those that were held out.
        valid: the validation pairs: given, or held out of the training pairs.
        test: the test pairs; None without any.
        code: the user's own code files that the configuration names.
        taken: what came from other runs, one sentence each.
        findings: what the data doctor found.
        remarks: what was decided from the data and why, by key of the configuration.
        again: whether the folder held this run before, so that its training goes on.
        going_on: what the run becomes, if it goes on under new limits; empty if it does not.
    """

    loop: TrainingLoop
    train: Pairs
    valid: Pairs
    test: Pairs | None
    code: list[Path]
    taken: list[str]
    findings: Sequence[Finding] = ()
    remarks: Mapping[str, str] = field(default_factory=dict)
    again: bool = False
    going_on: str = ""

    @property
    def unknown(self) -> float:
        """Return the share (0 to 1) of target tokens, end marks aside, that the vocabulary does not have."""
        return self.loop.task.target.unknown_share(self.loop.store.target)

    def estimate(self, samples: int = 3) -> float:
        """Return the seconds that the remaining updates will take, from a few batches without an optimizer step.

        Args:
            samples: how many batches are timed for each kind of update, after one that warms up.
        """
        loop, train = self.loop, self.loop.config.train
        left = range(loop.state.update + 1, train.updates + 1)
        kinds = [[update for update in left if loop.learner.objective.needs_references(update) == r] for r in (0, 1)]
        saved = loop.model.state_dict().keys()
        moving = {name: buffer.clone() for name, buffer in loop.model.named_buffers() if name in saved}  # by a loss
        # the last update of a kind takes longest: scheduled sampling has its largest share
        seconds = sum(len(updates) * self._time(updates[-1], samples) for updates in kinds if updates)
        for name, before in moving.items():
            loop.model.get_buffer(name).copy_(before)
        return seconds

    def _time(self, update: int, samples: int) -> float:
        """Return the seconds that one update takes."""
        loop, train = self.loop, self.loop.config.train
        lengths = loop.store.source.lengths, loop.store.target.lengths
        plan = plan_batches(*lengths, budget=train.batch_tokens, seed=loop.config.seed, epoch=0)
        seconds = []
        for rows in plan[: samples + 1]:
            began = time.perf_counter()
            loop.workers.rehearse(update, rows)
            seconds.append(time.perf_counter() - began)
        steady = seconds[1:] or seconds  # the first one warms up
        return sum(steady) / len(steady) * train.accumulate
