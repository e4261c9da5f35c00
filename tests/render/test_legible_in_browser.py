"""What can be read from the back row: a whole map in a small window, letters that are large and dark enough."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from browser import Browser
from seen import Show, click_switch, read_texts
from seq2see.core.token import Token
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.metrics.length import Bucket, Buckets, LengthScores
from seq2see.render.html.comparison_page import Row, ScoreCell, Sheet, render_comparison
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Example, Report, ScoreRow, render_report
from seq2see.runs.held_out_file import HeldOut, HeldOutLine

SOURCE = "a young man in a blue shirt is playing the guitar on the street"
TARGET = "ein junger mann in einem blauen hemd spielt auf der straße eine gitarre"
SEEN = """((selector) => [...document.querySelectorAll(selector)].filter((node) => {
    const box = node.getBoundingClientRect();
    return box.top < 0 || box.left < 0 || box.bottom > innerHeight || box.right > innerWidth;
}).length)"""
# the least contrast of a text with what is behind it, as WCAG 2 defines it, and the smallest letters
WORST = """(() => {
    const pen = document.createElement('canvas').getContext('2d', { willReadFrequently: true });
    const read = (colour) => {
        pen.clearRect(0, 0, 1, 1); pen.fillStyle = colour; pen.fillRect(0, 0, 1, 1);
        return [...pen.getImageData(0, 0, 1, 1).data];
    };
    const weigh = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
    const light = ([r, g, b]) => 0.2126 * weigh(r) + 0.7152 * weigh(g) + 0.0722 * weigh(b);
    const mix = (over, under) => over.slice(0, 3).map((c, i) => c * over[3] / 255 + under[i] * (1 - over[3] / 255));
    const behind = (node) => {
        if (!node) return [255, 255, 255];
        const colour = read(getComputedStyle(node).backgroundColor);
        return colour[3] === 255 ? colour.slice(0, 3) : mix(colour, behind(node.parentElement));
    };
    const found = [];
    const walker = document.createTreeWalker(document.getElementById('seq2see'), NodeFilter.SHOW_TEXT);
    while (walker.nextNode()) {
        const node = walker.currentNode.parentElement;
        if (!walker.currentNode.data.trim() || !node.checkVisibility() || node.closest('.unseen')) continue;
        const style = getComputedStyle(node);
        const ground = behind(node instanceof SVGElement ? node.ownerSVGElement : node);
        const ink = read(node instanceof SVGElement ? style.fill : style.color);
        ink[3] *= style.opacity;
        const [a, b] = [light(mix(ink, ground)), light(ground)];
        const contrast = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
        found.push([contrast, parseFloat(style.fontSize), walker.currentNode.data.slice(0, 40)]);
    }
    const low = found.filter(([contrast]) => contrast < 4.5), small = found.filter(([, size]) => size < 12);
    return { count: found.length, low, small };
})()"""


def cut(text: str, *, sure: bool) -> tuple[Token, ...]:
    """The words of a text and its end."""
    words, tokens, start = text.split(), [], 0
    for place, word in enumerate(words):
        tokens.append(Token(word, start, start + len(word), 1 - place / 20 if sure else None))
        start += len(word) + 1
    return (*tokens, Token("</s>", len(text), len(text), 0.9 if sure else None))


def make_trace(*, heads: int = 1, drops: bool = False, tau: float = 0.6) -> AttentionTrace:
    """A sentence of fourteen words and its translation, with their ends."""
    source, target = cut(SOURCE, sure=False), cut(TARGET, sure=True)
    random = np.random.default_rng(4)
    weights = random.dirichlet(np.full(len(source), 0.2), size=(heads, len(target))).astype(np.float32)
    lost = tuple(ProbabilityDrop(t.start, t.end, 6.0 / (1 + n), 0.3, t.text) for n, t in enumerate(source[:-1]))
    maps = (AttentionMap("decoder.layers.1.cross.attend", weights),)
    trace = AttentionTrace(SOURCE, TARGET, source, target, maps, drops=lost if drops else ())
    return trace.with_run_agreement(AttentionAgreement(tau, 24))


def make_document(tau: float) -> DocumentTrace:
    words = tuple(
        AttendedWord(w, s, s + len(w), a, d) for w, s, a, d in (("good", 0, 0.9, 0.7), ("dull", 5, 0.1, -0.2))
    )
    sentences = tuple(AttendedSentence(0, 9, words, weight, drop) for weight, drop in ((0.8, 0.5), (0.2, -0.1)))
    trace = DocumentTrace("good dull", "pos", {"pos": 0.75, "neg": 0.25}, sentences)
    return trace.with_run_agreement(AttentionAgreement(tau, 24))


def measure(browser: Browser) -> dict[str, Any]:
    return dict(browser.run(WORST))


@pytest.mark.parametrize("drops", [False, True])
@pytest.mark.parametrize(("width", "height"), [(1366, 768), (1920, 1080)])
def test_the_whole_map_of_a_sentence_is_seen_at_once(show: Show, width: int, height: int, *, drops: bool) -> None:
    browser = show(render_page(make_trace(heads=4, drops=drops).to_dict()), width=width, height=height)
    browser.wait("document.querySelector('.grid').style.getPropertyValue('--cell')")
    for part in (".grid td, .target .label, .slanted .source .label", ".raw", ".tabs button, .controls *", ".readout"):
        assert browser.run(f"{SEEN}('{part}')") == 0, part
    sizes = browser.run("[...document.querySelectorAll('tbody td')].map((c) => [c.offsetWidth, c.offsetHeight])")
    assert len({tuple(size) for size in sizes}) == 1  # numbers below do not push their columns apart
    assert 20 <= sizes[0][1] <= 40


def test_cells_grow_with_the_window_until_they_are_large_enough(show: Show) -> None:
    browser = show(render_page(make_trace().to_dict()), width=1366, height=640)
    read = "parseFloat(getComputedStyle(document.querySelector('.grid')).getPropertyValue('--cell'))"
    letters = "parseFloat(getComputedStyle(document.querySelector('.target .label')).fontSize)"
    browser.wait(f"{read} > 0")
    small, before = browser.run(read), browser.run(letters)
    browser.resize(1366, 2000)
    browser.wait(f"{read} === 40")
    assert small < 30
    assert browser.run(letters) > before
    browser.resize(390, 844)
    browser.wait(f"{read} === 26")  # it must be scrolled sideways, and can be touched
    assert browser.run("document.scrollingElement.scrollWidth <= innerWidth")
    assert browser.run("document.querySelector('.scroller').scrollWidth > innerWidth")


def test_a_trace_fills_the_screen_and_comes_back(show: Show) -> None:
    browser = show(render_page(make_trace(heads=2, drops=True).to_dict()), width=1366, height=768)
    cell = "document.querySelector('tbody td').offsetHeight"
    browser.wait("document.querySelector('.grid').style.getPropertyValue('--cell')")
    before = browser.run(cell)
    browser.click(".button.fill")
    browser.wait("document.querySelector('.trace.filled')")
    browser.wait(f"{cell} > {before}")
    box = browser.run(
        "(({x, y, width, height}) => [x, y, width, height])(document.querySelector('.trace').getBoundingClientRect())"
    )
    assert box == browser.run("[0, 0, innerWidth, innerHeight]")
    assert browser.run(f"{SEEN}('.grid td, .grid .label, .tabs button, .controls *, .readout, .button.fill')") == 0
    assert read_texts(browser, ".button.fill") == ["Back to the page"]
    browser.click("[data-kind=arcs]")
    assert browser.run(f"{SEEN}('.token, .links, .readout')") == 0
    browser.press("Escape")
    browser.wait("!document.querySelector('.filled')")
    assert read_texts(browser, ".button.fill") == ["Fill the screen"]
    assert browser.run("document.querySelector('.fill').ariaPressed") == "false"
    browser.click("[data-kind=grid]")
    browser.wait(f"Math.abs({cell} - {before}) <= 1")  # a line of numbers may be a little higher


def test_arcs_fit_the_window_as_the_map_does(show: Show) -> None:
    browser = show(render_page(make_trace().to_dict()), width=1366, height=768)
    browser.click("[data-kind=arcs]")
    assert browser.run(f"{SEEN}('.token, .links, .arcs h3')") == 0
    rows = browser.run("[...document.querySelectorAll('.side.column li')].map((li) => li.getBoundingClientRect().top)")
    assert np.ptp(np.diff(rows)) < 0.01


REPORT = Report(
    "Numbers",
    facts={"Preset": "none"},
    scores=[ScoreRow("bleu", 12.5, "nrefs:1|case:mixed", "%")],
    history=[{"update": 1, "loss": 2.0, "valid_loss": 1.5, "bleu": 3.0}, {"update": 2, "loss": 1.0, "bleu": 4.0}],
    examples=[Example("good dull", "xy", "xz", -0.5, make_trace(drops=True), number=1)],
    mistakes=[Example("qrs", "ab", "abc", -2.5)],
    held_out=HeldOut(
        "test data", 2, (HeldOutLine(1, "ab", "x", ("x",), 0.5, True), HeldOutLine(2, "c", "", ("y",), None, False))
    ),
)
SHEET = Sheet(
    "Two runs",
    ("one", "two"),
    [Row("bleu", (ScoreCell("1.5"), ScoreCell("2.5", "p = 0.01, better")), "higher is better")],
    LengthScores(
        Buckets("words", (Bucket(1, 5, (0, 1), 3.0), Bucket(6, 9, (2,), 7.0))),
        {"bleu": {"one": [1.0, 2.0], "two": [2.0, 3.0]}},
    ),
    [[Example("ab", "xy", "xz", -0.5, make_trace()), Example("ab", "xz", "xz", -0.25)]],
    ["two: weights are even"],
    {"Data": "two lines"},
)
PAGES: dict[str, Callable[[], str]] = {
    "map": lambda: render_page(make_trace(heads=2, drops=True).to_dict()),
    "weak": lambda: render_page(make_trace(drops=True, tau=0.05).to_dict()),
    "document": lambda: render_page(make_document(0.6).to_dict()),
    "weak document": lambda: render_page(make_document(0.05).to_dict()),
    "beside": lambda: render_page(
        {
            "title": "t",
            "views": [{"name": n, "trace": replace(make_trace(), source=n).to_dict()} for n in ("one", "two")],
        }
    ),
    "report": lambda: render_report(REPORT),
    "comparison": lambda: render_comparison(SHEET),
}


@pytest.mark.parametrize("name", PAGES)
def test_every_text_can_be_read(show: Show, name: str) -> None:
    browser = show(PAGES[name]())
    for dark in (False, True):
        browser.set_dark(dark)
        found = measure(browser)
        assert found["count"] > 10
        assert found["low"] == []
        assert found["small"] == []


def test_views_beside_the_map_can_be_read(show: Show) -> None:
    nodes: list[dict[str, Any]] = [
        {"parent": None, "id": 5, "text": "p", "logprob": -0.5, "total": -0.5, "kept": True, "score": -0.5},
        {"parent": None, "id": 6, "text": "q", "logprob": -0.9, "total": -0.9, "kept": False, "score": None},
    ]
    browser = show(render_page(make_trace(heads=2).to_dict() | {"history": {"nodes": nodes, "best": 0}}))
    for kind in ("arcs", "heads", "tree"):
        browser.click(f"[data-kind={kind}]")
        for dark in (False, True):
            browser.set_dark(dark)
            found = measure(browser)
            assert (found["low"], found["small"]) == ([], []), (kind, dark)


def test_labels_are_in_the_order_of_their_probability(show: Show) -> None:
    chances = {"7": 0.4, "zwei": 0.3, "1": 0.1, "b": 0.08, "0": 0.07, "c": 0.03, "d": 0.02}
    trace = replace(make_document(0.6), label="7", probabilities=chances)
    browser = show(render_page(trace.to_dict()))
    assert read_texts(browser, ".labels > span:nth-of-type(3n + 1)") == ["7", "zwei", "1", "b", "0"]
    assert read_texts(browser, ".labels > p") == ["2 more labels: 5.0 %"]


def test_a_document_says_what_its_colours_are(show: Show) -> None:
    browser = show(render_page(make_document(0.6).to_dict()))
    [told] = read_texts(browser, ".controls + .small")
    assert "in orange, is its attention weight in the document" in told
    assert "times the root of the weight of its sentence" in told
    assert read_texts(browser, ".sentences thead th") == ["weight", "without it", ""]
    browser.choose(".controls select", "probability drop")
    [told] = read_texts(browser, ".controls + .small")
    assert "attention" not in told
    assert "the more the probability of the label drops without it" in told


def test_a_change_that_rounds_to_nothing_has_no_sign(show: Show) -> None:
    trace = replace(make_trace(), drops=(ProbabilityDrop(0, 1, 0.001, 0.3), ProbabilityDrop(2, 7, -0.5, 0.3)))
    browser = show(render_page(trace.to_dict()))
    assert read_texts(browser, "tfoot td.painted") == ["0.00", "+0.50"]
    click_switch(browser, "Scale to the largest")
    assert read_texts(browser, "tfoot td.painted") == ["0.00", "+0.50"]
