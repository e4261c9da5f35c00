"""From any source to a text: documents, too."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from planted import TINY, write_planted
from reversal import start

from seq2see.cli.inputs import warn_of_length
from seq2see.config.load import load_config
from seq2see.core.special_tokens import END, PAD, START, UNKNOWN
from seq2see.data.batch import collate
from seq2see.data.modalities.image import ImageModality
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store
from seq2see.data.storage.packed import pack
from seq2see.data.trainable_tokenizers import Characters
from seq2see.metrics.meteor import Meteor, MeteorError
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run
from seq2see.search.beam import Beam
from seq2see.tasks import output_scores, transduction
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction


def test_texts_written_from_documents_are_scored_as_texts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = map(json.loads, write_planted(tmp_path / "documents.jsonl", 12).read_text().splitlines())
    data = tmp_path / "pairs.jsonl"
    data.write_text(
        "".join(json.dumps({"source": row["text"], "target": f"it is {row['label']}"}) + "\n" for row in rows)
    )
    tokens = {
        "source": {"kind": "documents", "words": {"kind": "words", "min_count": 1}},
        "target": {"kind": "words", "min_count": 1},
    }
    base = {"preset": "bahdanau2015", "data": {"train": str(data), "valid": str(data)}, "tokens": tokens}
    base |= {"model": {"encoder": TINY, "decoder": {"size": 8, "embedding_size": 8}}}
    base |= {
        "train": {"updates": 2, "validate_every": 2, "validation_pairs": 4, "monitor": "chrf", "batch_tokens": 256}
    }
    job = start(load_config(base=base).config, tmp_path / "run")
    list(job.loop.run())
    (look,) = job.loop.folder.read_metrics()
    assert {"exact_match", "bleu", "chrf"} <= look.keys()
    run = Run(job.loop.folder, job.loop.config, job.loop.task, job.loop.model)
    scores = run.task.score(run.predict(["It rains."]), Pairs(["It rains."], ["it is bad and so on"]))
    assert "bleu" in [metric.name for metric in scores]
    warn_of_length(run, ["It rains. " * 200])
    assert capsys.readouterr().err == ""  # of a long document no more is read than in training


def test_captions_are_scored_without_meteor_if_it_fails(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    class Failing(Meteor):
        def __init__(self) -> None:
            self._process = None

        def score(self, *_: object) -> float:
            raise MeteorError("METEOR gave up.")

    monkeypatch.setattr(output_scores, "explain_absence", lambda: None)
    monkeypatch.setattr(output_scores, "Meteor", Failing)
    task = Transduction(ImageModality(size=32), Characters().learn(["ab"]))
    scores = task.score([Output("a dog", 0.0, (), (), "x.png")], Pairs(["x.png"], ["a dog"]))
    names = [metric.name for metric in scores]
    assert "bleu_1" in names
    assert "meteor" not in names
    assert caplog.messages == ["warning: METEOR gave up. It is left out."]


def test_few_images_are_looked_at_at_once() -> None:
    task = Transduction(ImageModality(size=32), Characters().learn(["ab"]))
    for width in (1, 5, 20):
        plan = task.plan([f"{number}.png" for number in range(150)], Beam(width=width))
        assert [len(batch) for batch in plan] == [64, 64, 22]


@pytest.mark.parametrize(("decoder", "shared"), [("/one", True), ("/other", False), (None, True)])
def test_halves_from_one_run_share_what_fits(decoder: str | None, shared: bool) -> None:
    base = {"preset": "bahdanau2015", "tokens": {"joint": "characters"}, "model": {"share": ["fitting"]}}
    base |= {"data": {"train": "pairs.tsv"}}
    config = load_config(base={**base, "init": {"encoder": "/one", "decoder": decoder}}).config
    task = Transduction.learn(config, Pairs(["ab"], ["ba"]))
    model = task.build(config)
    assert (model.encoder.embed.weight is model.decoder.embed.weight) == shared


def test_perplexity_is_that_of_the_whole_model_over_all_tokens(monkeypatch: pytest.MonkeyPatch) -> None:
    """By torch's own loss; several batches, unequal targets, and a model that was left with its dropout on."""
    monkeypatch.setattr(transduction, "PREDICT_TOKENS", 12)
    half = {"size": 6, "embedding_size": 5, "dropout": 0.5}
    base = {"preset": "bahdanau2015", "data": {"train": "x"}, "model": {"encoder": half, "decoder": half}}
    config = load_config(base=base).config
    pairs = Pairs(["abc", "b", "cabbac", "cc"], ["c", "abcabc", "bb", "aca"])
    task = Transduction.learn(config, pairs)
    model = task.build(config).train()
    with torch.no_grad():
        model.output_layer.weight.mul_(20)
    found = task.perplexity(model, pairs)
    store = Store(task.source.prepare(pairs.source), pack(task.target.ids(pairs.target)), "")
    batch = collate(store, np.arange(4))
    with torch.no_grad():
        logits = model.eval()(batch.source, batch.source_mask, batch.inputs)[batch.target_mask]
    expected = F.cross_entropy(logits, batch.targets[batch.target_mask]).exp().item()
    assert len(logits) == 12 + 4  # letters and end marks
    assert found.value == pytest.approx(expected, rel=1e-4)
    assert "tokens:16" in found.signature


def make_endless(longest_target: int = 0) -> Run:
    """A small model that never ends an output by itself."""
    half = {"size": 6, "embedding_size": 4}
    base = {"preset": "bahdanau2015", "data": {"train": "x"}, "tokens": {"source": "words", "target": "words"}}
    config = load_config(base={**base, "model": {"encoder": half, "decoder": half}}).config
    texts = ["the cab was bad", "a day"] * 2
    task = replace(Transduction.learn(config, Pairs(texts, texts)), longest_target=longest_target)
    model = task.build(config).eval()
    with torch.no_grad():
        model.decoder.output.bias[END] = -1e4
    return Run(RunFolder(Path("nowhere")), config, task, model)


@pytest.mark.parametrize("search", ["greedy", {"kind": "beam", "width": 3}, "sample"], ids=str)
def test_an_output_may_be_as_long_as_its_own_source_allows(search: Any) -> None:
    """Twice the source, with its end mark, and twenty; or as long as any target of training."""
    texts = ["the cab was bad", "a", " ".join(["a day"] * 10)]
    for longest, lengths in ((0, [30, 24, 62]), (28, [30, 28, 62]), (99, [99, 99, 99])):
        found = make_endless(longest).predict(texts, search=search)
        assert [len(each.ids) for each in found] == lengths
        assert not any(each.finished for each in found)


def test_a_prefix_comes_on_top_of_the_length_of_an_output() -> None:
    run, texts = make_endless(), ["the cab was bad", "a day", "a"]
    found = run.predict(texts, beam=1, prefix=["a day was bad", "", "the"])
    assert [len(each.ids) for each in found] == [30 + 4, 26, 24 + 1]
    for options, lengths in (({"max_length": 9}, [9, 9, 9]), ({"min_length": 30}, [34, 31, 31])):
        found = run.predict(texts, beam=1, prefix=["a day was bad", "", "the"], **options)
        assert [len(each.ids) for each in found] == lengths


def test_models_that_write_together_may_write_as_long_as_any_of_them() -> None:
    short, long = make_endless(), make_endless(50)
    for run in (replace(short, others=(long,)), replace(long, others=(short,))):
        assert [len(each.ids) for each in run.predict(["a day", "a"], beam=1)] == [50, 50]


def test_padding_is_never_written_even_where_unknown_words_may_be() -> None:
    run = make_endless()
    with torch.no_grad():
        run.model.decoder.output.bias[[PAD, START]] += 50
        run.model.decoder.output.bias[UNKNOWN] += 9
    for options in ({}, {"replace_unknown": True}):
        (output,) = run.predict(["a day"], beam=1, max_length=6, **options)
        assert not {PAD, START} & set(output.ids)
        assert (UNKNOWN in output.ids) == bool(options)


def test_so_many_hypotheses_are_decoded_at_once_as_there_is_room_for(monkeypatch: pytest.MonkeyPatch) -> None:
    """Texts of three positions, with their end; a beam takes twice the room, whatever its width."""
    monkeypatch.setattr(transduction, "PREDICT_TOKENS", 24)
    task = make_endless().task
    for width, together in ((1, 8), (2, 8), (4, 4), (8, 2), (99, 1)):
        plan = task.plan(["a day"] * 9 + [" "], Beam(width=width))
        assert max(map(len, plan)) == together
        assert sorted(row for batch in plan for row in batch) == list(range(9))
