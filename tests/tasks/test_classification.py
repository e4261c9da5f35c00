"""Classification: calibrated probabilities, several labels, company that changes nothing."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from planted import SENTENCES, TINY, configure_planted, write_planted
from reversal import start

from seq2see.config.load import load_config
from seq2see.core.errors import ConfigError, DataError
from seq2see.data.batch import collate
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pack
from seq2see.data.tokenizers import SPACE
from seq2see.models.classifier import Classifier
from seq2see.objectives.label_cross_entropy import mark_labels
from seq2see.search.beam import Beam
from seq2see.tasks.calibration import fit_temperature
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output, Task

TEXTS = ["The gold is real. It rains.", "The mud is deep.", "A dog runs by. It rains. We eat at noon."]
ONE = Pairs(TEXTS, ["good", "bad", "good"])
MANY = Pairs(TEXTS, ["good|wet", "bad", "wet"])


def make(tmp_path: Path, pairs: Pairs = ONE, **sections: Any) -> tuple[Classification, Classifier]:
    """A task with a model that was never trained."""
    config = configure_planted(tmp_path / "none", **sections)
    task = Classification.learn(config, pairs)
    return task, task.build(config)


def batch_of(task: Classification, pairs: Pairs) -> Any:
    store = Store(task.source.prepare(pairs.source), pack(task.target.ids(pairs.target)), "")
    return collate(store, torch.arange(len(pairs)).numpy())


def test_several_labels_are_as_many_questions(tmp_path: Path) -> None:
    tokens = {
        "source": {"kind": "documents", "words": {"min_count": 1}},
        "target": {"kind": "labels", "separator": "|"},
    }
    task, model = make(tmp_path, MANY, tokens=tokens)
    assert isinstance(task, Task)
    batch = batch_of(task, MANY)
    truth = torch.tensor([[0.0, 1, 1], [1, 0, 0], [0, 0, 1]])
    assert mark_labels(batch.targets, batch.target_mask, 3).equal(truth)
    logits = model(batch.source, batch.source_mask)
    expected = F.binary_cross_entropy(logits.sigmoid(), truth, reduction="sum")
    torch.testing.assert_close(task.loss(model, batch).total, expected)
    (output,) = task.read(torch.tensor([0.1, 0.7, 0.9]), "x")
    assert (output.text, output.score, output.ids) == ("wet|good", pytest.approx(0.7), (2, 1))
    assert task.read(torch.tensor([0.1, 0.4, 0.3]), "x")[0].text == "good"  # at least one
    assert task.read(torch.tensor([0.49, 0.5, 0.3]), "x")[0].ids == (1,)
    assert task.read(torch.tensor([0.5, 0.6, 0.3]), "x")[0].ids == (1, 0)
    scores = {m.name: m.value for m in task.score([task.read(t, "")[0] for t in truth], MANY)}
    assert scores == {"accuracy": 100, "micro_f1": 100, "macro_f1": 100}


def test_another_model_may_have_the_labels_in_another_order(tmp_path: Path) -> None:
    task, model = make(tmp_path)
    names, counts = task.target.names[::-1], task.target.counts[::-1]
    turned = Classification(task.source, replace(task.target, names=names, counts=counts))
    other = turned.build(configure_planted(tmp_path / "none").model_copy(update={"seed": 2}))
    with torch.no_grad():
        other.output.weight.mul_(10)
    mine, theirs = task.weigh(model, TEXTS), turned.weigh(other, TEXTS)
    for row, (output,) in enumerate(task.predict(model, TEXTS, others=[(turned, other)])):
        expected = {
            "bad": (mine[row, 0] + theirs[row, 1]).item() / 2,
            "good": (mine[row, 1] + theirs[row, 0]).item() / 2,
        }
        assert output.probabilities == pytest.approx(expected)


def test_the_right_temperature_is_found() -> None:
    torch.manual_seed(1)
    logits = torch.randn(500, 3) * 4
    assert fit_temperature(logits, (logits / 2.5).softmax(dim=1)) == pytest.approx(2.5, rel=0.01)
    assert fit_temperature(logits, (logits / 0.4).sigmoid(), many=True) == pytest.approx(0.4, rel=0.01)
    assert fit_temperature(logits[:0], logits[:0]) == 1.0
    sure = torch.tensor([[1.0, -1.0]] * 5)  # all right, but only five of them
    assert 0.2 < fit_temperature(sure, torch.tensor([[1.0, 0.0]] * 5)) < 1


def test_company_and_blank_sources_change_nothing(tmp_path: Path) -> None:
    task, model = make(tmp_path)
    together = task.predict(model, [TEXTS[0], " \n", *TEXTS[1:]])
    assert together[1] == [Output("", 0.0, (), (), " \n")]
    for text, (found,) in zip(TEXTS, together[:1] + together[2:], strict=True):
        ((alone,),) = task.predict(model, [text])
        assert alone.text == found.text
        assert alone.probabilities == pytest.approx(found.probabilities)
        assert next(iter(alone.probabilities or {})) == alone.text
        assert sum((alone.probabilities or {}).values()) == pytest.approx(1)


def test_rivals_and_several_models(tmp_path: Path) -> None:
    task, model = make(tmp_path)
    other_task = Classification(task.source, task.target, temperature=3.0)
    torch.manual_seed(5)
    other = other_task.build(configure_planted(tmp_path / "none").model_copy(update={"seed": 2}))
    ((first, second),) = task.predict(model, TEXTS[:1], Beam(width=2, n_best=2), others=[(other_task, other)])
    assert {first.text, second.text} == {"good", "bad"}
    assert first.score >= second.score
    mean = (task.weigh(model, TEXTS[:1]) + other_task.weigh(other, TEXTS[:1]))[0] / 2
    assert first.score == pytest.approx(mean.max().item())
    turned = replace(other_task, target=replace(task.target, names=task.target.names[::-1]))
    ((again,),) = task.predict(model, TEXTS[:1], others=[(turned, other)])
    theirs = dict(zip(turned.target.names, other_task.weigh(other, TEXTS[:1])[0].tolist(), strict=True))
    mine = dict(zip(task.target.names, task.weigh(model, TEXTS[:1])[0].tolist(), strict=True))
    assert again.probabilities == pytest.approx({name: (mine[name] + theirs[name]) / 2 for name in mine})


def test_a_configuration_that_makes_no_sense_is_refused(tmp_path: Path) -> None:
    data = write_planted(tmp_path / "x.jsonl", 8)
    for wrong, sentence in [
        ({"model": {"decoder": "rnn"}}, "must have no model.decoder, because the task is classification"),
        ({"tokens": {"target": "words"}}, "must have labels or nothing as tokens.target"),
        ({"train": {"monitor": "bleu"}}, "must have train.monitor as valid_loss or one of accuracy"),
        (
            {"train": {"monitor": "micro_f1"}},
            "must have train.monitor as valid_loss or one of accuracy, macro_f1, because",
        ),
        ({"train": {"scheduled_sampling": 0.1}}, "cannot have train.scheduled_sampling, because"),
        ({"train": {"output_bias": "counts"}}, "cannot have train.output_bias, because"),
    ]:
        with pytest.raises(ConfigError, match=sentence):
            load_config(base={"preset": "han2016", "data": {"train": str(data)}, **wrong})
    with pytest.raises(ConfigError, match=r"cannot have train.class_weights, because the task is transduction"):
        load_config(base={"preset": "cho2014", "data": {"train": str(data)}, "train": {"class_weights": "balanced"}})


def test_held_out_labels_that_nobody_could_learn_are_not_checked_on(tmp_path: Path) -> None:
    train, valid = write_planted(tmp_path / "train.jsonl", 8), write_planted(tmp_path / "valid.jsonl", 3, seed=2)
    valid.write_text(valid.read_text().replace('"label": "bad"', '"label": "odd"'))
    config = configure_planted(train)
    job = start(
        config.model_copy(update={"data": config.data.model_copy(update={"valid": str(valid)})}), tmp_path / "r"
    )
    assert list(job.valid.target) == ["good", "good"]
    valid.write_text(valid.read_text().replace('"label": "good"', '"label": "new"'))
    with pytest.raises(DataError, match="the held-out data has no label that the training data has"):
        start(config.model_copy(update={"data": config.data.model_copy(update={"valid": str(valid)})}), tmp_path / "s")


def test_planted_sentences_are_what_the_documents_have(tmp_path: Path) -> None:
    for line in write_planted(tmp_path / "x.jsonl", 8).read_text().splitlines():
        assert sum(sentence in line for sentence in SENTENCES.values()) == 1


def test_training_may_start_from_word_vectors(tmp_path: Path) -> None:
    data = write_planted(tmp_path / "x.jsonl", 16)
    (tmp_path / "vectors.txt").write_text("gold " + " ".join(["2.5"] * 8) + "\n")
    for wanted, count in (("train", "22 of 26"), (str(tmp_path / "vectors.txt"), "1 of 26")):
        config = configure_planted(data, init={"embeddings": wanted})
        job = start(config, tmp_path / wanted.replace("/", "-"))
        assert f"{count} words" in job.taken[0]
    pieces = job.loop.task.source.words.pieces
    assert (job.loop.model.encoder.embed.weight[pieces.index(f"{SPACE}gold")] == 2.5).all()
    other = configure_planted(data, model={"encoder": {**TINY, "embedding_size": 6}}, init={"embeddings": wanted})
    with pytest.raises(ConfigError, match=r"set model\.encoder\.embedding_size to 8"):
        start(other, tmp_path / "other")


def test_the_time_is_estimated_for_long_texts_too(tmp_path: Path) -> None:
    data = tmp_path / "x.jsonl"
    data.write_text("".join(f'{{"text": "{"a b " * 150}", "label": "{label}"}}\n' for label in "xyxy"))
    encoder = {"kind": "transformer", "size": 4, "inner_size": 4, "layers": 1, "heads": 1}
    tokens = {"source": {"kind": "words", "min_count": 1}}
    job = start(configure_planted(data, tokens=tokens, model={"encoder": encoder}), tmp_path / "run")
    assert job.estimate() > 0  # a table of positions grows on the way
