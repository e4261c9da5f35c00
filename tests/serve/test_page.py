"""The page in a real browser: what is typed, streamed, pointed at and changed; every number is the trace's own."""

import base64
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pytest
from PIL import Image
from served import listening

from browser import Browser, browse, find_browser
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.document_trace import DocumentTrace
from seq2see.render.colours import LIGHT, mix_colour
from seq2see.runs.run import load
from seq2see.serve.bounds import Bounds
from seq2see.serve.model_registry import ModelRegistry

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(find_browser() is None, reason="no browser here; install chromium to test the page"),
]
READ_GRID = """[...document.querySelectorAll('.grid tbody tr')]
    .map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.title)))"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with browse() as found:
        yield found


@pytest.fixture(scope="module")
def address(folders: list[Path]) -> Iterator[str]:
    """A server with both runs, in a thread of this process."""
    with listening(ModelRegistry(folders), bounds=Bounds(text=60, seconds=300.0)) as place:
        yield place


def write(browser: Browser, text: str) -> None:
    """Type a text and wait until all of its answer is there."""
    browser.wait("document.querySelector('#text')")
    browser.run("document.querySelector('#text').select()")
    browser.run("document.querySelector('.output')?.setAttribute('data-old', '')")
    browser.type(text)
    browser.press("Enter")
    browser.wait("document.querySelector('.output:not([data-old])')")


def begin(browser: Browser, address: str, run: str, text: str, **screen: Any) -> None:
    browser.open("about:blank")
    browser.open(address, **screen)
    browser.wait("document.querySelector('.ask select')")
    browser.choose(".ask select", run)
    write(browser, text)


def test_tokens_stream_in_and_the_numbers_are_those_of_the_trace(
    browser: Browser, address: str, folders: list[Path]
) -> None:
    begin(browser, address, "heads", "fade abc")
    prediction = load(folders[1]).predict("fade abc")
    spoken = browser.run("[...document.querySelectorAll('.said')].map((s) => [s.firstChild.textContent, s.title])")
    assert spoken == [[token.text.replace(" ", "␣"), f"{100 * token.confidence:.2f} %"] for token in prediction.tokens]
    last = prediction.attention.maps[-1]
    for head in range(2):
        browser.choose(".trace .controls label:nth-child(2) select", f"head {head + 1}")
        np.testing.assert_array_equal(np.array(browser.run(READ_GRID), dtype=np.float32), last.weights[head])
    browser.choose(".trace .controls label:nth-child(2) select", "mean of 2 heads")
    np.testing.assert_allclose(browser.run(READ_GRID), last.weights.mean(axis=0), atol=1e-7)
    assert browser.complaints() == []


def test_pointing_lights_both_ways_and_keys_walk(browser: Browser, address: str, folders: list[Path]) -> None:
    begin(browser, address, "rnn", "fade")
    weights = load(folders[0]).predict("fade").attention.weights
    browser.hover("th.target", 1)
    assert f"{weights[1].max():.4f}" in browser.run("document.querySelector('.readout').textContent")
    assert browser.run("document.querySelectorAll('th.source.painted').length") == weights.shape[1]
    browser.hover("th.source", 2)
    assert "is attended to by" in browser.run("document.querySelector('.readout').textContent")
    assert browser.run("document.querySelectorAll('th.target.painted').length") == weights.shape[0]
    browser.run("document.querySelector('th.target').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    label = browser.run("document.activeElement.getAttribute('aria-label')")
    assert f"with weight {weights[1, 0]:.4f}" in label


def test_all_heads_are_shown_in_their_colours_and_can_be_enlarged(
    browser: Browser, address: str, folders: list[Path]
) -> None:
    begin(browser, address, "heads", "fade")
    browser.click("[data-kind=heads]")
    maps = load(folders[1]).predict("fade").attention.maps
    assert browser.run("document.querySelectorAll('.head').length") == sum(len(each.weights) + 1 for each in maps)
    place = next(place for place, each in enumerate(maps) if each.is_cross_attention)
    spot = f".head[data-map='{place}'][data-head='1']"
    dot = f"[...document.querySelector(\"{spot} canvas\").getContext('2d').getImageData(2, 1, 1, 1).data].slice(0, 3)"
    colour = mix_colour(float(maps[place].weights[1, 1, 2]), stops=LIGHT)
    assert browser.run(dot) == [int(colour[start : start + 2], 16) for start in (1, 3, 5)]
    browser.click(spot)
    np.testing.assert_array_equal(np.array(browser.run(READ_GRID), dtype=np.float32), maps[place].weights[1])


def test_words_are_summed_over_sources_and_averaged_over_targets(
    browser: Browser, address: str, folders: list[Path]
) -> None:
    begin(browser, address, "rnn", "ab cd")
    trace = load(folders[0]).predict("ab cd").attention
    browser.run("[...document.querySelectorAll('.trace label')].find((l) => l.textContent === 'Words').click()")
    grid = np.array(browser.run(READ_GRID))
    assert grid.shape[1] == 4  # ab, the space, cd, the end
    first = [place for place, token in enumerate(trace.target_tokens) if " " not in trace.target[: token.end]]
    word = [row for row in first if trace.target_tokens[row].start < trace.target_tokens[row].end]
    np.testing.assert_allclose(grid[0, 0], trace.weights[word][:, :2].sum(axis=1).mean(), atol=1e-6)
    assert "weights summed over the tokens of a key" in browser.text()


def test_what_if_shows_before_and_after(browser: Browser, address: str) -> None:
    begin(browser, address, "heads", "fade")
    browser.click("th.target", 1)
    second = browser.run("document.querySelectorAll('.choices button bdi')[1].textContent")
    browser.click(".choices button", 1)
    browser.wait("document.querySelectorAll('.output').length === 2")
    assert (
        browser.run("document.querySelectorAll('.output')[1].querySelectorAll('th.target bdi')[1].textContent")
        == second
    )
    assert browser.run("document.querySelectorAll('.changes ins').length") > 0
    browser.click(".whatif .buttons button")  # switches off what is shown
    browser.wait("document.querySelectorAll('.chip').length === 2")
    rows = browser.run("[...document.querySelectorAll('.output')[1].querySelectorAll('.grid td')].map((c) => c.title)")
    assert {title for title in rows if title} == {"0"}
    state = json.loads(browser.run("decodeURIComponent(location.hash.slice(1))"))
    assert state["request"]["interventions"][0]["weights"] == "none"
    browser.open("about:blank")
    browser.open(f"{address}#{quote(json.dumps(state))}")
    browser.wait("document.querySelectorAll('.output').length === 2 && document.querySelectorAll('.chip').length === 2")


def test_a_source_token_can_be_read_otherwise(browser: Browser, address: str) -> None:
    begin(browser, address, "rnn", "fade")
    browser.click("th.source", 2)
    browser.type("h")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('.output').length === 2")
    assert browser.run("document.querySelector('#text').value") == "fahe"
    assert browser.run("document.querySelector('.changes del').textContent") == "fade"


def test_runs_side_by_side_and_the_beam_as_a_tree(browser: Browser, address: str, folders: list[Path]) -> None:
    begin(browser, address, "heads", "fade")
    browser.choose(".ask .choice:nth-child(2) select", "rnn")
    browser.wait("document.querySelectorAll('.output').length === 2")
    texts = browser.run(
        "[...document.querySelectorAll('.output')].map((o) => o.querySelectorAll('.raw')[1].textContent)"
    )
    for text, folder in zip(texts, [folders[1], folders[0]], strict=True):
        assert text.startswith(load(folder).predict("fade").text)
    browser.click("[data-kind=tree]")
    assert (
        browser.run("document.querySelectorAll('.output')[1].querySelectorAll('.leaf.best').length") > 0
    )  # both follow
    assert browser.run("document.querySelectorAll('.leaf.left').length") > 0


def test_a_search_is_asked_for_as_filled_in(browser: Browser, address: str, folders: list[Path]) -> None:
    begin(browser, address, "rnn", "fade")
    browser.run("[window.asked, window.send] = [[], fetch]")
    browser.run("window.fetch = (...call) => (asked.push(JSON.parse(call[1]?.body ?? '{}')), send(...call))")
    browser.run("document.querySelectorAll('details.fold, details.search').forEach((each) => { each.open = true; })")
    browser.choose(".search select", "minimum Bayes risk")
    asking = {"beam": 4, "mbr_power": 1.5, "mbr_samples": 6, "mbr_precision": 0.7}
    for name, value in asking.items():
        browser.click(f".search input[name={name}]")
        browser.type(str(value))
    write(browser, "abcabc")
    asked = next(body for body in browser.run("asked") if body.get("text") == "abcabc")
    assert {name: asked[name] for name in asking} == asking
    answer = load(folders[0]).predict("abcabc", beam=4, mbr_power=1.5, mbr_samples=6, mbr_precision=0.7)
    assert browser.run("document.querySelectorAll('.output .raw')[1].textContent").startswith(answer.text)


def test_a_saved_page_needs_no_server(browser: Browser, address: str, folders: list[Path], tmp_path: Path) -> None:
    begin(browser, address, "heads", "fade")
    browser.send("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(tmp_path))
    browser.click(".tools button", 1)
    file = tmp_path / "seq2see.html"
    until = time.monotonic() + 30
    while not file.exists():
        assert time.monotonic() < until
        time.sleep(0.05)
    browser.open(file.as_uri())
    browser.wait("document.querySelector('.grid')")
    assert browser.run("document.title") == f"fade → {load(folders[1]).predict('fade').text} · heads"
    np.testing.assert_allclose(browser.run(READ_GRID), load(folders[1]).predict("fade").attention.weights, atol=1e-7)
    assert browser.complaints() == []


def test_dark_narrow_and_wrong(browser: Browser, address: str) -> None:
    begin(browser, address, "heads", "fade", width=390, height=800, dark=True)
    assert browser.run("getComputedStyle(document.body).backgroundColor") == "rgb(18, 23, 31)"
    assert browser.run("document.scrollingElement.scrollWidth <= window.innerWidth")
    browser.run("document.querySelector('#text').select()")
    browser.type("x" * 80)
    browser.press("Enter")
    browser.wait("document.querySelector('[role=alert]')")
    assert "60 characters; got 80" in browser.text()
    assert browser.run("document.querySelectorAll('.output').length") == 1  # what was there stays


def test_the_page_asks_for_the_token(browser: Browser, folders: list[Path]) -> None:
    with listening(ModelRegistry(folders), tokens=["secret"], bounds=Bounds(seconds=300.0)) as address:
        browser.open("about:blank")
        browser.open(address)
        for word in ("wrong", "secret"):
            browser.wait("document.querySelector('#token')?.value === ''")
            browser.click("#token")
            browser.type(word)
            browser.press("Enter")
        write(browser, "fade")


def test_a_image_is_seen_word_by_word_and_region_by_region(browser: Browser, captions: Path, tmp_path: Path) -> None:
    file = tmp_path / "half.png"
    image = Image.new("RGB", (16, 16), "blue")
    image.paste((255, 0, 0), (0, 0, 8, 16))
    image.save(file)
    trace = load(captions).predict(str(file)).faithfulness
    assert isinstance(trace, AttentionTrace)
    with listening(ModelRegistry([captions]), bounds=Bounds(seconds=300.0)) as address:
        browser.open("about:blank")
        browser.open(address)
        browser.wait("document.querySelector('#image')")
        data = base64.b64encode(file.read_bytes()).decode()
        browser.run(
            f"""(() => {{
                const bytes = Uint8Array.from(atob("{data}"), (letter) => letter.charCodeAt(0));
                const dropped = new DataTransfer();
                dropped.items.add(new File([bytes], "half.png", {{ type: "image/png" }}));
                document.querySelector(".upload").dispatchEvent(new DragEvent("drop", {{ dataTransfer: dropped }}));
            }})()"""
        )
        browser.wait("document.querySelector('.overlay .word')")
        words = "[...document.querySelectorAll('.overlay .word bdi')].map((word) => word.textContent)"
        assert browser.run(words)[:-1] == [token.text for token in trace.target_tokens][:-1]
        for word, weights in list(enumerate(trace.weights))[:2]:
            browser.hover(".overlay .word", word)
            told = browser.run("document.querySelector('.overlay .readout').textContent")
            assert f"largest weight {weights.max():.4f}" in told
        dot = "[...document.querySelector('.stage canvas').getContext('2d').getImageData(2, 2, 1, 1).data]"
        assert browser.run(dot)[3] == 255  # it is painted
        browser.hover(".stage canvas")
        assert "largest weight from" in browser.run("document.querySelector('.overlay .readout').textContent")
        browser.run("[...document.querySelectorAll('.ask label')].find((l) => /region/.test(l.textContent)).click()")
        browser.wait("document.querySelector('.regions td')")
        drops = browser.run("[...document.querySelectorAll('.regions td')].map((cell) => cell.title)")
        shown = [-float(drop.replace("\N{MINUS SIGN}", "-")) for drop in drops]
        np.testing.assert_allclose(shown, [each.drop for each in trace.drops], atol=6e-4)
    assert browser.complaints() == []


def test_a_document_is_seen_at_two_levels(browser: Browser, labels: Path) -> None:
    text = "It rains. The gold is real. A dog runs by."
    trace = load(labels).predict(text).attention
    assert isinstance(trace, DocumentTrace)
    with listening(ModelRegistry([labels]), bounds=Bounds(seconds=300.0)) as address:
        browser.open("about:blank")
        browser.open(address)
        write(browser, text)
        numbers = browser.run("[...document.querySelectorAll('.sentences .weight')].map((cell) => cell.textContent)")
        assert numbers == [f"{sentence.weight:.3f}" for sentence in trace.sentences]
        bodies = browser.run("[...document.querySelectorAll('.sentences .body')].map((cell) => cell.textContent)")
        assert [body.strip() for body in bodies] == ["It rains.", "The gold is real.", "A dog runs by."]
        browser.hover(".sentences .body span.painted", 0)
        heaviest = trace.sentences[0].words[0]
        assert heaviest.weight is not None
        assert f"{heaviest.weight:.3f}" in browser.run("document.querySelector('.readout').textContent")
        assert trace.label in browser.run("document.querySelector('.labels').textContent")
        # the search that was chosen for another run is not asked for here
        state = {"request": {"model": "labels", "text": text, "search": {"kind": "beam"}, "prefix": "go"}}
        browser.open("about:blank")
        browser.open(f"{address}#{quote(json.dumps(state))}")
        browser.wait("document.querySelector('.labels')")
    assert browser.complaints() == []
