"""A run that the user trusts may have what a stranger's may not; and what cannot be read is named as what it is."""

import asyncio
import errno
import json
import os
import shutil
import socket
from pathlib import Path
from typing import Any

import pytest
from tokenizers import Tokenizer as Backend
from tokenizers import decoders, models, pre_tokenizers

import seq2see
from seq2see.core.errors import CheckpointError, Seq2SeeError, TokenError
from seq2see.core.special_tokens import SPECIAL_TOKENS
from seq2see.core.trust import is_trusting, trusting
from seq2see.data.modalities.learn import names_plugin, read_modality, read_target
from seq2see.data.tokenizers import Tokenizer
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.runs.parallel_prediction import start_workers
from seq2see.runs.run_file import is_there, naming_failures, read_run_file
from seq2see.serve.model_registry import ModelRegistry
from seq2see.training.begun_run import read_task

STORED = Path(__file__).parent / "format-2"
WEIGHTS = "weights.safetensors"


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A copy of a run that is stored."""
    return RunFolder(Path(shutil.copytree(STORED, tmp_path / "run")))


def tokenizer_of_a_plugin() -> Tokenizer:
    """A tokenizer with parts of the library that ours do not use, and without a normalizer."""
    vocabulary = {mark: number for number, mark in enumerate([*SPECIAL_TOKENS, "a", "b", "Ġ"])}
    backend = Backend(models.BPE(vocab=vocabulary, merges=[], unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    return Tokenizer(backend)


@pytest.mark.parametrize("read", [Tokenizer.from_json, read_modality, read_target])
def test_a_tokenizer_may_have_any_part_if_it_is_trusted(read: Any) -> None:
    text = tokenizer_of_a_plugin().to_json()
    with pytest.raises(TokenError, match="not a tokenizer file of seq2see"):
        read(text)
    with trusting(True):
        assert read(text).to_json() == text
    assert not is_trusting()


def test_a_tokenizer_without_a_normalizer_spells_words_as_they_are() -> None:
    tokenizer = tokenizer_of_a_plugin()
    assert tokenizer.spell("ab") == {"ab"}
    assert tokenizer.marks_spaces is False


@pytest.mark.parametrize(
    ("tokens", "plugin"),
    [
        ({"joint": "mine:Bytes"}, True),
        ({"source": {"kind": "documents", "words": {"kind": "mine:Bytes"}}}, True),
        ({"source": {"kind": "bpe", "size": 40}, "target": {"kind": "labels", "separator": ":"}}, False),
    ],
)
def test_plugins_are_known_by_their_names(tokens: dict[str, Any], plugin: bool) -> None:
    assert names_plugin(tokens) is plugin


def test_a_training_reads_the_tokenizers_of_its_plugin(folder: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    config = folder.read_config()
    (folder.path / "source.tokenizer.json").write_text(tokenizer_of_a_plugin().to_json())
    with pytest.raises(CheckpointError, match=r"source\.tokenizer\.json"):
        read_task(folder, config)
    monkeypatch.setattr("seq2see.training.begun_run.names_plugin", lambda _: True)
    assert len(read_task(folder, config).source.tokenizer) == len(SPECIAL_TOKENS) + 3


def test_a_trusted_run_with_such_a_tokenizer_is_loaded(folder: RunFolder) -> None:
    """The letters of the stored run, read by a pre-tokenizer that no tokenizer of ours has."""
    for side in ("source", "target"):
        file = folder.path / f"{side}.tokenizer.json"
        tree = json.loads(file.read_text())
        tree["pre_tokenizer"] = {
            "type": "Sequence",
            "pretokenizers": [tree["pre_tokenizer"], {"type": "Digits", "individual_digits": True}],
        }
        file.write_text(json.dumps(tree))
    checkpoint = read_checkpoint(folder.weights_file)
    digests = {side: folder._tokenizer_digest(side) for side in ("source", "target")}
    write_checkpoint(folder.weights_file, Checkpoint(checkpoint.tensors, {**checkpoint.facts, "tokenizers": digests}))
    with pytest.raises(CheckpointError, match="not a tokenizer file of seq2see"):
        seq2see.load(folder.path)
    assert seq2see.load(folder.path, trust=True).predict("abc").text == "cba"


@pytest.mark.parametrize("name", ["config.yaml", "run.json", "source.tokenizer.json", WEIGHTS])
def test_a_trusted_run_may_link_to_other_places(folder: RunFolder, name: str, tmp_path: Path) -> None:
    shutil.move(folder.path / name, tmp_path / name)
    (folder.path / name).symlink_to(tmp_path / name)
    with pytest.raises(CheckpointError, match=f"{name}: the file must be inside its folder.*--trust"):
        seq2see.load(folder.path)
    run = seq2see.load(folder.path, trust=True)
    assert run.predict("abc").text == "cba"
    assert run.trust


@pytest.mark.slow
def test_processes_that_predict_trust_the_run_too(folder: RunFolder, tmp_path: Path) -> None:
    shutil.move(folder.weights_file, tmp_path / WEIGHTS)
    folder.weights_file.symlink_to(tmp_path / WEIGHTS)
    with start_workers(seq2see.load(folder.path, trust=True), 2) as shared:
        assert [each.text for each in shared.predict(["abc", "ab"])] == ["cba", "ba"]


@pytest.mark.parametrize("number", [errno.EACCES, errno.EIO, errno.ESTALE, errno.EMFILE])
@pytest.mark.parametrize("name", ["config.yaml", "run.json", "source.tokenizer.json", WEIGHTS])
def test_a_file_that_cannot_be_opened_is_named_with_the_reason(
    folder: RunFolder, name: str, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def fail(path: Any, *arguments: Any, **options: Any) -> int:
        if str(path).endswith(name):
            raise OSError(number, os.strerror(number), path)
        return real(path, *arguments, **options)

    monkeypatch.setattr(os, "open", fail)
    with pytest.raises(CheckpointError, match=f"{name}: the file cannot be read: {os.strerror(number)}"):
        seq2see.load(folder.path)


def test_a_disk_that_fails_while_reading_is_named(tmp_path: Path) -> None:
    failure = f"x: the file cannot be read: {os.strerror(errno.EIO)}"
    with pytest.raises(CheckpointError, match=failure), naming_failures(tmp_path / "x"):
        raise OSError(errno.EIO, os.strerror(errno.EIO))
    with pytest.raises(CheckpointError, match="x: there is too little memory"), naming_failures(tmp_path / "x"):
        raise MemoryError
    # the memory of a process is a file whose first page cannot be read
    with pytest.raises(CheckpointError, match=r"mem: the file cannot be read: "):
        read_run_file(Path("/proc/self/mem"), most=100)


def test_a_file_that_cannot_be_found_out_about_is_not_called_missing(folder: RunFolder) -> None:
    assert is_there(folder.config_file)
    assert not is_there(folder.path / "other.yaml")
    with pytest.raises(CheckpointError, match=f"cannot be read: {os.strerror(errno.ENAMETOOLONG)}"):
        is_there(folder.path / ("x" * 300))


@pytest.mark.parametrize("kind", ["folder", "pipe", "socket"])
def test_what_stands_in_the_place_of_weights_is_served_with_its_name(
    folder: RunFolder, kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder.path)  # the path of a socket must be short
    folder.weights_file.unlink()
    if kind == "socket":
        with socket.socket(socket.AF_UNIX) as listening:
            listening.bind(WEIGHTS)
    else:
        (os.mkfifo if kind == "pipe" else os.mkdir)(WEIGHTS)
    with pytest.raises(Seq2SeeError, match=f"{WEIGHTS}: this must be a file; got a {kind}"):
        seq2see.load(folder.path)
    [described] = asyncio.run(ModelRegistry([], folder.path.parent).describe())
    assert WEIGHTS in str(described.error)
