"""Preparing a training: from a configuration to a loop that is ready to run, checked before any time is spent."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import torch
from pydantic import JsonValue
from torch import Tensor, nn

from seq2see.config.load import preset_names
from seq2see.config.schema import Config
from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.data.batch import collate
from seq2see.data.checks.data_doctor import Diagnosis
from seq2see.data.checks.infer import cannot_be_labels, infer_labels, infer_modality
from seq2see.data.pairs import Pairs
from seq2see.data.split import split_pairs
from seq2see.data.storage.dataset import Store, cache_folder, prepare
from seq2see.data.storage.packed import Sequences, pack
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.objectives.build import build_objective
from seq2see.objectives.minimum_risk import best_gleu, build_reward
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.search.factory import read_search
from seq2see.system.files import write_atomic
from seq2see.system.foreign_code import admit
from seq2see.tasks.task import Task, find_task
from seq2see.training.begun_run import read_task
from seq2see.training.data_parallel import Share
from seq2see.training.distillation_teachers import open_teachers
from seq2see.training.job import Job
from seq2see.training.loop import TrainingLoop
from seq2see.training.parallel_plan import choose_training_device
from seq2see.training.pretrained import (
    choose_tokenizers,
    describe_unknown,
    freeze,
    read_pretrained,
    take_over,
)
from seq2see.training.pretrained_embeddings import lay_vectors
from seq2see.training.validation import measure

PLURAL = {"text": "texts", "images": "images"}


def prepare_job(
    config: Config,
    folder: RunFolder,
    diagnosis: Diagnosis,
    *,
    near: list[Path],
    progress: Callable[[int, int], None] | None = None,
    fill: bool = True,
) -> Job:
    """Do everything that can fail because of configuration or data, before anything but the cache is written.

    Args:
        config: the configuration of the run.
        folder: the run folder; the tokenizers of a run that has begun are read from it.
        diagnosis: the pairs of each split, as the data doctor has read them.
        near: folders in which code of the user's own is looked for, before the current one.
        progress: called with how many sources are ready and how many there are; None: nobody is told.
        fill: whether to prepare all sources now, where that takes long.
    """
    code = admit(config.model_dump(), [folder.path / "code", *near, Path.cwd()], trust=True, owner="")
    splits = dict(diagnosis.splits)
    check_kind(config, splits["train"])
    if "valid" not in splits:
        splits["train"], splits["valid"] = _hold_out(splits["train"], config)
    read_search(config.search)[0]()
    parts = read_pretrained(config.init) if begins(folder) else []
    source, target = choose_tokenizers(config, parts)
    task = (
        read_task(folder, config)
        if folder.has_task
        else find_task(config.task).learn(config, splits["train"], source=source, target=target)
    )
    splits["valid"] = _leave_out_long(_leave_out_new_labels(splits["valid"], task), task, config)
    model = task.build(config)
    taken = take_over(model, parts)
    taken += describe_unknown(task.source, splits["train"].source) if source is not None else []
    freeze(model, config.init)
    model.to(choose_training_device(config.train))
    teachers = open_teachers(config.train.distillation, task, model)
    _try(config, task, model, teachers, splits["train"].take([0]))
    stores = {name: _prepare(splits[name], task, model, config) for name in ("train", "valid")}
    for name, store in stores.items() if fill else ():
        store.source.fill(training=name == "train", progress=progress)
    taken += lay_vectors(task, model, config, stores["train"]) if begins(folder) else []
    task = replace(task, longest_target=int(stores["train"].target.lengths.max()))
    if config.train.output_bias == "counts" and target is None:
        count_bias(model.output_layer, stores["train"].target)
    loop = _build_loop(config, folder, task, model, teachers, stores, splits["valid"])
    return Job(loop, splits["train"], splits["valid"], splits.get("test"), code, taken)


def _build_loop(
    config: Config,
    folder: RunFolder,
    task: Task,
    model: Network,
    teachers: Sequence[Seq2Seq],
    stores: Mapping[str, Store],
    valid: Pairs,
) -> TrainingLoop:
    """Return the loop, with the functions that it calls to validate and to finish."""
    risk = config.train.minimum_risk
    reward = None if risk is None else build_reward(risk.reward, stores["train"])

    def evaluate(share: Share) -> dict[str, float]:
        return measure(task, valid, stores["valid"], config, share)

    def calibrate(weights: Mapping[str, Tensor]) -> dict[str, JsonValue]:
        final = task.build(config).to(model.device)
        final.load_state_dict(dict(weights))
        return task.calibrate(final, stores["valid"])

    held_out = stores["valid"].fingerprint
    return TrainingLoop(
        config,
        task,
        model,
        stores["train"],
        evaluate,
        folder,
        calibrate,
        held_out,
        teachers=teachers,
        reward=reward,
    )


def _hold_out(pairs: Pairs, config: Config) -> tuple[Pairs, Pairs]:
    """Return (training pairs, validation pairs), where no validation data is given."""
    labels = partial(find_task(config.task).list_labels, config)
    return split_pairs(pairs, held_out=config.data.held_out, seed=config.seed, labels=labels)


def _leave_out_new_labels(held: Pairs, task: Task) -> Pairs:
    """Return the pairs whose labels the training data has; no other label has a likelihood (the doctor warns of it)."""
    rows = [row for row, target in enumerate(held.target) if task.target.knows(target)]
    if not rows:
        raise DataError("the held-out data has no label that the training data has; check files and columns.")
    return held.take(rows)


def _leave_out_long(held: Pairs, task: Task, config: Config) -> Pairs:
    """Return the pairs of at most data.max_tokens tokens, or one text could take longer than all others."""
    targets = map(len, task.target.ids(held.target))
    lengths = map(max, task.source.count_tokens(held.source), targets)
    rows = [row for row, length in enumerate(lengths) if length <= config.data.max_tokens]
    return held.take(rows) if rows else held  # what must not be empty is told by who prepares it


def check_kind(config: Config, pairs: Pairs) -> None:
    """Refuse data that a configuration is not made for, before file names are read as texts, or texts as labels.

    Args:
        config: the configuration of the run.
        pairs: the training data.

    Raises:
        DataError: images where texts are read, or the reverse; or targets that cannot be labels.
    """
    who = f"preset {config.preset}" if config.preset else "this configuration"
    wanted, given = config.source_data, infer_modality(pairs)
    images = given == "images"
    if wanted != given:
        task = "classification" if infer_labels(pairs) else "transduction"
        names = ", ".join(preset_names(task=task, images=images))
        raise DataError(
            f"{who} reads {PLURAL[wanted]}, and the data is {PLURAL[given]}; take another preset ({names})."
        )
    if config.chooses_labels and cannot_be_labels(pairs):
        names = ", ".join(preset_names(task="transduction", images=images))
        raise DataError(
            f"{who} chooses labels, and the targets of the data are texts, such as {shorten(pairs.target[0])}; check "
            f"which fields are read, or take a preset that writes texts ({names}); of several labels in one, say "
            'tokens.target={kind: labels, separator: ","}.'
        )


def open_folder(job: Job, config_text: str) -> None:
    """Make the run folder: configuration, tokenizers, and a copy of the user's own code that the run names.

    Args:
        job: the prepared training.
        config_text: the content of config.yaml.
    """
    folder = job.loop.folder
    folder.create(config_text)
    folder.write_task(job.loop.task)
    for file in job.code:
        write_atomic(folder.path / "code" / file.name, file.read_bytes())


def begins(folder: RunFolder) -> bool:
    """Return whether a training in the folder starts from the beginning, not from what it has saved there.

    Args:
        folder: the run folder.
    """
    if not folder.has_task:
        return True
    weights = folder.weights_file
    return not folder.checkpoints() and not (weights.is_file() and read_checkpoint(weights).facts.get("complete"))


@torch.no_grad()
def count_bias(output: nn.Linear, targets: Sequences) -> None:
    """Set the bias of an output layer to the log-probability of each token by its count, plus one (add-one smoothing).

    Args:
        output: the output layer, with one output for each token.
        targets: the target ids of the training data.
    """
    counts = torch.from_numpy(np.bincount(targets.ids, minlength=output.out_features)) + 1.0
    output.bias.copy_((counts / counts.sum()).log())


@torch.no_grad()
def _try(config: Config, task: Task, model: Network, teachers: Sequence[Seq2Seq], one: Pairs) -> None:
    """Run the objective once on one pair: parts that do not fit each other are found here."""
    model.eval()
    store = Store(task.source.prepare(one.source), pack(task.target.ids(one.target)), "")
    # at step 0 no output is rewarded yet, so that any reward will do, and the training data need not be ready
    reward = None if config.train.minimum_risk is None else best_gleu
    objective = build_objective(config, task, teachers=teachers, reward=reward)
    objective(model, collate(store, np.array([0])).to(model.device), 0)


def _prepare(pairs: Pairs, task: Task, model: Network, config: Config) -> Store:
    limit = config.data.max_tokens
    return prepare(pairs, task.source, task.target, max_tokens=limit, cache=cache_folder(), encoder=model.encoder)
