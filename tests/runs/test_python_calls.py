"""What programs get from a run: probabilities, explanations of given texts, comparisons, and data by known columns."""

import json
import math
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from reversal import SMALL

import seq2see
from seq2see.core.errors import CheckpointError, ConfigError, DataError, Seq2SeeError
from seq2see.runs.prediction_json import to_json

TRAIN = {"updates": 4, "batch_tokens": 64, "validate_every": 2, "validation_pairs": 8, "schedule": "constant"}
OPTIONS: dict[str, Any] = {"preset": "bahdanau2015", "model": SMALL}
ROWS = [{"id": f"n{n}", "spoken": f"ab cd{n}", "written": f"{n}ba"} for n in range(60)]
FIELDS = ("spoken", "written")


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> seq2see.Run:
    training = seq2see.fit(ROWS, fields=FIELDS, out=tmp_path_factory.mktemp("runs") / "rows", train=TRAIN, **OPTIONS)
    list(training)
    return training.load()


def test_the_probability_is_of_the_whole_output(run: seq2see.Run) -> None:
    greedy = run.predict("ab cd1", beam=1)
    confidences = [token.confidence for token in greedy.tokens]
    product = math.prod(each for each in confidences if each is not None)
    assert greedy.probability == pytest.approx(product)
    mean = run.predict("ab cd1", search={"kind": "beam", "width": 1, "length_penalty": 1.0})
    assert mean.probability == pytest.approx(math.exp(mean.score * len(mean.ids)))
    assert run.predict("").probability is None
    assert json.loads(to_json(greedy))["probability"] == greedy.probability
    assert json.loads(to_json(run.predict(" ")))["probability"] is None


def test_rows_are_read_by_the_columns_of_the_run(run: seq2see.Run, tmp_path: Path) -> None:
    assert [each.source for each in run.evaluate(ROWS[:3]).predictions] == ["ab cd0", "ab cd1", "ab cd2"]
    tuned = seq2see.fit(ROWS[:20], init=run, out=tmp_path / "rows", train={"updates": 2})
    assert tuned.job.loop.config.data.fields == list(FIELDS)
    tuned.close()
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS[:20]))
    tuned = seq2see.fit(file, init=run, out=tmp_path / "file", train={"updates": 2})
    assert tuned.job.loop.config.data.fields == list(FIELDS)
    assert tuned.job.train.source[0].startswith("ab cd")
    tuned.close()
    with pytest.raises(DataError, match=r"fields=\(SOURCE, TARGET\)"):
        run.evaluate([{"id": "a", "one": "b", "two": "c"}])


def test_a_given_text_is_explained_with_the_words_of_its_drops(run: seq2see.Run) -> None:
    trace = run.explain("ab cd1", target="7ba", occlusion=True)
    assert trace.to_dict()["target"] == "7ba"
    drops = trace.to_dict()["drops"]
    assert isinstance(drops, list)
    assert [each["text"] for each in drops if isinstance(each, dict)] == ["ab", "cd1"]
    own = run.explain("ab cd1")
    assert own.to_dict()["target"] == run.predict("ab cd1").text
    with pytest.raises(Seq2SeeError, match="target must have known tokens only; got 'é'"):
        run.explain("ab", target="é")


def test_a_comparison_is_short_in_print_and_has_a_table_and_a_page(run: seq2see.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "copy")
    found = seq2see.compare([run, tmp_path / "copy"], ROWS[:5])
    assert repr(found) == "Comparison(rows and copy on 5 sentences; see table() and save(PATH))"
    assert "copy" in found.table()
    assert "chrF" in found.table()
    page = found.save(tmp_path / "compare.html", examples=1)
    assert "rows and copy" in page.read_text(encoding="utf-8")
    with pytest.raises(Seq2SeeError, match=r"must end in \.html"):
        found.save(tmp_path / "compare.png")
    assert repr(run.evaluate(ROWS[:5])).startswith("Evaluation(the given pairs, 5 pairs: ")


def test_the_names_of_the_package_are_listed_before_they_are_imported() -> None:
    code = "import seq2see, sys; print(*dir(seq2see)); print('torch' in sys.modules)"
    names, imported = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.splitlines()
    assert set(seq2see.__all__) < set(names.split())
    assert not [name for name in names.split() if name.startswith("_") and name != "__version__"]
    assert imported == "False"  # listing names is no reason to wait for torch


def test_a_run_is_three_lines_and_a_prediction_one(run: seq2see.Run) -> None:
    first, second, third = repr(run).splitlines()
    assert first == f"Run({run.folder.path}): text to text"
    sizes = [parameter.numel() for parameter in run.model.parameters()]
    assert second == f"  model: bahdanau2015, {sum(sizes):,} parameters"
    assert third == f"  {run.agreement}"
    both = seq2see.load([run.folder.path, run.folder.path])
    assert repr(both).splitlines()[0].endswith("text to text, with 1 further run")
    one = run.predict("ab cd1")
    assert repr(one) == f"Prediction({one.text!r} from 'ab cd1', confidence {one.confidence:.3f})"
    assert repr(run.predict(" ")) == "Prediction('' from ' ')"
    assert len(repr(run.predict("ab " * 100))) < 200


def test_predictions_show_themselves_as_a_table(run: seq2see.Run) -> None:
    found = run.predict(["ab cd1", "<b>", ""])
    assert isinstance(found, list)
    table = found._repr_html_()
    assert table.count("<tr>") == 4
    assert table.count(">&lt;b&gt;</td>") == 1  # what users give is text and no markup
    assert "<b>" not in table
    assert f"<td>{found[0].confidence:.1%}</td>" in table
    assert table.endswith("<td></td></tr></tbody></table>")  # a blank source has no confidence
    assert found[1:]._repr_html_().count("<tr>") == 3
    shown = type(found)(found[:1] * 100)._repr_html_()
    assert "… 40 more …" in shown
    assert [int(number) for number in re.findall(r'"row">(\d+)<', shown)] == [*range(30), *range(70, 100)]


def test_the_call_that_began_a_run_returns_it_after_more_updates(tmp_path: Path) -> None:
    options: dict[str, Any] = {"fields": FIELDS, "out": tmp_path / "run", **OPTIONS}
    list(seq2see.fit(ROWS, train=TRAIN, **options))
    seq2see.resume(tmp_path / "run", updates=6, progress=False)
    again = seq2see.fit(ROWS, train=TRAIN, **options)
    assert [type(event) for event in again] == [seq2see.Resumed, seq2see.Finished]
    assert (again.finished.update, again.finished.complete) == (6, True)
    assert again.load().config.train.updates == 6
    with pytest.raises(ConfigError, match="holds another run"):
        seq2see.fit(ROWS, train={**TRAIN, "batch_tokens": 128}, **options)
    with pytest.raises(CheckpointError, match="the training data has changed"):
        seq2see.fit(ROWS[:30], train=TRAIN, **options)


def test_the_doctor_checks_python_objects(tmp_path: Path) -> None:
    pairs = [(f"text {n}", f"{n}") for n in range(40)]
    report = seq2see.doctor([*pairs, ("", "x")], test=pairs[:2])
    leak = next(each for each in report.findings if "leakage" in each.message)
    assert (leak.level, leak.file, leak.line, leak.count) == ("warning", Path("test"), 1, 2)
    assert "test, line 1: leakage: 100.0% of its sources are in the training data too" in str(report)
    assert "seq2see-" not in str(report)
    assert len(report.splits["train"]) == 40
    assert str(seq2see.doctor([(f"{n:03}", f"{n:03}") for n in range(900)])) == "No problems found."
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in ROWS))
    assert len(seq2see.doctor(file, fields=FIELDS).splits["train"]) == 60
