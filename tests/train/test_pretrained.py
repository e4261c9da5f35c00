"""Parts pretrained apart: what fits is taken, ids mean the same, and the new run needs nobody else afterwards."""

import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from reversal import configure as configure_long
from reversal import start, write_reversals

import seq2see
from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, ConfigError, Seq2SeeError
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.events import Validated

SIZES = {"size": 16, "embedding_size": 8}
BOTH = {"encoder": SIZES, "decoder": SIZES}
ALONE = {"encoder": {"kind": "none", "memory_size": 32}, "decoder": SIZES}


def configure(data: Path, **sections: Any) -> Config:
    """A training of a moment."""
    return configure_long(data, **{"updates": 6, "validate_every": 3, **sections})


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reversals(tmp_path_factory.mktemp("data") / "reversed.tsv")


@pytest.fixture(scope="module")
def language(data: Path) -> Path:
    """A language model of the targets."""
    return train(configure(data, model=ALONE), data.parent / "lm")


@pytest.fixture(scope="module")
def whole(data: Path) -> Path:
    """A run with both halves."""
    return train(configure(data, model=BOTH), data.parent / "other")


def run(job: Any, until: int | None = None) -> list[Any]:
    return list(job.loop.run(lambda: until is not None and job.loop.state.update >= until))


def train(config: Config, out: Path) -> Path:
    run(start(config, out))
    return out


def test_a_language_model_is_trained_and_its_decoder_taken(data: Path, language: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(language, tmp_path / "lm"))
    job = start(configure(data, model=BOTH, init={"decoder": str(other)}), tmp_path / "run")
    count = len(list(job.loop.model.decoder.parameters()))
    assert job.taken == [f"decoder from {other}: {count} of {count} tensors"]
    weights = read_checkpoint(other / "weights.safetensors").tensors
    for name, parameter in job.loop.model.decoder.named_parameters():
        assert torch.equal(parameter, weights[f"decoder.{name}"])
    run(job)
    assert not torch.equal(job.loop.model.decoder.embed.weight, weights["decoder.embed.weight"])
    tokenizers = [(folder / "target.tokenizer.json").read_text() for folder in (other, tmp_path / "run")]
    assert tokenizers[0] == tokenizers[1]
    shutil.rmtree(other)
    assert seq2see.load(tmp_path / "run").predict("abc").text is not None
    assert run(start(job.loop.config, tmp_path / "run"))[-1].complete  # nor does a run that goes on need it


def test_a_language_model_does_not_know_its_source_and_shows_no_attention(language: Path) -> None:
    loaded = seq2see.load(language)
    left, right = loaded.predict(["abc", "hgf"])
    assert left.text == right.text
    with pytest.raises(Seq2SeeError, match="no attention to show"):
        _ = left.attention


def test_the_tokenizer_comes_with_the_part(data: Path, language: Path, tmp_path: Path) -> None:
    """Another alphabet in other data: ids still mean what they meant."""
    other = language
    rest = tmp_path / "rest.tsv"
    rest.write_text("".join(line for line in data.read_text().splitlines(keepends=True) if "a" not in line))
    job = start(configure(rest, model=BOTH, init={"decoder": str(other)}), tmp_path / "run")
    assert job.loop.task.target.to_json() == RunFolder(other).read_task().target.to_json()
    assert len(job.loop.task.target) == len(job.loop.task.source.tokenizer) + 1


def test_what_does_not_fit_is_new_and_told(data: Path, whole: Path, tmp_path: Path) -> None:
    other = whole
    model = {"encoder": {**SIZES, "layers": 2}, "decoder": {**SIZES, "reader": {"score": "general"}}}
    job = start(configure(data, model=model, init={"encoder": str(other), "decoder": str(other)}), tmp_path / "run")
    encoder, decoder = job.taken
    assert encoder.startswith(f"encoder from {other}: 9 of 17 tensors; new: layers.1.0.rnn.weight_ih_l0, ")
    assert encoder.endswith(" and 2 more")
    assert decoder.endswith(": 11 of 12 tensors; new: reader.attend.score.project.weight")


def test_nothing_that_fits_is_an_error_before_anything_is_made(data: Path, language: Path, tmp_path: Path) -> None:
    config = configure(data, model=BOTH, init={"encoder": str(language)})
    with pytest.raises(ConfigError, match=r"nothing of the encoder of .*lm fits: .*; give model.encoder the options"):
        start(config, tmp_path / "run")
    assert not (tmp_path / "run").exists()
    with pytest.raises(CheckpointError, match="no such run folder"):
        start(configure(data, init={"encoder": str(tmp_path / "elsewhere")}), tmp_path / "run")


def test_tokens_that_ask_for_something_else_are_an_error(data: Path, language: Path, tmp_path: Path) -> None:
    config = configure(data, model=BOTH, init={"decoder": str(language)}, tokens={"target": "words"})
    with pytest.raises(ConfigError, match=r"tokens.target asks for 'words', but the decoder of .* of 'characters'"):
        start(config, tmp_path / "run")


def test_a_joint_vocabulary_comes_from_one_run(data: Path, tmp_path: Path) -> None:
    joint = {"tokens": {"joint": "characters"}}
    first = train(configure(data, model=BOTH, **joint), tmp_path / "first")
    words = tmp_path / "words.tsv"
    words.write_text("".join(f"{a}x{b}\ty{b}\n" for a in "abc" for b in "defgh"))
    second = train(configure(words, model=BOTH, **joint), tmp_path / "second")
    config = configure(data, model=BOTH, init={"encoder": str(first), "decoder": str(second)}, **joint)
    with pytest.raises(ConfigError, match=r"tokens.joint needs one vocabulary"):
        start(config, tmp_path / "run")
    job = start(configure(data, model=BOTH, init={"decoder": str(second)}, **joint), tmp_path / "run")
    assert job.loop.task.source.tokenizer is job.loop.task.target


def test_tables_of_other_scales_are_read_the_same(data: Path, tmp_path: Path) -> None:
    """A table that is tied to the output is stored scaled down; one that is not, is not."""
    sizes = {"size": 16, "embedding_size": 16}
    model = {"encoder": sizes, "decoder": {**sizes, "reader": {"score": "additive"}}}
    tied = {**model, "share": ["embeddings", "output"]}
    joint = {"tokens": {"joint": "characters"}}
    for old, new in ((model, tied), (tied, model)):
        other = train(configure(data, model=old, **joint), tmp_path / f"{'share' in old}")
        job = start(configure(data, model=new, init={"decoder": str(other)}, **joint), tmp_path / f"{'share' in old}-2")
        tokens = torch.arange(12)
        before, after = (m.decoder.embed(tokens) for m in (seq2see.load(other).model, job.loop.model))
        torch.testing.assert_close(after, before)


def test_two_runs_cannot_give_one_parameter_two_values(data: Path, tmp_path: Path) -> None:
    joint = {"tokens": {"joint": "characters"}}
    other = train(configure(data, model=BOTH, **joint), tmp_path / "other")
    init = {"encoder": str(other), "decoder": str(other)}
    config = configure(data, model={**BOTH, "share": ["embeddings"]}, init=init, **joint)
    with pytest.raises(ConfigError, match=r"decoder.embed.weight is shared by encoder and decoder"):
        start(config, tmp_path / "run")


def test_a_frozen_part_stays_as_it_was_also_after_a_stop(data: Path, whole: Path, tmp_path: Path) -> None:
    other = Path(shutil.copytree(whole, tmp_path / "other"))
    config = configure(data, model=BOTH, init={"encoder": str(other), "freeze": "encoder"}, weight_decay=0.1)
    run(start(config, tmp_path / "straight"))
    run(start(config, tmp_path / "stopped"), 5)
    shutil.rmtree(other / "checkpoints")
    job = start(config, tmp_path / "stopped")
    assert job.taken == []
    run(job)
    old = read_checkpoint(other / "weights.safetensors").tensors
    left, right = (read_checkpoint(RunFolder(tmp_path / n).checkpoints()[0]).tensors for n in ("straight", "stopped"))
    assert left.keys() == right.keys()
    assert all(torch.equal(left[name], right[name]) for name in left)
    for name, tensor in left.items():
        if name.startswith("model.encoder."):
            assert torch.equal(tensor, old[name.removeprefix("model.")])
    assert not torch.equal(left["model.decoder.embed.weight"], old["decoder.embed.weight"])
    assert not any(name.startswith("optimizer.exp_avg.encoder") for name in left)


def test_only_what_is_taken_can_be_frozen(data: Path) -> None:
    with pytest.raises(ConfigError, match="must name a run for encoder, because freeze"):
        configure(data, init={"freeze": "encoder"})


@pytest.mark.slow
def test_a_decoder_that_knows_its_language_starts_lower(tmp_path: Path) -> None:
    """Words of few syllables: a language model of the targets knows which letters follow each other."""
    draw = random.Random(1)
    syllables = ["kali", "mos", "tebu", "ran"]
    words = ["".join(draw.choice(syllables) for _ in range(draw.randint(1, 3))) for _ in range(300)]
    alone, pairs = tmp_path / "words.tsv", tmp_path / "pairs.tsv"
    alone.write_text("".join(f"{word}\t{word}\n" for word in words))
    pairs.write_text("".join(f"{word.upper()}\t{word}\n" for word in sorted(set(words))))
    quick = {"batch_tokens": 256, "validate_every": 10, "updates": 10}
    other = train(configure(alone, model=ALONE, **{**quick, "updates": 150, "validate_every": 50}), tmp_path / "lm")
    losses = []
    for init in ({}, {"init": {"decoder": str(other)}}):
        looks = run(start(configure(pairs, model=BOTH, **quick, **init), tmp_path / f"run-{len(init)}"))
        losses.append(next(look.metrics["valid_loss"] for look in looks if isinstance(look, Validated)))
    assert losses[1] < 0.6 * losses[0]
