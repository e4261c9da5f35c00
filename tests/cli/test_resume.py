"""Going on with a run by command: more updates in its folder, and new data in another."""

from pathlib import Path

import pytest
import torch
from reversal import write_reversals

from command import refused, seq2see
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder

SMALL = ["model.encoder.size=16", "model.decoder.size=16", "train.batch_tokens=256", "data.held_out=0.001"]
QUICK = ["train.validate_every=4", "search.max_length=8", "train.schedule=constant", *SMALL]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a run of eight updates."""
    folder = tmp_path_factory.mktemp("place")
    write_reversals(folder / "reversed.tsv", 80)
    result = seq2see("train", "reversed.tsv", "train.updates=8", *QUICK, "--out", "run", cwd=folder)
    assert result.returncode == 0, result.stderr
    return folder


def weights(path: Path) -> dict[str, torch.Tensor]:
    return dict(read_checkpoint(RunFolder(path).weights_file).tensors)


def test_more_updates_are_those_of_one_go(place: Path, tmp_path: Path) -> None:
    whole = seq2see("train", "reversed.tsv", "train.updates=12", *QUICK, "--out", tmp_path / "whole", cwd=place)
    assert whole.returncode == 0, whole.stderr
    result = seq2see("resume", "run", "--updates", "12", cwd=place)
    assert result.returncode == 0, result.stderr
    assert "going on from update 8\n" in result.stderr
    left, right = weights(tmp_path / "whole"), weights(place / "run")
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert "updates must be more than the 12 made; got 3" in refused(
        seq2see("resume", "run", "--updates", 3, cwd=place)
    )


def test_the_same_command_with_more_updates_goes_on(place: Path, tmp_path: Path) -> None:
    command = ["train", "reversed.tsv", *QUICK]
    whole = seq2see(*command, "train.updates=12", "--out", tmp_path / "whole", cwd=place)
    assert whole.returncode == 0, whole.stderr
    for updates in (4, 12):
        parts = seq2see(*command, f"train.updates={updates}", "--out", tmp_path / "parts", cwd=place)
        assert parts.returncode == 0, parts.stderr
    assert "going on, to 12 updates, with the weights of 12 updates in one go\ngoing on from update 4\n" in parts.stderr
    left, right = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    assert all(torch.equal(left[name], right[name]) for name in left)
    assert RunFolder(tmp_path / "parts").read_config().train.updates == 12
    fewer = seq2see(*command, "train.updates=4", "--out", tmp_path / "parts", cwd=place)  # the call that began it
    assert "complete already: 12 updates" in fewer.stderr


def test_new_data_starts_from_the_weights_of_a_run(place: Path) -> None:
    (place / "new.tsv").write_text("".join(f"ab{sign}\t{sign}ba\n" for sign in "xyzabcdefgh"))
    result = seq2see("train", "new.tsv", "--from", "run", "train.updates=4", "--out", "tuned", cwd=place)
    assert result.returncode == 0, result.stderr
    said = " ".join(result.stderr.split())
    assert f"decided: as in {place / 'run'}" in said
    assert f"init: all weights from {place / 'run'}: 24 of 24 tensors" in said
    assert "source tokens of the data are unknown to its tokenizer" in said
    config = RunFolder(place / "tuned").read_config()
    assert config.init is not None
    assert (config.init.run, config.train.updates, config.train.validate_every) == (str(place / "run"), 4, 1)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["resume", "nowhere"], "nowhere: there is no such run folder"),
        (["resume", "."], "this is no run folder"),
        (["train", "new.tsv", "--init", "nowhere"], "nowhere: there is no such run folder"),
        (["train", "new.tsv", "--init", "run", "init.encoder=run"], "run, or encoder and decoder, not both"),
        (["train", "new.tsv", "--init", "run", "model.encoder.sise=3"], "did you mean 'size'"),
        (
            ["train", "new.tsv", "--init", "run", "tokens.source=words"],
            "tokens.source asks for 'words', but the run of",
        ),
        (
            ["train", "new.tsv", "--init", "run", "preset=luong2015"],
            "own model (preset bahdanau2015), so there is no preset to choose; got luong2015; leave it out",
        ),
        (
            ["train", "new.tsv", "--init", "run", "model.decoder.size=24"],
            "but section model asks for another: decoder.reader.attend.score.vector differs; leave out",
        ),
        (
            ["train", "new.tsv", "--init", "run", "model.decoder.initial_state=zeros"],
            "but section model asks for another: decoder.initial_state",
        ),
    ],
)
def test_a_mistake_is_one_sentence(place: Path, words: list[str], message: str) -> None:
    (place / "new.tsv").write_text("".join(f"ab{sign}\t{sign}ba\n" for sign in "xyzabcdefgh"))
    out = ["--out", "wrong"] if words[0] == "train" else []
    assert message in refused(seq2see(*words, *out, cwd=place))
    assert not (place / "wrong").exists()
