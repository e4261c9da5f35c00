"""The training loop: a generator of events, so that the caller decides what to show and when to stop."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from pydantic import TypeAdapter
from torch import Tensor

from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, Seq2SeeError
from seq2see.core.plural import say_count
from seq2see.core.registry import Part, part
from seq2see.data.storage.dataset import Store
from seq2see.models.seq2seq import Seq2Seq
from seq2see.models.shared_parameters import table_scales
from seq2see.objectives.minimum_risk import Reward
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.system.file_lock import FileLock
from seq2see.tasks.task import Task
from seq2see.training.batch_order import order_batches
from seq2see.training.begun_run import check_data
from seq2see.training.checkpoint_retention import is_validated, prune_checkpoints
from seq2see.training.data_parallel import ProcessGroupTrainer, Share, Slice
from seq2see.training.ema import averaged
from seq2see.training.events import Event, Finished, Resumed, Stepped, Validated
from seq2see.training.final_weights import choose_weights
from seq2see.training.learner import Learner
from seq2see.training.metrics_log import MetricsLog
from seq2see.training.parallel_plan import ParallelPlan, plan_workers, restore_plan
from seq2see.training.process_group import ProcessGroup
from seq2see.training.resumption import find_checkpoint, find_complete_state
from seq2see.training.schedules import Schedule
from seq2see.training.training_state import TrainingState, judge, read_progress, say_limits

MAX_FAULTY_UPDATES = 20  # updates in a row whose gradient is not a number before the training fails


@dataclass
class TrainingLoop:
    """One training: what it trains, on what, and where it saves its state.

    Args:
        config: the configuration of the run.
        task: the task, with its tokenizers.
        model: the model whose weights are learned.
        store: the training data.
        evaluate: measures the validation data with the model as it is, and returns the metrics by name.
        folder: the run folder.
        calibrate: returns facts about the final weights, given by name, to be saved with them (such as a temperature).
        held_out: the fingerprint of the validation data, which must not change before a training goes on.
        teachers: the models of a distillation; empty without one.
        reward: the reward of minimum risk training; None without it.
        lock: the lock on the run folder, which `close` releases; None: nobody else can be training there.
    """

    config: Config
    task: Task
    model: Any
    store: Store
    evaluate: Callable[[Share], dict[str, float]]
    folder: RunFolder
    calibrate: Callable[[Mapping[str, Tensor]], dict[str, Any]] = field(default_factory=lambda: lambda _: {})
    held_out: str = ""
    teachers: Sequence[Seq2Seq] = ()
    reward: Reward | None = None
    lock: FileLock | None = None

    def __post_init__(self) -> None:
        train = self.config.train
        self.learner = Learner(self.config, self.task, self.model, teachers=self.teachers, reward=self.reward)
        self.group: ProcessGroup | None = None  # where this process did not start all others
        self.team = plan_workers(train, self.model)
        self._alone = restore_plan(train, self.model, None)
        self._workers: ProcessGroupTrainer | None = None
        schedule: Part[Schedule] = part("schedule", train.schedule, path=("train", "schedule"))
        self.schedule: Schedule = schedule(updates=train.updates, size=self.model.output_layer.in_features)
        self.state = TrainingState()
        self._sums: Mapping[Any, Any] = {}  # of the updates since a validation, as a checkpoint has them
        self._log: MetricsLog | None = None
        self._stopping = False  # whether a process was asked to stop
        self._unvalidated: Stepped | None = None  # the last update, until a validation or a checkpoint

    def run(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Train until done, from the newest intact checkpoint if there is one; yield what happens.

        Args:
            stop: called after every update; if it returns True, the training saves a checkpoint and ends.

        Yields:
            `Resumed` if it goes on from a checkpoint, `Stepped` and `Validated`, and last `Finished`.
        """
        if self.leads:
            yield from self._resume()
        try:
            if self.group is not None or not self.state.complete:
                self._sync()
            if self.state.complete:
                yield Finished(self.state.update, "the training was complete already", complete=True)
                return
            self._log = self._open_log() if self.leads else None
            yield from self._train(stop)
        finally:
            if self._log is not None:
                self._log.close()
            self.close()

    def join(self, group: ProcessGroup, plan: ParallelPlan) -> None:
        """Share the training with processes that this one did not start.

        Args:
            group: their process group.
            plan: how many they are, and how many threads each has.
        """
        self.group, self.team = group, plan

    @property
    def leads(self) -> bool:
        """Return whether this process has rank 0, which alone writes files."""
        return self.group is None or self.group.rank == 0

    @property
    def starts_from_run(self) -> bool:
        """Return whether all weights are those of another run (fine-tuning), which are validated before any update."""
        return self.config.init is not None and self.config.init.run is not None

    @property
    def workers(self) -> ProcessGroupTrainer:
        """Return the worker processes; they start when they are first needed, and `close` ends them."""
        if self._workers is None:
            self._workers = ProcessGroupTrainer(self.learner, self.store, self.team, self.folder.path, group=self.group)
        return self._workers

    def close(self) -> None:
        """End all processes but this one, which gets the threads that it would have alone; unlock the folder."""
        if self._workers is not None:
            self._workers.close()
        self._workers = self._unvalidated = None
        torch.set_num_threads(self._alone.threads)
        if self.lock is not None:
            self.lock.release()

    def pause(self) -> None:
        """Save where the training is, after the validation that its last update is due, if there was none yet."""
        if self._unvalidated is not None and is_validated(self._unvalidated.update, self.config.train):
            self._validate(self._unvalidated.learning_rate)
        elif self._unvalidated is not None:
            self.save()
        if self.group is not None and self._workers is not None and self._goes_on():
            self._workers.cancel(self.state.update + 1)

    def _train(self, stop: Callable[[], bool]) -> Iterator[Event]:
        if self.starts_from_run and self.state.update == 0 and self.state.best is None:
            yield self._validate(0.0)  # so that the weights of the run stay the best unless others are better
        batches = order_batches(self.store, self.config, self.state)
        faults = 0
        while self._goes_on():
            stepped = self._update(batches, stop)
            if stepped is None:
                return  # rank 0 has ended the training, and saved
            faults = 0 if stepped.moved else faults + 1
            if faults >= MAX_FAULTY_UPDATES:
                raise Seq2SeeError(
                    f"the gradient was not a number {MAX_FAULTY_UPDATES} times in a row; lower train.learning_rate."
                )
            yield stepped
            if is_validated(self.state.update, self.config.train):
                yield self._validate(stepped.learning_rate)
            if self._stopping or (self.workers.group is None and stop()):
                self.save()
                yield Finished(self.state.update, "stopped", complete=False)
                return
        yield self._finish()

    def _resume(self) -> Iterator[Resumed]:
        found, skipped = find_checkpoint(self.folder)
        if found is None:
            self.state = find_complete_state(self.folder, self.config.train) or self.state
        else:
            self._restore(*found)
            yield Resumed(self.state.update, tuple(skipped))

    def _restore(self, checkpoint: Checkpoint, file: Path) -> None:
        saved = read_progress(checkpoint.facts, file=file)
        check_data(self.folder, saved, fingerprint=self.store.fingerprint, held_out=self.held_out)
        try:
            self.learner.restore(checkpoint.tensors)
            self.schedule.restore(saved.schedule)
        except (RuntimeError, KeyError, ValueError):
            raise CheckpointError(
                f"{self.folder.path}: its checkpoint must fit the model of its configuration; got another, perhaps of "
                "another version of seq2see; train in another folder."
            ) from None
        if self.group is None:
            self.team = restore_plan(self.config.train, self.model, saved.team)
        self._sums, self.state = saved.sums, saved.go_on(self.config.train)
        if saved.state.complete and not self.state.complete:
            self._reopen()

    def _reopen(self) -> None:
        """Go on with a training that was complete: the best weights take the place of an average, if there is one."""
        if self.folder.best_weights_file.is_file():
            self._write_weights(read_checkpoint(self.folder.best_weights_file).tensors, complete=False)

    def _open_log(self) -> MetricsLog:
        done = range(0 if self.starts_from_run and self.state.best is not None else 1, self.state.update + 1)
        validated = [update for update in done if is_validated(update, self.config.train)]
        return MetricsLog(self.folder, self.state.update, validated, **self._sums)

    def _update(self, batches: Iterator[tuple[int, int, Slice]], stop: Callable[[], bool]) -> Stepped | None:
        """Change the weights once; None if another process has ended the training before."""
        began = time.perf_counter()
        train, update = self.config.train, self.state.update + 1
        taken = [next(batches) for _ in range(train.accumulate)]
        rate = train.learning_rate * self.schedule.factor(update)
        sums = self.workers.work(update, [batch for _, _, batch in taken], rate, stop=stop)
        if sums.cancelled:
            return None
        self._stopping = sums.stop
        self.state = self.state.after_update(update, epoch=taken[-1][0], batch=taken[-1][1])
        seconds = time.perf_counter() - began
        stepped = Stepped(update, sums.loss / sums.tokens, sums.tokens, seconds, rate, sums.moved)
        if self._log is not None:
            self._log.step(loss=stepped.loss, tokens=stepped.tokens, seconds=stepped.seconds)
        self._unvalidated = stepped
        return stepped

    def _goes_on(self) -> bool:
        """Return whether another update is to be made."""
        over = self.state.complete or self._stopping or self.state.stops_early(self.config.train.patience)
        return not over and self.state.update < self.config.train.updates

    def _validate(self, learning_rate: float) -> Validated:
        """Measure the validation data, keep the weights if they are the best so far, and save."""
        with averaged(self.learner.optimizer):
            metrics = self.evaluate(self.workers.share)
        value = judge(metrics, self.config.train.monitor)
        best = math.isfinite(value) and (self.state.best is None or value < self.state.best)
        self.state = self.state.after_validation(value, best=best)
        self.schedule.observe(metrics["valid_loss"])
        if best:
            with averaged(self.learner.optimizer):
                self._write_weights(self.model.state_dict(), complete=False)
        if self._log is not None:
            self._log.write(update=self.state.update, learning_rate=learning_rate, metrics=metrics)
        self.save()
        return Validated(self.state.update, metrics, best)

    def _judge_alone(self, weights: Mapping[str, Tensor]) -> float:
        """Return the monitored metric of weights, measured in this process alone; less is always better."""
        model = self.task.build(self.config).to(self.model.device)
        model.load_state_dict(dict(weights))
        metrics = self.evaluate(lambda do, items: [do(self.task, model, item) for item in items])
        return judge(metrics, self.config.train.monitor)

    def _sync(self) -> None:
        """Give all processes what rank 0 knows, so that they go on from the same place."""
        facts = self.workers.sync({"state": self.state.to_json(), "schedule": dict(self.schedule.state())})
        if not self.leads:
            told = TypeAdapter(dict[str, dict[str, Any]]).validate_python(facts)
            self.state = TrainingState(**told["state"])
            self.schedule.restore(told["schedule"])

    def save(self) -> None:
        """Write a checkpoint of this update, and remove those that are no longer needed."""
        self._unvalidated = None
        if self._log is None:
            return
        facts: dict[str, Any] = {"state": self.state.to_json(), "schedule": self.schedule.state()}
        facts |= {"fingerprint": self.store.fingerprint, "held_out": self.held_out, "team": asdict(self.team)}
        facts |= {"limits": say_limits(self.config.train), "sums": self._log.sums()}
        write_checkpoint(self.folder.checkpoint_file(self.state.update), Checkpoint(self.learner.dump(), facts))
        prune_checkpoints(self.folder, self.config.train)

    def _write_weights(self, tensors: Mapping[str, Tensor], *, complete: bool) -> None:
        if not self.leads:
            return
        facts: dict[str, Any] = {"update": self.state.update, "complete": complete}
        facts |= {**self.calibrate(tensors), "limits": say_limits(self.config.train)} if complete else {}
        facts |= {"longest_target": self.task.longest_target, "scales": table_scales(self.model)}
        self.folder.write_weights(tensors, self.config, facts)

    def _finish(self) -> Finished:
        if self.state.best is None:
            raise Seq2SeeError("the held-out loss was never a number; lower train.learning_rate, in another folder.")
        patience, reason = self.config.train.patience, "all updates made"
        if self.state.stops_early(patience):
            reason = f"early stopping: no improvement in {say_count(patience, 'validation')}"
        self.state = replace(self.state, complete=True)
        if self.leads and self.state.best is not None:
            weights, other = choose_weights(self.folder, self.config.train, self._judge_alone, self.state.best)
            reason += other
            self._write_weights(weights, complete=True)
            self.save()
        return Finished(self.state.update, reason, complete=True)
