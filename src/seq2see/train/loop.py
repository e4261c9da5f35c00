"""The training loop: a generator of events, so that whoever watches decides what to show, and when to stop."""

import math
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, Seq2SeeError
from seq2see.core.number import say_count
from seq2see.core.registry import part
from seq2see.data.batch import plan_batches
from seq2see.data.sources import vary
from seq2see.data.store import Store
from seq2see.models.share import table_scales
from seq2see.tasks.task import Task
from seq2see.train.checkpoint import Checkpoint, average, read_checkpoint, write_checkpoint
from seq2see.train.distributed import Crew, Share, Slice
from seq2see.train.ema import averaged
from seq2see.train.event import Evaluated, Event, Finished, Resumed, Stepped
from seq2see.train.folder import RunFolder
from seq2see.train.learner import Learner, strip
from seq2see.train.record import Record
from seq2see.train.schedule import Schedule
from seq2see.train.team import choose_team, recall_team

KEPT = 2  # checkpoints to go on from: should the newest be damaged, there is one before it
HOPELESS = 20  # updates in a row whose gradient is not a number before we give up


@dataclass(frozen=True)
class Standing:
    """Where a training stands; together with the tensors, all that is needed to go on bit for bit."""

    update: int = 0
    epoch: int = 0
    batch: int = 0  # position in the plan of the epoch
    best: float | None = None
    waited: int = 0
    complete: bool = False


@dataclass
class Fit:
    """One training: what it trains, on what, and where it keeps its state."""

    config: Config
    task: Task
    model: Any
    store: Store
    evaluate: Callable[[Share], dict[str, float]]
    folder: RunFolder
    settle: Callable[[Mapping[str, Tensor]], dict[str, Any]] = lambda _: {}  # facts about the final weights
    held_out: str = ""  # the fingerprint of what is evaluated on

    def __post_init__(self) -> None:
        train = self.config.train
        self.learner = Learner(self.config, self.task, self.model)
        self.team = choose_team(train, self.model)
        self._alone = recall_team(train, self.model, None)
        self._crew: Crew | None = None
        schedule = part("schedule", train.schedule, path=("train", "schedule"))
        self.schedule: Schedule = schedule(updates=train.updates, size=self.model.output.in_features)
        self.standing = Standing()

    def run(self, stop: Callable[[], bool] = lambda: False) -> Iterator[Event]:
        """Train until done, from the newest whole checkpoint if there is one; yield what happens."""
        yield from self._resume()
        if self.standing.complete:
            yield Finished(self.standing.update, "the training was complete already", complete=True)
            return
        self._record = Record(self.folder, self.standing.update)
        try:
            self.crew.sync()
            yield from self._train(stop)
        finally:
            self._record.close()
            self.close()

    @property
    def crew(self) -> Crew:
        """The processes that train; they start when they are first needed, and `close` ends them."""
        if self._crew is None:
            self._crew = Crew(self.learner, self.store, self.team, self.folder.path)
        return self._crew

    def close(self) -> None:
        """End all processes but this one, which gets the threads that it would have alone."""
        if self._crew is not None:
            self._crew.close()
        self._crew = None
        torch.set_num_threads(self._alone.threads)

    def _train(self, stop: Callable[[], bool]) -> Iterator[Event]:
        batches = self._batches()
        faults = 0
        while self.standing.update < self.config.train.updates and not self._is_patience_lost():
            stepped = self._update(batches)
            faults = 0 if stepped.moved else faults + 1
            if faults >= HOPELESS:
                raise Seq2SeeError(
                    f"the gradient was not a number {HOPELESS} times in a row; lower train.learning_rate."
                )
            yield stepped
            if self._is_look(self.standing.update):
                yield self._look(stepped.learning_rate)
            if stop():
                self._save()
                yield Finished(self.standing.update, "stopped", complete=False)
                return
        yield self._finish()

    def _resume(self) -> Iterator[Resumed]:
        skipped = []
        for path in self.folder.checkpoints():
            try:
                checkpoint = read_checkpoint(path)
            except CheckpointError as error:
                skipped.append(str(error))
                continue
            self._restore(checkpoint)
            yield Resumed(self.standing.update, tuple(skipped))
            break
        else:
            if skipped:
                raise CheckpointError(f"no checkpoint is whole: {skipped[0]} Train again in another folder.")
            self._respect_weights()

    def _respect_weights(self) -> None:
        """Without a checkpoint to go on from, weights of a complete training stay what they are."""
        if self.folder.weights_file.is_file():
            facts = read_checkpoint(self.folder.weights_file).facts
            if facts["complete"]:  # else: killed before the first checkpoint, so begin again
                self.standing = Standing(update=facts["update"], complete=True)

    def _restore(self, checkpoint: Checkpoint) -> None:
        if checkpoint.facts["fingerprint"] != self.store.fingerprint:
            raise CheckpointError(
                f"{self.folder.path}: the training data has changed since this run began; train in another folder."
            )
        if checkpoint.facts.get("held_out", self.held_out) != self.held_out:
            raise CheckpointError(
                f"{self.folder.path}: the held-out data has changed since this run began, and its looks could not be "
                "compared; train in another folder."
            )
        try:
            self.learner.restore(checkpoint.tensors)
        except (RuntimeError, KeyError, ValueError):
            raise CheckpointError(
                f"{self.folder.path}: its checkpoint must fit the model of its configuration; got another, perhaps of "
                "another version of seq2see; train in another folder."
            ) from None
        self.team = recall_team(self.config.train, self.model, checkpoint.facts.get("team"))
        self.schedule.restore(checkpoint.facts["schedule"])
        self.standing = Standing(**checkpoint.facts["standing"])

    def _batches(self) -> Iterator[tuple[int, int, Slice]]:
        """The rows of the batches from where the training stands, each with epoch and position of the one after it."""
        epoch, start = self.standing.epoch, self.standing.batch
        budget, seed = self.config.train.batch_tokens, self.config.seed
        while True:
            lengths = self.store.source.lengths, self.store.target.lengths
            plan = plan_batches(*lengths, budget=budget, seed=seed, epoch=epoch)
            store = replace(self.store, source=vary(self.store.source, seed=seed, epoch=epoch))
            for number in range(start, len(plan)):
                after = (epoch, number + 1) if number + 1 < len(plan) else (epoch + 1, 0)
                yield *after, (store, plan[number])
            epoch, start = epoch + 1, 0

    def _update(self, batches: Iterator[tuple[int, int, Slice]]) -> Stepped:
        """Change the weights once."""
        began = time.perf_counter()
        train, update = self.config.train, self.standing.update + 1
        taken = [next(batches) for _ in range(train.accumulate)]
        rate = train.learning_rate * self.schedule.factor(update)
        sums = self.crew.work(update, [batch for _, _, batch in taken], rate)
        self.standing = replace(self.standing, update=update, epoch=taken[-1][0], batch=taken[-1][1])
        seconds = time.perf_counter() - began
        stepped = Stepped(update, sums.loss / sums.tokens, sums.tokens, seconds, rate, sums.moved)
        self._record.step(loss=stepped.loss, tokens=stepped.tokens, seconds=stepped.seconds)
        return stepped

    def _is_look(self, update: int) -> bool:
        """Whether the held-out data is looked at after an update."""
        return update % self.config.train.evaluate_every == 0 or update == self.config.train.updates

    def _is_patience_lost(self) -> bool:
        return 0 < self.config.train.patience <= self.standing.waited

    def _look(self, learning_rate: float) -> Evaluated:
        """Look at the held-out data, keep the weights if they are the best so far, and save."""
        with averaged(self.learner.optimizer):
            metrics = self.evaluate(self.crew.share)
        value = self._judge(metrics)
        best = math.isfinite(value) and (self.standing.best is None or value < self.standing.best)
        self.standing = replace(
            self.standing, best=value if best else self.standing.best, waited=0 if best else self.standing.waited + 1
        )
        self.schedule.observe(metrics["valid_loss"])
        if best:
            with averaged(self.learner.optimizer):
                self._write_weights(self.model.state_dict(), complete=False)
        self._record.look(update=self.standing.update, learning_rate=learning_rate, metrics=metrics)
        self._save()
        return Evaluated(self.standing.update, metrics, best)

    def _judge(self, metrics: Mapping[str, float]) -> float:
        """What the held-out data says of weights: the less, the better."""
        watched = self.config.train.watch
        value = metrics[watched] if watched in ("valid_loss", "cer") else -metrics[watched]
        return value if math.isfinite(metrics["valid_loss"]) else math.inf

    def _save(self) -> None:
        facts: dict[str, Any] = {"standing": asdict(self.standing), "schedule": self.schedule.state()}
        facts |= {"fingerprint": self.store.fingerprint, "held_out": self.held_out, "team": asdict(self.team)}
        write_checkpoint(self.folder.checkpoint_file(self.standing.update), Checkpoint(self.learner.dump(), facts))
        self._prune()

    def _prune(self) -> None:
        """Keep the newest checkpoint, and as many of those at a look as the average or a damaged one may need."""
        _, *others = self.folder.checkpoints()
        kept = self._at_looks()[: max(KEPT, self.config.train.average)]
        for path in others:
            if path not in kept:
                path.unlink()

    def _at_looks(self) -> list[Path]:
        """The checkpoints at a look, newest first: one that was saved on stopping is not among them."""
        return [path for path in self.folder.checkpoints() if self._is_look(int(path.stem.removeprefix("update-")))]

    def _write_weights(self, tensors: Mapping[str, Tensor], *, complete: bool) -> None:
        facts: dict[str, Any] = {"update": self.standing.update, "complete": complete}
        facts |= self.settle(tensors) if complete else {}
        facts |= {"longest_target": self.task.longest_target, "scales": table_scales(self.model)}
        self.folder.write_weights(tensors, self.config, facts)

    def _finish(self) -> Finished:
        if self.standing.best is None:
            raise Seq2SeeError("the held-out loss was never a number; lower train.learning_rate, in another folder.")
        reason = "no better for a while" if self._is_patience_lost() else "all updates made"
        weights, other = self._choose_weights()
        self._write_weights(weights, complete=True)
        self.standing = replace(self.standing, complete=True)
        self._save()
        return Finished(self.standing.update, reason + other, complete=True)

    def _choose_weights(self) -> tuple[Mapping[str, Tensor], str]:
        """The average of the last checkpoints, unless the best ones are better; and a word on which it is."""
        last = self._at_looks()[: self.config.train.average]
        best = read_checkpoint(self.folder.weights_file).tensors
        if not last:
            return best, ""
        mean = average([strip(read_checkpoint(path).tensors, "model.") for path in last])
        model = self.task.build(self.config)
        model.load_state_dict(dict(mean))
        value = self._judge(self.evaluate(lambda do, things: [do(self.task, model, thing) for thing in things]))
        assert self.standing.best is not None
        if value <= self.standing.best:
            return mean, f"; the average of the last {say_count(len(last), 'look')} is kept"
        return best, f"; the best look is kept, for the average of the last {len(last)} is no better"
