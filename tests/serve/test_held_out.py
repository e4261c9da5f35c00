"""The examples and lines of a run on its page and in the API, and the controls that a run has use for."""

import asyncio
import shutil
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from reversal import SMALL, configure, start, write_reversals
from served import Client, ask, listening

from browser import Browser, browse, find_browser
from seq2see.config.load import load_config
from seq2see.explain.attention_agreement import NO_ATTENTION
from seq2see.runs.held_out_file import FILE_NAME, collect_held_out, read_held_out, write_held_out
from seq2see.runs.run import Run, load
from seq2see.serve.bounds import Bounds
from seq2see.serve.handler import RequestHandler
from seq2see.serve.model_registry import ModelRegistry
from seq2see.serve.response_schemas import HeldOutResponse
from seq2see.serve.run_description import has_attention, name_action

pytestmark = pytest.mark.slow
in_browser = pytest.mark.skipif(find_browser() is None, reason="no browser here; install chromium to test the page")
SOURCES = ["fade abc", "cab", "dab", "bed", "fed", "ace", "add", "bad"]
ROWS_IN_WINDOW = """[...document.querySelectorAll('.grid tbody tr')].filter((row) => {
    const [box, told] = [row, document.querySelector('.readout')].map((each) => each.getBoundingClientRect());
    return box.top >= 0 && box.bottom <= Math.min(innerHeight, told.top);
}).length"""
LABELS = """[...document.querySelectorAll('.ask label')].filter((label) => label.checkVisibility())
    .map((label) => label.firstChild.textContent)"""
OPTIONS = "[...document.querySelectorAll('.fields .choice')].map((label) => label.textContent)"
HELD_OUT = "document.querySelectorAll('.example-button, .lines-table').length"


def keep(folder: Path, place: Path, data: list[tuple[str, str]]) -> Path:
    """A copy of a run that keeps its outputs for some data."""
    shutil.copytree(folder, place / folder.name)
    run = load(place / folder.name)
    write_held_out(run.folder, collect_held_out(run, replace(run.evaluate(data), name="test data")))
    return place / folder.name


@pytest.fixture(scope="module")
def kept(folders: list[Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return keep(folders[0], tmp_path_factory.mktemp("kept"), [(text, text[::-1]) for text in SOURCES])


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run without attention."""
    folder = tmp_path_factory.mktemp("plain")
    data = write_reversals(folder / "reversed.tsv", 64)
    config = configure(data, preset="cho2014", model=SMALL, tokens={"joint": "characters"}, updates=2)
    list(start(config, folder / "plain").loop.run())
    return folder / "plain"


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browse() as found:
        yield found


class opened:  # noqa: N801 (reads as what it does)
    """The page of some runs, in the browser."""

    def __init__(self, browser: Browser, *runs: Path, **screen: Any) -> None:
        self.browser, self.screen = browser, screen
        self.server = listening(ModelRegistry(list(runs)), bounds=Bounds(seconds=300.0))

    def __enter__(self) -> None:
        address = self.server.__enter__()
        self.browser.open("about:blank")
        self.browser.open(address, **self.screen)
        self.browser.wait("document.querySelector('.ask #text, .ask #image')")

    def __exit__(self, *problem: object) -> None:
        self.server.__exit__(*problem)
        if problem[0] is None:
            assert self.browser.complaints() == []


def test_the_api_lists_what_the_folder_keeps(kept: Path, folders: list[Path]) -> None:
    async def talk(client: Client, _: RequestHandler) -> None:
        found = (await client.get("/v1/held-out", params={"model": "rnn"})).json()
        HeldOutResponse.model_validate(found)
        assert (found["model"], found["data"], found["count"]) == ("rnn", "test data", len(SOURCES))
        assert [line["source"] for line in found["lines"]] == SOURCES
        nothing = (await client.get("/v1/held-out", params={"model": "heads"})).json()
        assert nothing == {"model": "heads", "data": "", "count": 0, "lines": []}
        assert (await client.get("/v1/held-out", params={"model": "none"})).status_code == 404
        file = kept / FILE_NAME
        whole = file.read_bytes()
        file.write_bytes(whole[:-9])
        broken = await client.get("/v1/held-out")
        await asyncio.to_thread(file.write_bytes, whole)
        assert (broken.status_code, list(broken.json())) == (409, ["error"])

    ask([kept, folders[1]], talk)


@pytest.mark.parametrize(
    ("data", "action"),
    [
        ({"train": {"source": "a/train.en", "target": "a/train.de"}}, "translate"),
        ({"train": {"source": "train.tok.pt-BR.gz", "target": "train.tok.es.gz"}}, "predict"),
        ({"train": "pairs.tsv", "fields": ["English", "Hindi"]}, "translate"),
        ({"train": "pairs.tsv", "fields": ["word", "pronunciation"]}, "predict"),
        ({"train": "pairs.en.tsv"}, "predict"),
        ({"train": {"source": "en/x.txt", "target": "de/x.txt"}}, "predict"),
    ],
)
def test_what_translates_is_told_from_the_names_of_both_sides(data: dict[str, Any], action: str) -> None:
    config = load_config(base={"preset": "bahdanau2015", "data": data}).config
    text = Mock(Run, config=config, task=Mock(writes_text=True, source=Mock()))
    assert name_action(text) == action
    text.task.source.tokenizer = None
    assert name_action(text) == "caption"
    text.task.writes_text = False
    assert name_action(text) == "classify"


def test_a_run_without_attention_is_known(kept: Path, plain: Path) -> None:
    assert [has_attention(load(path)) for path in (kept, plain)] == [True, False]
    assert not has_attention(replace(load(kept), agreement=NO_ATTENTION))


@in_browser
@pytest.mark.parametrize(("width", "height", "rows"), [(1366, 768, 8), (1366, 650, 5), (390, 844, 4)])
def test_the_map_is_in_the_window_and_the_form_is_folded(
    browser: Browser, kept: Path, width: int, height: int, rows: int
) -> None:
    with opened(browser, kept, width=width, height=height):
        assert browser.run("document.querySelector('.fold').open")
        browser.click("#text")
        browser.type("fade abcd")
        browser.press("Enter")
        browser.wait("document.querySelector('.grid')")
        assert not browser.run("document.querySelector('.fold').open")
        browser.run("window.scrollTo(0, 0)")
        assert browser.run(ROWS_IN_WINDOW) >= min(
            rows, browser.run("document.querySelectorAll('.grid tbody tr').length")
        )
        assert browser.run("document.scrollingElement.scrollWidth <= window.innerWidth")
        form, grid = (
            browser.run(f"document.querySelector('{name}').getBoundingClientRect().toJSON()")
            for name in ("#text", ".grid")
        )
        assert (form["right"] <= grid["left"]) == (width > 1000)  # side by side, or the map below
        assert browser.run("document.title") == f"fade abcd → {load(kept).predict('fade abcd').text} · rnn · seq2see"


@in_browser
def test_an_example_is_asked_with_one_click_or_key(browser: Browser, kept: Path) -> None:
    with opened(browser, kept):
        browser.wait("document.querySelectorAll('.example-button').length === 6")
        shown = browser.run("[...document.querySelectorAll('.example-button')].map((b) => b.textContent)")
        assert shown == [SOURCES[place] for place in (0, 1, 2, 4, 5, 6)]  # at equal distances
        assert browser.run("document.querySelector('.examples summary').textContent") == "Examples from the test data"
        browser.click(".example-button", 3)
        browser.wait("document.querySelector('.grid')")
        assert browser.run("document.querySelector('#text').value") == SOURCES[4]
        assert browser.run("document.querySelector('.output .raw').textContent").startswith(SOURCES[4])
        browser.run("document.querySelectorAll('.example-button')[1].focus()")
        browser.press("Enter")
        browser.wait(f"document.querySelector('.output .raw').textContent.startsWith('{SOURCES[1]}')")


@in_browser
def test_a_line_of_the_table_leads_inside(browser: Browser, kept: Path) -> None:
    lines = read_held_out(load(kept).folder).lines
    with opened(browser, kept):
        browser.wait("document.querySelector('.lines-table tbody tr')")
        outputs = browser.run("[...document.querySelectorAll('.column-output')].map((cell) => cell.textContent)")
        assert outputs == [line.output for line in lines]
        browser.click(".lines-table .inside", 5)
        browser.wait("document.querySelector('.grid')")
        assert browser.run("document.querySelector('.output .raw').textContent").startswith(SOURCES[5])
        assert not browser.run("document.querySelector('.all-lines details').open")


@in_browser
def test_a_run_without_held_out_lines_has_nothing_to_click(browser: Browser, folders: list[Path]) -> None:
    with opened(browser, folders[1]):
        browser.wait("document.querySelector('#text')")
        assert browser.run(f"new Promise((done) => setTimeout(() => done({HELD_OUT}), 500))") == 0
        assert "This run keeps no examples" in browser.text()


@in_browser
def test_controls_without_an_effect_are_not_shown(browser: Browser, kept: Path, plain: Path, labels: Path) -> None:
    with opened(browser, kept):  # one run, one map, one head
        assert browser.run("document.querySelector('.ask .primary').textContent") == "Predict"
        assert "Run" not in browser.run(LABELS)
        assert "Compare with" not in browser.run(LABELS)
        assert not browser.run("document.querySelector('.tools').checkVisibility()")  # there is no answer yet
        browser.run("document.querySelector('details.search').open = true")
        options = browser.run(OPTIONS)
        assert "Replace unknown words" in options
        browser.click(".example-button")
        browser.wait("document.querySelector('.grid')")
        assert browser.run("[...document.querySelectorAll('.trace select')].length") == 0
        assert browser.run("document.querySelector('.tools').checkVisibility()")
    with opened(browser, plain):
        browser.run("document.querySelector('details.search').open = true")
        browser.choose(".search select", "beam")
        options = browser.run(OPTIONS)
        assert "Beam width" in options
        assert not {"Replace unknown words", "Dictionary", "Coverage penalty"} & set(options)
    with opened(browser, labels, kept):
        assert browser.run("document.querySelector('.ask .primary').textContent") == "Classify"
        assert browser.run("document.querySelector('details.search')") is None
        assert "Run" in browser.run(LABELS)
        assert "Compare with" not in browser.run(LABELS)  # a text is no document


@in_browser
def test_an_image_of_the_run_is_asked_and_shown_beside_the_veiled_one(
    browser: Browser, captions: Path, tmp_path: Path
) -> None:
    images = sorted(captions.parent.glob("*.png"))
    folder = keep(captions, tmp_path, [(str(image), f"a {image.stem} wall") for image in images])
    lines = read_held_out(load(folder).folder).lines
    with opened(browser, folder):
        assert browser.run("document.querySelector('.ask .primary').textContent") == "Caption"
        browser.wait("document.querySelectorAll('.example-button img').length === 4")
        assert browser.run("document.querySelectorAll('.lines-table .thumbnail').length") == 4
        browser.click(".example-button", 2)
        browser.wait("document.querySelector('.stage canvas')")
        words = browser.run("[...document.querySelectorAll('.overlay .word bdi')].map((word) => word.textContent)")
        assert " ".join(words[:-1]) == lines[2].output  # the same pixels give the same caption
        original, veiled = browser.run(
            "[...document.querySelectorAll('.stages img, .stages canvas')].map((s) => s.getBoundingClientRect())"
            ".map((box) => box.toJSON())"
        )
        for side in ("top", "width", "height"):
            assert original[side] == pytest.approx(veiled[side], abs=0.1)
        assert original["right"] < veiled["left"]
        assert browser.run("document.querySelector('.stages img').naturalWidth") == 16
