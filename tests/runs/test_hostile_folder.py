"""Run folders of strangers: each is refused with one sentence before it costs time or memory, or runs code."""

import hashlib
import json
import os
import random
import shutil
import struct
from collections.abc import Callable
from pathlib import Path
from time import process_time
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from torch import nn

import seq2see
from seq2see.core.errors import CheckpointError, ConfigError, Seq2SeeError
from seq2see.models.network import Network
from seq2see.runs.checkpoint import Checkpoint, read_checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.runs.model_limits import SizeGuard, TooLargeError, check_cells
from seq2see.runs.run_file import read_run_file
from seq2see.runs.weights_header import TensorForm, read_weights_header

STORED = Path(__file__).parent / "format-2"
FILES = ("config.yaml", "run.json", "source.tokenizer.json", "target.tokenizer.json", "weights.safetensors")


@pytest.fixture
def folder(tmp_path: Path) -> RunFolder:
    """A copy of a run that is stored, with a digest of its configuration."""
    folder = RunFolder(Path(shutil.copytree(STORED, tmp_path / "run")))
    folder.write_config(folder.config_file.read_text())
    return folder


def configure(folder: RunFolder, old: str, new: str) -> None:
    """Change the configuration, and what the weights say of it, as somebody would who knows the format."""
    text = folder.config_file.read_text()
    assert old in text
    folder.write_config(text.replace(old, new))
    config = folder.read_config()
    checkpoint = read_checkpoint(folder.weights_file)
    model = config.model_dump(mode="json", include={"task", "model", "tokens"})
    write_checkpoint(folder.weights_file, Checkpoint(checkpoint.tensors, {**checkpoint.facts, "model": model}))


def change_facts(folder: RunFolder, **facts: Any) -> None:
    """Change what is saved with the weights."""
    checkpoint = read_checkpoint(folder.weights_file)
    write_checkpoint(folder.weights_file, Checkpoint(checkpoint.tensors, {**checkpoint.facts, **facts}))


def refuse(folder: RunFolder) -> str:
    """The sentence with which loading is refused, within three seconds of computing."""
    begin = process_time()
    with pytest.raises(Seq2SeeError) as caught:
        seq2see.load(folder.path).predict("abc")
    assert process_time() - begin < 3
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 600
    return str(caught.value)


def test_the_honest_one_predicts(folder: RunFolder) -> None:
    assert seq2see.load(folder.path).predict("abc").text == "cba"


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("kind", ["pipe", "device", "folder", "outside", "circle", "sparse", "nowhere"])
def test_what_is_no_file_of_the_folder_is_refused(folder: RunFolder, name: str, kind: str, tmp_path: Path) -> None:
    file = folder.path / name
    shutil.move(file, tmp_path / name)
    {
        "pipe": lambda: os.mkfifo(file),
        "device": lambda: file.symlink_to("/dev/zero"),
        "folder": lambda: file.mkdir(),
        "outside": lambda: file.symlink_to(tmp_path / name),
        "circle": lambda: file.symlink_to(file.name),
        "nowhere": lambda: file.symlink_to("nowhere"),
        "sparse": lambda: (file.touch(), os.truncate(file, 20 * 2**30)),
    }[kind]()
    sentence = refuse(folder)
    assert name in sentence
    assert kind != "nowhere" or "a link to a file that is not there" in sentence


def test_a_link_inside_the_folder_is_read(folder: RunFolder) -> None:
    folder.weights_file.rename(folder.path / "best.safetensors")
    folder.weights_file.symlink_to("best.safetensors")
    assert seq2see.load(folder.path).predict("abc").text == "cba"


def test_unreadable_weights_are_not_called_missing(folder: RunFolder) -> None:
    folder.weights_file.unlink()
    folder.weights_file.symlink_to(folder.weights_file.name)
    assert "weights.safetensors: the file cannot be read" in refuse(folder)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (" size: 6", " size: 1000000"),
        (" size: 6", " size: 1000000000"),
        (" size: 6", " size: 1000000000000000000000000000000"),
        ("embedding_size: 4", "embedding_size: 1000000"),
        ("layers: 1", "layers: 1000000"),
        ("layers: 1", "layers: 1000000000"),
    ],
)
def test_a_model_larger_than_its_weights_is_never_built(folder: RunFolder, old: str, new: str) -> None:
    configure(folder, old, new)
    sentence = refuse(folder)
    assert "as large as its weights" in sentence or "must be at most 1,000,000" in sentence


@pytest.mark.parametrize("search", ["width: 1000000", "width: 5\n  max_length: 1000000000"])
def test_a_search_that_takes_for_ever_is_refused(folder: RunFolder, search: str) -> None:
    configure(folder, "  width: 5", f"  {search}")
    assert "config.yaml: " in refuse(folder)


@pytest.mark.parametrize(("width", "samples", "refused"), [(300, 0, True), (100, 500, True), (5, 256, False)])
def test_outputs_that_are_compared_in_pairs_are_bounded(
    folder: RunFolder, width: int, samples: int, refused: bool
) -> None:
    search = f"{{kind: beam, width: {width}, n_best: {width}}}"
    configure(folder, "  kind: beam\n", f"  kind: mbr\n  search: {search}\n  samples: {samples}\n")
    configure(folder, "  width: 5\n", "")
    if refused:
        assert "minimum Bayes risk decoding must compare at most 50,000 pairs" in refuse(folder)
    else:
        seq2see.load(folder.path)


@pytest.mark.parametrize("longest", [10**9, 10**30, -1, "x", 1.5, None, True, float("nan")])
def test_a_longest_target_that_no_training_has_is_refused(folder: RunFolder, longest: object) -> None:
    change_facts(folder, longest_target=longest)
    assert "longest target" in refuse(folder) or "must decode at most" in refuse(folder)


@pytest.mark.parametrize("facts", [{"tokenizers": 3}, {"model": []}, {"tokenizers": {"source": ["x"]}}])
def test_facts_of_other_types_are_refused(folder: RunFolder, facts: dict[str, Any]) -> None:
    change_facts(folder, **facts)
    refuse(folder)


def edit_header(file: Path, change: Callable[[dict[str, Any]], object]) -> None:
    """Change the header of weights, and nothing else."""
    data = file.read_bytes()
    length = struct.unpack("<Q", data[:8])[0]
    header = json.loads(data[8 : 8 + length])
    change(next(entry for name, entry in header.items() if name != "__metadata__"))
    text = json.dumps(header).encode()
    file.write_bytes(struct.pack("<Q", len(text)) + text + data[8 + length :])


@pytest.mark.parametrize(
    "change",
    [
        {"data_offsets": [0, 2**60]},
        {"data_offsets": [4, 0]},
        {"data_offsets": [-4, 0]},
        {"data_offsets": ["0", "4"]},
        {"shape": [2**40, 2**40]},
        {"shape": [-1, -1]},
        {"shape": [1] * 5000},
        {"dtype": "F8_E4M3"},
        {"dtype": 3},
        {"more": 1},
    ],
    ids=str,
)
def test_a_header_that_does_not_describe_its_file_is_refused(folder: RunFolder, change: dict[str, Any]) -> None:
    edit_header(folder.weights_file, lambda entry: entry.update(change))
    assert "weights.safetensors: the file is damaged" in refuse(folder)


@pytest.mark.parametrize("length", [0, 1, 2**60, 2**64 - 1])
def test_a_header_of_another_length_is_refused(folder: RunFolder, length: int) -> None:
    folder.weights_file.write_bytes(struct.pack("<Q", length) + folder.weights_file.read_bytes()[8:])
    assert "its header" in refuse(folder) or "damaged" in refuse(folder)


def test_the_header_says_how_large_each_tensor_is(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "x", Checkpoint({"a": torch.zeros(2, 3), "b": torch.zeros(5)}, {}))
    assert {n: f.shape for n, f in read_weights_header(tmp_path / "x").tensors.items()} == {"a": (2, 3), "b": (5,)}


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64, torch.int64])
def test_weights_of_other_shapes_are_refused(folder: RunFolder, dtype: torch.dtype) -> None:
    checkpoint = read_checkpoint(folder.weights_file)
    tensors = {name: tensor.to(dtype)[:1] for name, tensor in checkpoint.tensors.items()}
    write_checkpoint(folder.weights_file, Checkpoint(tensors, checkpoint.facts))
    assert "must" in refuse(folder)


def test_a_panicking_tokenizer_is_refused(folder: RunFolder) -> None:
    file = folder.path / "source.tokenizer.json"
    tree = json.loads(file.read_text())
    tree["padding"] = {"strategy": {"Fixed": 3_000_000_000}, "direction": "Right", "pad_id": 0}
    file.write_text(json.dumps(tree))
    digests = {**read_checkpoint(folder.weights_file).facts["tokenizers"]}
    change_facts(folder, tokenizers={**digests, "source": hashlib.sha256(file.read_bytes()).hexdigest()})
    assert "padding must be null" in refuse(folder)


def test_a_change_of_the_configuration_is_found(folder: RunFolder) -> None:
    folder.config_file.write_text(folder.config_file.read_text().replace("width: 5", "width: 4"))
    with pytest.raises(CheckpointError, match=r"config.yaml: the file was changed or damaged"):
        folder.read_config()


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_no_damage_changes_an_output_unnoticed(folder: RunFolder, name: str) -> None:
    """Random bytes are changed, and the file is cut at random places."""
    file, rng = folder.path / name, random.Random(1)
    honest, expected = file.read_bytes(), seq2see.load(folder.path).predict("abc")
    for _ in range(60):
        place, cut = rng.randrange(len(honest)), rng.random() < 0.3
        rest = b"" if cut else bytes([rng.randrange(256)]) + honest[place + 1 :]
        file.write_bytes(honest[:place] + rest)
        try:
            found = seq2see.load(folder.path).predict("abc")
        except Seq2SeeError:
            continue
        assert (found.text, found.score, found.ids) == (expected.text, expected.score, expected.ids)


def test_a_copy_has_files_of_the_folder_alone(folder: RunFolder, tmp_path: Path) -> None:
    (folder.path / "zero").symlink_to("/dev/zero")
    (folder.path / "password").symlink_to(Path("/etc/passwd"))
    (folder.path / "round").symlink_to(".")
    os.mkfifo(folder.path / "pipe")
    folder.copy_to(tmp_path / "copy")
    assert {each.name for each in (tmp_path / "copy").iterdir()} == set(FILES)


def test_a_copy_is_no_larger_than_its_disk(folder: RunFolder, tmp_path: Path) -> None:
    (folder.path / "more").touch()
    os.truncate(folder.path / "more", 2**43)
    with pytest.raises(CheckpointError, match=r"the run has 8,192.0 GB; there is room for"):
        folder.copy_to(tmp_path / "copy")
    assert not list(tmp_path.glob("*copy*"))


def test_a_file_has_a_largest_size(tmp_path: Path) -> None:
    (tmp_path / "x").write_bytes(b"abc")
    assert read_run_file(tmp_path / "x", most=3) == b"abc"
    with pytest.raises(CheckpointError, match=r"x: the file must have at most 2 bytes; got more"):
        read_run_file(tmp_path / "x", most=2)


def test_weights_of_another_model_are_refused_before_they_are_read(
    folder: RunFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    checkpoint = read_checkpoint(folder.weights_file)
    write_checkpoint(folder.weights_file, Checkpoint({**checkpoint.tensors, "more": torch.zeros(1)}, checkpoint.facts))
    monkeypatch.setattr("seq2see.runs.folder.read_checkpoint", lambda path: pytest.fail("the values were read"))
    assert "the weights must fit the model" in refuse(folder)
    assert "'more'" in refuse(folder)


def test_weights_of_another_type_are_refused(folder: RunFolder) -> None:
    checkpoint = read_checkpoint(folder.weights_file)
    tensors = {name: tensor.double() for name, tensor in checkpoint.tensors.items()}
    write_checkpoint(folder.weights_file, Checkpoint(tensors, checkpoint.facts))
    assert "the weights must fit the model" in refuse(folder)


@pytest.mark.parametrize(("longest", "refused"), [(1_000, False), (50_000, True)])
def test_a_target_takes_as_many_steps_as_its_model_makes_in_time(
    folder: RunFolder, longest: int, refused: bool
) -> None:
    configure(folder, "width: 5", "width: 1")
    change_facts(folder, longest_target=longest)
    if refused:
        assert "this one write" in refuse(folder)
        assert seq2see.load(folder.path, trust=True).task.longest_target == longest
    else:
        assert seq2see.load(folder.path).task.longest_target == longest


def test_a_preset_is_a_plain_name(folder: RunFolder) -> None:
    text = folder.config_file.read_text()
    preset = next(line for line in text.splitlines() if line.startswith("preset:"))
    folder.write_config(text.replace(preset, 'preset: "\\e[2J"'))
    assert "preset must match pattern" in refuse(folder) or "there is no preset" in refuse(folder)


def test_the_path_of_a_run_is_text(folder: RunFolder, tmp_path: Path) -> None:
    folder.path.rename(tmp_path / "run\udcff")
    assert "must be UTF-8" in refuse(RunFolder(tmp_path / "run\udcff"))


@pytest.mark.parametrize(("cells", "heads", "refused"), [(2_500, 4, False), (2_501, 1, True), (2_500, 16, True)])
def test_an_image_has_bounded_cells(cells: int, heads: int, refused: bool) -> None:
    model = Network()
    model.encoder = SimpleNamespace(cells=cells)  # type: ignore[assignment]
    model.layer = nn.Module()
    model.layer.heads = heads  # type: ignore[assignment]
    check_cells(model, name="config.yaml", trust=True)
    if refused:
        with pytest.raises(ConfigError, match=f"got {cells:,} cells and {heads * cells**2:,} weights"):
            check_cells(model, name="config.yaml", trust=False)
    else:
        check_cells(model, name="config.yaml", trust=False)


def test_a_map_of_an_image_has_a_largest_size() -> None:
    convolve = nn.Conv2d(3, 64, 3, padding=1)
    form = {"weight": TensorForm("F32", (64, 3, 3, 3))}
    with torch.no_grad(), SizeGuard(form):
        assert convolve(torch.zeros(1, 3, 64, 64)).shape == (1, 64, 64, 64)
        pixels = torch.zeros(1, 3, 8, 8).expand(1, 3, 8, 8).repeat(1, 1, 256, 256)
        with pytest.raises(TooLargeError):
            convolve(pixels)
