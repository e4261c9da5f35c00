"""From any source to a text: documents, too."""

import json
from pathlib import Path

import pytest
from planted import TINY, write_planted
from reversal import start

from seq2see.cli.inputs import warn_of_length
from seq2see.config.load import load_config
from seq2see.data.pairs import Pairs
from seq2see.data.pictures import Pictures
from seq2see.data.tokenise import Characters
from seq2see.metrics.meteor import Meteor, MeteorError
from seq2see.run import Run
from seq2see.search.beam import Beam
from seq2see.tasks import transduction
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
    base |= {"train": {"updates": 2, "evaluate_every": 2, "evaluate_pairs": 4, "watch": "chrf", "batch_tokens": 256}}
    job = start(load_config(base=base).config, tmp_path / "run")
    list(job.fit.run())
    (look,) = job.fit.folder.read_metrics()
    assert {"exact_match", "bleu", "chrf"} <= look.keys()
    run = Run(job.fit.folder, job.fit.config, job.fit.task, job.fit.model)
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

    monkeypatch.setattr(transduction, "explain_absence", lambda: None)
    monkeypatch.setattr(transduction, "Meteor", Failing)
    task = Transduction(Pictures(size=32), Characters().learn(["ab"]))
    scores = task.score([Output("a dog", 0.0, (), (), "x.png")], Pairs(["x.png"], ["a dog"]))
    names = [metric.name for metric in scores]
    assert "bleu_1" in names
    assert "meteor" not in names
    assert caplog.messages == ["warning: METEOR gave up. It is left out."]


def test_few_pictures_are_looked_at_at_once() -> None:
    task = Transduction(Pictures(size=32), Characters().learn(["ab"]))
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
