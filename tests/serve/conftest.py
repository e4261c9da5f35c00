"""Tiny runs to serve."""

from pathlib import Path

import pytest

pytest.importorskip("fastapi", reason="serving needs the extra: pip install 'seq2see[serve]'")

from reversal import SMALL, configure, start, write_reversals

from seq2see.run import Run, load

HEADS = {"size": 8, "inner_size": 16, "layers": 2, "heads": 2}
TRANSFORMER = {"encoder": {"kind": "transformer", **HEADS}, "decoder": {"kind": "transformer", **HEADS}}


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Two runs that were trained for a moment: a recurrent one and a Transformer."""
    folder = tmp_path_factory.mktemp("served")
    data = write_reversals(folder / "reversed.tsv", 64)
    for name, preset, model in (("rnn", "bahdanau2015", SMALL), ("heads", "transformer-tiny", TRANSFORMER)):
        config = configure(data, preset=preset, model=model, tokens={"joint": "characters"}, updates=4)
        list(start(config, folder / name).fit.run())
    return [folder / "rnn", folder / "heads"]


@pytest.fixture(scope="session")
def run(folders: list[Path]) -> Run:
    return load(folders[0])
