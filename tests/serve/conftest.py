"""Tiny runs to serve."""

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="serving needs the extra serve")

from PIL import Image
from planted import configure_planted, write_planted
from reversal import SMALL, configure, start, write_reversals

from seq2see.runs.run import Run, load

HEADS = {"size": 8, "inner_size": 16, "layers": 2, "heads": 2}
TRANSFORMER = {"encoder": {"kind": "transformer", **HEADS}, "decoder": {"kind": "transformer", **HEADS}}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs that were trained for a moment: a recurrent one and a Transformer."""
    folder = tmp_path_factory.mktemp("served")
    data = write_reversals(folder / "reversed.tsv", 64)
    for name, preset, model in (("rnn", "bahdanau2015", SMALL), ("heads", "transformer-tiny", TRANSFORMER)):
        config = configure(data, preset=preset, model=model, tokens={"joint": "characters"}, updates=4)
        list(start(config, folder / name).loop.run())
    return [folder / "rnn", folder / "heads"]


@pytest.fixture(scope="session")
def run(folders: list[Path]) -> Run:
    return load(folders[0])


@pytest.fixture(scope="session")
def captions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that writes about images, trained for a moment."""
    folder = tmp_path_factory.mktemp("captions")
    rows = []
    for name in ("red", "green", "blue", "white"):
        Image.new("RGB", (16, 16), name).save(folder / f"{name}.png")
        rows += [f"{folder / name}.png\ta {name} wall\n"] * 3
    (folder / "captions.tsv").write_text("".join(rows))
    encoder = {"kind": "cnn", "backbone": "small", "layer": 1, "size": 8}
    decoder = {"kind": "rnn", "size": 8, "embedding_size": 8}
    tokens = {"source": {"kind": "images", "size": 16}, "target": "words"}
    config = configure(
        folder / "captions.tsv", model={"encoder": encoder, "decoder": decoder}, tokens=tokens, updates=4
    )
    list(start(config, folder / "captions").loop.run())
    return folder / "captions"


@pytest.fixture(scope="session")
def labels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that labels documents, trained for a moment."""
    folder = tmp_path_factory.mktemp("labels")
    config = configure_planted(write_planted(folder / "planted.jsonl", 16), updates=4)
    list(start(config, folder / "labels").loop.run())
    return folder / "labels"
