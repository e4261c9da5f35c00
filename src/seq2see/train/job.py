"""A training job: from a configuration to a `Fit` that is ready to run, checked before any time is spent."""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from seq2see.config.load import preset_names
from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, ConfigError, DataError
from seq2see.core.files import write_atomic
from seq2see.core.foreign import admit
from seq2see.core.registry import shorten
from seq2see.data.batch import collate, plan_batches
from seq2see.data.doctor import Diagnosis
from seq2see.data.kinds import cannot_be_labels, guess_kind, guess_labels
from seq2see.data.labels import LabelSet, split_labels
from seq2see.data.pairs import Pairs
from seq2see.data.sequences import Sequences, pack
from seq2see.data.sources import make_ready
from seq2see.data.split import split_pairs
from seq2see.data.store import Store, cache_folder, prepare
from seq2see.data.tokenise import UNKNOWN, Tokenizer
from seq2see.search.choose import read_search
from seq2see.tasks.reward import build_measure
from seq2see.tasks.task import Task, learn_task
from seq2see.train.checkpoint import read_checkpoint
from seq2see.train.distributed import Share
from seq2see.train.folder import RunFolder, describe_changes
from seq2see.train.look import measure
from seq2see.train.loop import Fit
from seq2see.train.pretrained import choose_tokenizers, freeze, read_pretrained, take_over
from seq2see.train.teachers import add_teachers
from seq2see.train.vectors import lay_vectors


@dataclass(frozen=True)
class Job:
    """Everything a training needs, made ready."""

    fit: Fit
    train: Pairs
    valid: Pairs
    test: Pairs | None
    code: list[Path]  # files of the user's own that the configuration names
    taken: list[str]  # what came from other runs

    @property
    def unknown(self) -> float:
        """The share of all target tokens of the training, end marks aside, that the vocabulary does not have."""
        target = self.fit.store.target
        if not isinstance(self.fit.task.target, Tokenizer):
            return 0.0
        return np.count_nonzero(target.ids == UNKNOWN) / max(len(target.ids) - len(target), 1)

    def estimate(self, samples: int = 3) -> float:
        """Seconds that all updates will take on this machine, from the time a few batches take without an update."""
        fit, train = self.fit, self.fit.config.train
        left = train.updates - fit.standing.update
        rewarded = sum(map(fit.learner.rewards, range(fit.standing.update + 1, train.updates + 1)))
        saved = fit.model.state_dict().keys()
        moving = {name: buffer.clone() for name, buffer in fit.model.named_buffers() if name in saved}  # by a loss
        # the last update of a kind guesses most
        kinds = ((left - rewarded, train.updates - rewarded), (rewarded, train.updates))
        seconds = sum(count * self._time(update, samples) for count, update in kinds if count)
        for name, before in moving.items():
            fit.model.get_buffer(name).copy_(before)
        return seconds

    def _time(self, update: int, samples: int) -> float:
        """Seconds that one update takes."""
        fit, train = self.fit, self.fit.config.train
        lengths = fit.store.source.lengths, fit.store.target.lengths
        plan = plan_batches(*lengths, budget=train.batch_tokens, seed=fit.config.seed, epoch=0)
        seconds = []
        for rows in plan[: samples + 1]:
            began = time.perf_counter()
            fit.crew.work(update, [(fit.store, rows)], None)
            seconds.append(time.perf_counter() - began)
        steady = seconds[1:] or seconds  # the first one warms up
        return sum(steady) / len(steady) * train.accumulate


def holds_run(folder: RunFolder, config: Config) -> bool:
    """Whether the folder holds this very run, to go on with; anything else in it is an error."""
    if folder.path.exists() and not folder.path.is_dir():
        raise CheckpointError(f"{folder.path}: this is a file; give a folder for the run.")
    if not folder.exists:
        return False
    if not folder.config_file.is_file():
        raise CheckpointError(f"{folder.path}: the folder holds other files and no run; choose another with --out.")
    changes = describe_changes(folder.read_config().model_dump(), config.model_dump())
    if changes:
        raise ConfigError(
            f"{folder.path} holds another run ({changes}); choose another folder with --out, or undo the change."
        )
    return True


def prepare_job(
    config: Config,
    folder: RunFolder,
    diagnosis: Diagnosis,
    *,
    near: list[Path],
    progress: Callable[[int, int], None] | None = None,
) -> Job:
    """Everything that can fail because of configuration or data, before anything is written but the cache.

    `progress` hears of sources that take long to be made ready.
    """
    code = admit(config.model_dump(), [folder.path / "code", *near, Path.cwd()], trust=True, owner="")
    splits = dict(diagnosis.splits)
    check_kind(config, splits["train"])
    if "valid" not in splits:
        splits["train"], splits["valid"] = _hold_out(splits["train"], config)
    read_search(config.search)[0]()
    parts = read_pretrained(config.init) if _begins(folder) else []
    known = choose_tokenizers(config, parts)
    task = folder.read_task() if folder.has_task else learn_task(config, splits["train"], known=known)
    splits["valid"] = _leave_out_long(_leave_out_new_labels(splits["valid"], task), task, config)
    model = task.build(config)
    taken = take_over(model, parts)
    freeze(model, config.init)
    task = add_teachers(config.train.teacher, task, model)
    _try(task, model, splits["train"].take([0]))
    stores = {name: _prepare(splits[name], task, model, config) for name in ("train", "valid")}
    for name, store in stores.items():
        make_ready(store.source, training=name == "train", progress=progress)
    taken += lay_vectors(task, model, config, stores["train"]) if _begins(folder) else []
    task = replace(task, longest_target=int(stores["train"].target.lengths.max()))
    if config.train.reward is not None:
        task = replace(task, measure=build_measure(config.train.reward.measure, stores["train"]))
    if config.train.output_bias == "counts" and (config.init is None or config.init.decoder is None):
        count_bias(model.output, stores["train"].target)
    valid = splits["valid"]

    def evaluate(share: Share) -> dict[str, float]:
        return measure(task, valid, stores["valid"], config, share)

    def settle(weights: Mapping[str, Tensor]) -> dict[str, Any]:
        final = task.build(config)
        final.load_state_dict(dict(weights))
        return task.settle(final, stores["valid"])

    fit = Fit(config, task, model, stores["train"], evaluate, folder, settle, stores["valid"].fingerprint)
    return Job(fit, splits["train"], valid, splits.get("test"), code, taken)


def _hold_out(pairs: Pairs, config: Config) -> tuple[Pairs, Pairs]:
    """(training, held out), where none are given as held out."""
    labels = partial(split_labels, separator=config.label_separator) if config.task == "classification" else None
    return split_pairs(pairs, held_out=config.data.held_out, seed=config.seed, labels=labels)


def _leave_out_new_labels(held: Pairs, task: Task) -> Pairs:
    """What can be checked on: a label that nobody could learn has no likelihood (the doctor warns of it)."""
    if not isinstance(task.target, LabelSet):
        return held
    rows = [row for row, target in enumerate(held.target) if task.target.knows(target)]
    if not rows:
        raise DataError("the held-out data has no label that the training data has; check files and columns.")
    return held.take(rows)


def _leave_out_long(held: Pairs, task: Task, config: Config) -> Pairs:
    """What is checked on is no longer than what is learned from, or one text could take longer than all others."""
    sides = [task.target.ids(held.target)]
    sides += [task.source.ids(held.source)] if isinstance(task.source, Tokenizer) else []
    rows = [row for row in range(len(held)) if all(len(side[row]) <= config.data.max_tokens for side in sides)]
    return held.take(rows) if rows else held  # what must not be empty is told by who prepares it


def check_kind(config: Config, pairs: Pairs) -> None:
    """Refuse data that a configuration is not made for, before file names are read as texts, or texts as labels."""
    who = f"preset {config.preset}" if config.preset else "this configuration"
    pictures = guess_kind(pairs) == "pictures"
    if pictures != config.reads_pictures:
        kinds = ("texts", "pictures") if pictures else ("pictures", "texts")
        task = "classification" if guess_labels(pairs) else "transduction"
        names = ", ".join(preset_names(task=task, pictures=pictures))
        raise DataError(f"{who} reads {kinds[0]}, and the data is {kinds[1]}; take another preset ({names}).")
    if config.chooses_labels and cannot_be_labels(pairs):
        names = ", ".join(preset_names(task="transduction", pictures=pictures))
        raise DataError(
            f"{who} chooses labels, and the targets of the data are texts, such as {shorten(pairs.target[0])}; check "
            f"which fields are read, or take a preset that writes texts ({names}); of several labels in one, say "
            'tokens.target={kind: labels, separator: ","}.'
        )


def open_folder(job: Job, config_text: str) -> None:
    """Make the run folder: configuration, tokenizers, and a copy of the code of its own that the run names."""
    folder = job.fit.folder
    folder.create(config_text)
    folder.write_task(job.fit.task)
    for file in job.code:
        write_atomic(folder.path / "code" / file.name, file.read_bytes())


def _begins(folder: RunFolder) -> bool:
    """Whether a training in the folder starts from the beginning, not from what it has saved there."""
    if not folder.has_task:
        return True
    weights = folder.weights_file
    return not folder.checkpoints() and not (weights.is_file() and read_checkpoint(weights).facts["complete"])


@torch.no_grad()
def count_bias(output: nn.Linear, targets: Sequences) -> None:
    """Let an output layer begin with the log-probability of each token by its count, with one more for each."""
    counts = torch.from_numpy(np.bincount(targets.ids, minlength=output.out_features)) + 1.0
    output.bias.copy_((counts / counts.sum()).log())


@torch.no_grad()
def _try(task: Task, model: Any, one: Pairs) -> None:
    """Run the model once on next to nothing: halves that do not fit each other are found here."""
    model.eval()
    store = Store(task.source.prepare(one.source), pack(task.target.ids(one.target)), "")
    task.loss(model, collate(store, np.array([0])))


def _prepare(pairs: Pairs, task: Task, model: Any, config: Config) -> Store:
    limit = config.data.max_tokens
    return prepare(pairs, task.source, task.target, max_tokens=limit, cache=cache_folder(), encoder=model.encoder)
