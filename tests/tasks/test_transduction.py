"""From any source to a text: documents, too."""

import json
from pathlib import Path

import pytest
from planted import TINY, write_planted
from reversal import start

from seq2see.cli.inputs import warn_of_length
from seq2see.config.load import load_config
from seq2see.data.pairs import Pairs
from seq2see.run import Run


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
