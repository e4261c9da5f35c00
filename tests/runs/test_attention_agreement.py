"""How far attention agrees with leave-one-out, on planted drops whose rank correlation is known."""

from pathlib import Path

import numpy as np
import pytest
import torch

import seq2see
from seq2see.config.load import load_config
from seq2see.core.errors import CheckpointError
from seq2see.core.token import Token
from seq2see.data.pairs import Pairs
from seq2see.explain import occlusion
from seq2see.explain.attention_agreement import NO_ATTENTION, NOT_MEASURED, NOTHING_TO_RANK, AttentionAgreement
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.metrics.rank import compare_ranks
from seq2see.runs.agreement_file import read_agreement, write_agreement
from seq2see.runs.agreement_measurement import MAX_PARTS, measure_agreement
from seq2see.runs.checkpoint import Checkpoint, write_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run
from seq2see.tasks.transduction import Transduction

SMALL = {"encoder": {"size": 6, "embedding_size": 4}, "decoder": {"size": 6, "embedding_size": 4}}
SOURCES = ["ab cd ef", "cd ab", "ef ef cd ab", "a", "cd ab"]


def make_run(place: Path, **decoder: object) -> Run:
    model = {**SMALL, "decoder": {**SMALL["decoder"], **decoder}}
    base: dict[str, object] = {"preset": "bahdanau2015", "model": model, "data": {"train": "x"}}
    base["tokens"] = {side: {"kind": "words", "min_count": 1} for side in ("source", "target")}
    config = load_config(base=base).config
    task = Transduction.learn(config, Pairs(SOURCES, ["xyz"] * len(SOURCES)))
    return Run(RunFolder(place), config, task, task.build(config).eval())


def plant(monkeypatch: pytest.MonkeyPatch, run: Run, sign: float) -> list[int]:
    """Let the drop of each word be its attention times a sign; return the numbers of parts that are left out."""
    counts: list[int] = []

    def leave_one_out(task, model, source, output, parts):  # type: ignore[no-untyped-def]
        counts.append(len(parts))
        (trace,) = (each.attention for each in run.predict([source], beam=1))
        return sign * np.array(trace._sum_spans(parts, trace.weights.mean(axis=0)))

    monkeypatch.setattr(occlusion, "leave_one_out", leave_one_out)
    return counts


@pytest.mark.parametrize(("sign", "tau"), [(1.0, 1.0), (-1.0, -1.0)])
def test_tau_of_planted_drops(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, sign: float, tau: float) -> None:
    """Of five inputs, one has a single word, and one is there twice."""
    run = make_run(tmp_path)
    counts = plant(monkeypatch, run, sign)
    before = torch.get_rng_state()
    predictions = run.predict(SOURCES, beam=1)
    found = measure_agreement(run, predictions)
    assert (found.tau, found.count, sorted(counts)) == (pytest.approx(tau), 3, [1, 2, 3, 4])
    assert measure_agreement(run, predictions) == found
    assert measure_agreement(run, predictions, seconds=0.0).count == 1
    assert torch.get_rng_state().equal(before)


def test_a_word_is_shared_by_its_letters() -> None:
    """The only word of a text has two thirds of its weight in two of its three letters, however many tokens it has."""
    trace = AttentionTrace("dog", "x", (Token("dog", 0, 3), Token("</s>", 3, 3)), (), ())
    found = trace._sum_spans([(0, 2), (2, 3)], np.array([0.6, 0.4]))
    assert found == pytest.approx([0.4, 0.2])


def test_equal_drops_rank_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    plant(monkeypatch, run, 0.0)
    assert measure_agreement(run, run.predict(SOURCES, beam=1)) == NOTHING_TO_RANK


def test_many_words_are_drawn_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = make_run(tmp_path)
    counts = plant(monkeypatch, run, 1.0)
    text = " ".join(["ab cd ef"] * 20)
    found = measure_agreement(run, run.predict([text], beam=1))
    assert (found.tau, found.count, counts) == (pytest.approx(1.0), 1, [MAX_PARTS])


def test_a_model_without_attention_is_not_measured(tmp_path: Path) -> None:
    run = make_run(tmp_path, reader="none")
    found = measure_agreement(run, run.predict(SOURCES, beam=1))
    assert found == NO_ATTENTION
    assert str(found) == "attention and leave-one-out were not compared: the model has no attention to its source"


def test_weights_that_are_no_numbers_are_left_out() -> None:
    """Of a, b and d, two pairs are in the same order and one in the other: tau 1/3."""
    found = compare_ranks([1.0, 3.0, 9.0, 2.0], [1.0, 2.0, float("nan"), 3.0])
    assert (found.count, found.kendall) == (3, pytest.approx(1 / 3))


@pytest.mark.parametrize(
    ("tau", "said", "weak"),
    [
        (0.62, "agree: mean Kendall's tau 0.62 over 24 held-out inputs", False),
        (0.2, "agree in part: mean Kendall's tau 0.20 over 24 held-out inputs", False),
        (
            0.19,
            "hardly agree: mean Kendall's tau 0.19 over 24 held-out inputs; read leave-one-out, not attention",
            True,
        ),
    ],
)
def test_the_sentence_tells_what_to_read(tau: float, said: str, weak: bool) -> None:
    found = AttentionAgreement(tau, 24)
    assert (str(found), found.is_weak) == (f"attention and leave-one-out {said}", weak)


def test_the_file_belongs_to_its_weights(tmp_path: Path) -> None:
    folder, found = RunFolder(tmp_path), AttentionAgreement(0.25, 7)
    assert read_agreement(folder) == NOT_MEASURED
    write_checkpoint(folder.weights_file, Checkpoint({"a": torch.ones(2)}, {}))
    write_agreement(folder, found)
    assert read_agreement(folder) == found
    text = folder.agreement_file.read_text()
    for damaged in (text.replace("0.25", "0.75"), text[:-20], "{}", "[" * 4000, "null"):
        folder.agreement_file.write_text(damaged)
        with pytest.raises(CheckpointError, match=r"changed or damaged.*measure the agreement again"):
            read_agreement(folder)
    folder.agreement_file.write_text(text)
    write_checkpoint(folder.weights_file, Checkpoint({"a": torch.zeros(2)}, {}))
    assert read_agreement(folder) == NOT_MEASURED


@pytest.mark.slow
def test_a_training_measures_its_attention(tmp_path: Path) -> None:
    pairs = [(f"{a} {b} {c}", f"{c} {b} {a}") for a in "abcd" for b in "efgh" for c in "ijkl"]
    train = {"updates": 4, "validate_every": 2, "batch_tokens": 64, "average_checkpoints": 0}
    run = seq2see.train(pairs, preset="bahdanau2015", out=tmp_path / "run", model=SMALL, train=train, progress=False)
    loaded = seq2see.load(run.folder.path)
    assert loaded.agreement == run.agreement
    assert run.agreement.count > 0 or run.agreement == NOTHING_TO_RANK
    assert str(run.agreement) in repr(run)
    assert str(run.agreement) in run.folder.report_file.read_text()
    assert loaded.predict("a e i").attention.run_agreement == run.agreement
    again = seq2see.train(pairs, preset="bahdanau2015", out=tmp_path / "run", model=SMALL, train=train, progress=False)
    assert again.agreement == run.agreement
