"""Where attention hardly agrees with leave-one-out, that comes first; what a run does not know is marked."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from served import Client, ask, listening

from browser import browse, find_browser
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.runs.agreement_file import write_agreement
from seq2see.runs.folder import RunFolder
from seq2see.serve import responses
from seq2see.serve.bounds import Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.model_registry import ModelRegistry

LONG = "abc " * 4


@pytest.fixture(scope="module")
def weak(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run whose attention hardly agrees with leave-one-out."""
    path = tmp_path_factory.mktemp("weak") / "weak"
    shutil.copytree(folders[0], path)
    write_agreement(RunFolder(path), AttentionAgreement(0.03, 24))
    return path


def explain(path: Path, **body: Any) -> Any:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        return (await client.post("/v1/explain", json=body)).json()

    return ask([path], talk)


def test_leave_one_out_is_measured_unless_it_is_refused(weak: Path, folders: list[Path]) -> None:
    found = explain(weak, text="abc de", beam=1)
    assert [(each["start"], each["end"]) for each in found["drops"]] == [(0, 3), (4, 6)]
    assert (found["run_agreement"]["weak"], found["run_agreement"]["tau"]) == (True, 0.03)
    assert explain(weak, text="abc de", beam=1, leave_one_out=False)["drops"] is None
    assert explain(folders[0], text="abc de", beam=1)["drops"] is None  # never measured, so attention is shown
    assert explain(weak, text="abc de", target="cb")["drops"][1]["drop"] != 0.0
    assert explain(weak, text="abc de", target="cb")["run_agreement"]["weak"]


def test_a_long_source_is_shown_without_it(weak: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(responses, "MAX_TOKENS_LEFT_OUT", 60)
    assert explain(weak, text=LONG, beam=1)["drops"] is None
    assert "leave_one_out reads up to 60 tokens" in explain(weak, text=LONG, beam=1, leave_one_out=True)["error"]


def test_interventions_keep_what_was_measured_before_them(weak: Path) -> None:
    change = {"map": "decoder.reader.attend", "weights": "uniform"}
    found = explain(weak, text="abc de", beam=1, interventions=[change])
    assert len(found["drops"]) == 2
    assert "(before the interventions)" in found["run_agreement"]["text"]


def test_the_list_of_runs_says_whose_attention_agrees(weak: Path, folders: list[Path]) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        return (await client.get("/v1/models")).json()["models"]

    known = {each["name"]: each["agreement"] for each in ask([weak, folders[1]], talk)}
    assert (known["weak"]["weak"], known["heads"]["weak"], known["heads"]["tau"]) == (True, False, None)


def test_what_a_run_does_not_know_is_flagged(folders: list[Path], labels: Path) -> None:
    async def talk(client: Client, handler: RequestHandler) -> Any:
        answer = await client.post("/v1/predict", json={"texts": ["ab☃c", "abc"]})
        return [each["unknown"] for each in answer.json()["outputs"]]

    assert ask([folders[0]], talk) == [[{"text": "☃", "start": 2, "end": 3}], []]
    found = explain(folders[0], text="ab☃c")
    assert [each["text"] for each in found["source_tokens"] if each["unknown"]] == ["☃"]
    document = explain(labels, text="A zebraphant. All is quiet.")
    assert "zebraphant" in [w["text"] for s in document["sentences"] for w in s["words"] if w["unknown"]]


@pytest.mark.slow
@pytest.mark.skipif(find_browser() is None, reason="no browser here; install chromium to test the page")
def test_the_page_begins_with_leave_one_out_and_marks_the_input(weak: Path) -> None:
    with listening(ModelRegistry([weak]), bounds=Bounds(text=60, seconds=300.0)) as address, browse() as browser:
        browser.open(address)
        browser.wait("document.querySelector('#text')")
        browser.run("document.querySelector('#text').select()")
        browser.type("abc d☃e")
        browser.press("Enter")
        browser.wait("document.querySelector('.output .needs')")
        tops = browser.run(
            "['.meaning.weak', '.needs', 'h3.below', 'table.grid'].map((each) =>"
            " document.querySelector(each).getBoundingClientRect().top)"
        )
        assert tops == sorted(tops)
        marked = "[...document.querySelectorAll('.raw .unknown, .grid .unknown')].map((each) => each.textContent)"
        assert browser.run(marked) == [" ", "☃", "␣", "☃"]  # it never saw a space
        switch = "[...document.querySelectorAll('label')].find((each) => each.textContent.startsWith('Leave out each'))"
        assert browser.run(f"{switch}.querySelector('input').checked") is True
        browser.run(f"{switch}.click()")
        browser.wait("document.querySelector('.output') && !document.querySelector('.output .needs')")
        assert browser.complaints() == []
