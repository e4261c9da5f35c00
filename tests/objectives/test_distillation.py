"""Knowledge distillation: a model learns the mean probabilities of its teachers, which have its tokens."""

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import configure, start, write_reversals

from seq2see.core.errors import ConfigError
from seq2see.data.batch import collate
from seq2see.runs.folder import RunFolder


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reversals(tmp_path_factory.mktemp("data") / "reversed.tsv")


@pytest.fixture(scope="module")
def teachers(data: Path) -> list[str]:
    """Two runs, of which the second knows a little more."""
    return [train(configure(data, updates=updates), data.parent / f"teacher{updates}") for updates in (4, 40)]


def train(config: Any, out: Path) -> str:
    list(start(config, out).loop.run())
    return str(out)


def ask(run: str, batch: Any) -> torch.Tensor:
    """The probabilities of a run at every target token, step by step."""
    _, _, model = RunFolder(Path(run)).open()
    fixed, state = model.decoder.begin(model.encoder(batch.source, batch.source_mask))
    said = []
    for column in batch.inputs.T:
        logits, state = model.decoder.step(column, state, fixed)
        said.append(logits.softmax(dim=-1))
    return torch.stack(said, dim=1)[batch.target_mask]


@pytest.mark.parametrize("smoothing", [0.0, 0.2])
def test_the_loss_is_the_cross_entropy_with_the_mixture_of_targets_and_teachers(
    data: Path, teachers: list[str], tmp_path: Path, smoothing: float
) -> None:
    job = start(
        configure(data, distillation={"teachers": teachers, "weight": 0.3}, label_smoothing=smoothing), tmp_path / "run"
    )
    model, batch = job.loop.model.eval(), collate(job.loop.store, np.arange(5))
    loss = job.loop.learner.objective(model, batch, 1)
    with torch.no_grad():
        words = torch.stack([ask(run, batch) for run in teachers]).mean(dim=0)
        logprobs = model.decoder(batch.inputs, model.encoder(batch.source, batch.source_mask))[batch.target_mask]
        logprobs = logprobs.log_softmax(dim=1)
    hard = torch.nn.functional.one_hot(batch.targets[batch.target_mask], logprobs.shape[1])
    smooth = (1 - smoothing) * hard + smoothing / logprobs.shape[1]
    torch.testing.assert_close(loss.total, -((0.7 * smooth + 0.3 * words) * logprobs).sum(), rtol=1e-5, atol=1e-4)


def test_a_model_comes_near_its_teacher_and_the_teacher_stays_as_it_was(
    data: Path, teachers: list[str], tmp_path: Path
) -> None:
    before = (Path(teachers[1]) / "weights.safetensors").read_bytes()
    options = {"distillation": {"teachers": teachers[1:], "weight": 1.0}, "learning_rate": 0.01}
    job = start(configure(data, updates=60, validate_every=60, **options), tmp_path / "run")
    batch = collate(job.loop.store, np.arange(8))
    words = ask(teachers[1], batch)

    def distance() -> float:
        with torch.no_grad():
            seen = job.loop.model.eval().decoder(batch.inputs, job.loop.model.encoder(batch.source, batch.source_mask))
        return (words * (words.log() - seen[batch.target_mask].log_softmax(dim=1))).sum(dim=1).mean().item()

    first = distance()
    list(job.loop.run())
    assert distance() < 0.3 * first
    assert (Path(teachers[1]) / "weights.safetensors").read_bytes() == before


def test_teachers_with_other_tokens_are_refused(data: Path, teachers: list[str], tmp_path: Path) -> None:
    other = write_reversals(tmp_path / "other.tsv")
    other.write_text(other.read_text().replace("a", "z"))
    with pytest.raises(ConfigError, match=r"must have the same tokens as the model that learns; .*teacher4 has others"):
        start(configure(other, distillation={"teachers": teachers}), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_a_teacher_runs_no_code_that_nobody_trusts(data: Path, teachers: list[str], tmp_path: Path) -> None:
    odd = Path(shutil.copytree(teachers[0], tmp_path / "odd"))
    (odd / "code").mkdir()
    (odd / "code" / "strange_teacher.py").write_text("raise SystemExit('it ran')\n")
    config = odd / "config.yaml"
    RunFolder(odd).write_config(config.read_text().replace("score: additive", "score: strange_teacher:Score"))
    assert "strange_teacher:Score" in config.read_text()
    with pytest.raises(
        ConfigError, match=r"only code that this configuration names, too; .*odd runs strange_teacher:Score"
    ):
        start(configure(data, distillation={"teachers": [str(odd)]}), tmp_path / "run")


def test_a_teacher_that_is_not_there_is_named(data: Path, tmp_path: Path) -> None:
    with pytest.raises(Exception, match="nobody: there is no such run folder"):
        start(configure(data, distillation={"teachers": ["nobody"]}), tmp_path / "run")
