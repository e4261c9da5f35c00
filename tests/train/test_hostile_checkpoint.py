"""Runs of strangers that a training goes on with or starts from: what was never saved is refused with one sentence."""

import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import SMALL, write_reversals

import seq2see
from seq2see.core.errors import CheckpointError, ConfigError, DataError, Seq2SeeError
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder

TRAIN = {"updates": 4, "batch_tokens": 64, "validate_every": 2, "validation_pairs": 4, "workers": 1}
OPTIONS: dict[str, Any] = {"preset": "bahdanau2015", "model": SMALL, "train": TRAIN}
Change = Callable[[dict[str, Any]], object]


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reversals(tmp_path_factory.mktemp("data") / "reversed.tsv")


@pytest.fixture(scope="module")
def stopped(data: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a training that was stopped after three of its four updates."""
    out = tmp_path_factory.mktemp("stopped") / "run"
    for event in seq2see.fit(data, out=out, **OPTIONS):
        if event.update == 3:
            break
    return out


@pytest.fixture
def folder(stopped: Path, tmp_path: Path) -> RunFolder:
    return RunFolder(Path(shutil.copytree(stopped, tmp_path / "run")))


def change_facts(file: Path, change: Change) -> None:
    """Change what is saved with tensors, with a digest that fits."""
    checkpoint = read_checkpoint(file)
    facts = json.loads(json.dumps(checkpoint.facts))
    change(facts)
    write_checkpoint(file, Checkpoint(checkpoint.tensors, facts))


def change_checkpoints(folder: RunFolder, change: Change) -> None:
    """Change the facts of all checkpoints."""
    for file in folder.checkpoints():
        change_facts(file, change)


@pytest.mark.parametrize("name", ["fingerprint", "state", "limits", "schedule"])
def test_a_checkpoint_without_a_fact_is_refused(folder: RunFolder, name: str) -> None:
    change_checkpoints(folder, lambda facts: facts.pop(name))
    with pytest.raises(CheckpointError, match=f"where its training was; got {name} of another kind"):
        seq2see.resume(folder.path)


@pytest.mark.parametrize(
    "values",
    [
        {"state": None},
        {"state": {"update": "many"}},
        {"state": {"update": 10**30}},
        {"state": {"update": -1}},
        {"team": {"workers": 10**6, "threads": 1}},
        {"team": {"workers": 0, "threads": 1}},
        {"team": {}},
        {"sums": {"losses": "x"}},
        {"schedule": []},
        {"held_out": 3},
    ],
    ids=str,
)
def test_facts_that_no_training_saves_are_refused(folder: RunFolder, values: dict[str, Any]) -> None:
    change_checkpoints(folder, lambda facts: facts.update(values))
    with pytest.raises(CheckpointError, match=f"got {next(iter(values))}.* of another kind"):
        seq2see.resume(folder.path)


@pytest.mark.parametrize("state", [{"update": 10**12}, {}, {"epoch": None}], ids=str)
def test_more_updates_of_such_a_checkpoint_are_refused(folder: RunFolder, state: dict[str, Any]) -> None:
    change_checkpoints(folder, lambda facts: facts.update(state=state) if state else facts.pop("state"))
    with pytest.raises(CheckpointError, match="where its training was"):
        seq2see.resume(folder.path, updates=6)


def test_a_checkpoint_by_another_name_is_none(folder: RunFolder) -> None:
    for name in ("update-x", "update--00000001", "update-0000000009"):
        (folder.checkpoint_folder / f"{name}.safetensors").write_bytes(b"")
    assert [file.stem for file in folder.checkpoints()] == ["update-000000003", "update-000000002"]


@pytest.mark.parametrize("name", ["checkpoints", "tensorboard", "attention", "data", "code"])
def test_a_training_writes_into_no_link(folder: RunFolder, name: str, tmp_path: Path) -> None:
    place, elsewhere = folder.path / name, tmp_path / "elsewhere"
    elsewhere.mkdir()
    if place.exists():
        shutil.rmtree(elsewhere)
        shutil.move(place, elsewhere)
    place.symlink_to(elsewhere)
    with pytest.raises(CheckpointError, match=f"{name}: this must be a folder"):
        seq2see.resume(folder.path)


def test_the_lock_is_no_link(folder: RunFolder, tmp_path: Path) -> None:
    lock = folder.checkpoint_folder / "training.lock"
    lock.unlink()
    lock.symlink_to(tmp_path / "made")
    with pytest.raises(CheckpointError, match="cannot be made"):
        seq2see.resume(folder.path)
    assert not (tmp_path / "made").exists()


@pytest.mark.parametrize("workers", [1025, 10**6])
def test_no_training_has_a_million_processes(data: Path, tmp_path: Path, workers: int) -> None:
    options = {**OPTIONS, "train": {**TRAIN, "workers": workers}}
    with pytest.raises(ConfigError, match=r"train.workers must be at most 1024|less than or equal to 1024"):
        seq2see.fit(data, out=tmp_path / "run", **options)


@pytest.mark.parametrize("scales", ["x", {"encoder.embed.weight": "x"}, {"encoder.embed.weight": 0.0}, [1]], ids=str)
def test_scales_that_are_no_numbers_are_refused(folder: RunFolder, data: Path, tmp_path: Path, scales: object) -> None:
    change_facts(folder.weights_file, lambda facts: facts.update(scales=scales))
    with pytest.raises(Seq2SeeError, match="the scales of tables must be numbers above 0"):
        seq2see.train(data, init=folder.path, out=tmp_path / "new", progress=False)


def test_weights_that_do_not_say_whether_they_are_final_are_no_reason_to_fail(folder: RunFolder) -> None:
    for file in folder.checkpoints():
        file.unlink()
    change_facts(folder.weights_file, lambda facts: facts.pop("complete"))
    assert seq2see.resume(folder.path, progress=False).model is not None


def test_a_checkpoint_is_not_unpickled(folder: RunFolder) -> None:
    for file in folder.checkpoints():
        torch.save({"x": torch.zeros(1)}, file)
    with pytest.raises(CheckpointError, match="no checkpoint is whole"):
        seq2see.resume(folder.path)


@pytest.mark.parametrize("optimizer", ["muon", "of another shape"])
def test_the_state_of_another_optimizer_is_refused(folder: RunFolder, optimizer: str) -> None:
    if optimizer == "muon":
        text = folder.config_file.read_text()
        folder.write_config(text.replace("optimizer: adam", "optimizer: muon"))
    else:
        for file in folder.checkpoints():
            found = read_checkpoint(file)
            changed = {n: t[:1] if n.startswith("optimizer.exp_avg.") else t for n, t in found.tensors.items()}
            write_checkpoint(file, Checkpoint(changed, found.facts))
    with pytest.raises(CheckpointError, match="its checkpoint must fit the model of its configuration"):
        seq2see.resume(folder.path, progress=False)


@pytest.mark.parametrize("kind", ["pipe", "device"])
def test_data_of_a_run_is_no_pipe(folder: RunFolder, data: Path, tmp_path: Path, kind: str) -> None:
    endless = tmp_path / "endless.tsv"
    os.mkfifo(endless) if kind == "pipe" else endless.symlink_to("/dev/zero")
    folder.write_config(folder.config_file.read_text().replace(str(data), str(endless)))
    with pytest.raises(DataError, match="data must be a file or a folder; got a pipe or a device"):
        seq2see.resume(folder.path)


@pytest.mark.parametrize("saved", ["weights", "checkpoints"])
@pytest.mark.parametrize("layers", [200, 900_000])
def test_a_model_larger_than_what_was_saved_of_it_is_not_trained(folder: RunFolder, layers: int, saved: str) -> None:
    text = folder.config_file.read_text()
    assert "layers: 1\n" in text
    folder.write_config(text.replace("layers: 1\n", f"layers: {layers}\n"))
    if saved == "checkpoints":
        folder.weights_file.unlink()
    with pytest.raises(Seq2SeeError, match=r"must be as large as its weights|must fit the model"):
        seq2see.resume(folder.path)


def test_a_training_starts_from_no_model_larger_than_its_weights(folder: RunFolder, data: Path, tmp_path: Path) -> None:
    text = folder.config_file.read_text().replace("layers: 1\n", "layers: 900000\n")
    folder.write_config(text)
    shape = folder.read_config().model_dump(mode="json", include={"task", "model", "tokens"})
    change_facts(folder.weights_file, lambda facts: facts.update(model=shape))
    with pytest.raises(Seq2SeeError, match="must be as large as its weights"):
        seq2see.train(data, init=folder.path, out=tmp_path / "new", progress=False)
