"""Runs whose encoder and decoder share parameters: stored once, resumed bit for bit, averaged, loaded."""

from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import configure, start, write_reversals
from safetensors import safe_open

import seq2see
from seq2see.config.schema import Config
from seq2see.core.errors import ConfigError
from seq2see.runs.checkpoint import Checkpoint, average, read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder

EVERYTHING = ["embeddings", "output", "layers"]
SIZES = {"size": 16, "embedding_size": 16, "layers": 2, "cell": "lstm"}
READER = {"kind": "after", "score": "general", "input_feeding": False}


def shared(data: Path, share: list[str] = EVERYTHING, **train: Any) -> Config:
    model = {
        "encoder": {"kind": "rnn", "directions": "forward", **SIZES},
        "decoder": {"kind": "rnn", "reader": READER, "initial_state": "copy", **SIZES},
        "share": share,
    }
    return configure(data, model=model, tokens={"joint": "characters"}, **train)


@pytest.fixture
def data(tmp_path: Path) -> Path:
    return write_reversals(tmp_path / "reversed.tsv")


def run(job: Any, until: int | None = None) -> None:
    list(job.loop.run(lambda: until is not None and job.loop.state.update >= until))


def stored(path: Path) -> set[str]:
    with safe_open(path, framework="pt") as file:
        return set(file.keys())


def test_stopping_and_going_on_changes_no_bit_of_a_run_that_shares(data: Path, tmp_path: Path) -> None:
    config = shared(data, weight_decay=0.01, average_checkpoints=2)
    run(start(config, tmp_path / "straight"))
    out = tmp_path / "stopped"
    run(start(config, out), 7)
    job = start(config, out)
    run(job)
    assert job.loop.model.decoder.output.weight is job.loop.model.encoder.embed.weight
    for file in ("weights.safetensors", "checkpoints/update-000000012.safetensors"):
        left, right = (read_checkpoint(folder / file).tensors for folder in (out, tmp_path / "straight"))
        assert left.keys() == right.keys()
        assert all(torch.equal(left[name], right[name]) for name in left)


@pytest.mark.parametrize("average", [0, 2])
def test_shared_tensors_are_stored_once_and_loaded_as_one(data: Path, tmp_path: Path, average: int) -> None:
    job = start(shared(data, average_checkpoints=average), tmp_path / "run")
    run(job)
    firsts: dict[int, str] = {}  # a shared tensor has the first of its names
    for name, parameter in sorted(job.loop.model.named_parameters(remove_duplicate=False)):
        firsts.setdefault(parameter.data_ptr(), name)
    names = set(firsts.values())
    assert stored(tmp_path / "run" / "weights.safetensors") == names
    newest = stored(RunFolder(tmp_path / "run").checkpoints()[0])
    assert {name.removeprefix("model.") for name in newest if name.startswith("model.")} == names
    loaded = seq2see.load(tmp_path / "run")
    assert loaded.model.decoder.output.weight is loaded.model.encoder.embed.weight
    assert loaded.predict("abc").text == seq2see.load(tmp_path / "run").predict("abc").text


def test_a_changed_share_is_refused(data: Path, tmp_path: Path) -> None:
    start(shared(data), tmp_path / "run")
    with pytest.raises(ConfigError, match=r"model.share"):
        start(shared(data, ["output"]), tmp_path / "run")


def test_embeddings_are_shared_by_one_vocabulary_only(data: Path, tmp_path: Path) -> None:
    sizes = {"size": 16, "embedding_size": 8}
    config = configure(data, model={"encoder": sizes, "decoder": sizes, "share": ["embeddings"]})
    with pytest.raises(ConfigError, match=r"needs one vocabulary for both sides; write tokens.joint"):
        start(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_names_of_one_tensor_survive_a_file_and_an_average(tmp_path: Path) -> None:
    table = torch.arange(6.0).reshape(2, 3)
    square = torch.arange(4.0).reshape(2, 2)
    tensors = {"a": table, "b": table, "c": table.clone(), "square": square, "turned": square.T, "none": torch.ones(0)}
    write_checkpoint(tmp_path / "x", Checkpoint(tensors, {"fact": 1}))
    assert stored(tmp_path / "x") == {"a", "c", "square", "turned", "none"}
    again = read_checkpoint(tmp_path / "x").tensors
    assert again["a"] is again["b"]
    assert all(torch.equal(again[name], tensor) for name, tensor in tensors.items())
    mean = average([again, {name: tensor + 2 for name, tensor in tensors.items()}])
    assert mean["b"] is mean["a"]
    assert mean["a"].tolist() == [[1, 2, 3], [4, 5, 6]]
    write_checkpoint(tmp_path / "y", Checkpoint(mean, {}))
    assert stored(tmp_path / "y") == stored(tmp_path / "x")
