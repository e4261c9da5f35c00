"""Pages on a phone: what is touched tells its numbers, and nothing is cut off or wider than the screen."""

from dataclasses import replace

import numpy as np
import pytest

from browser import Browser
from seen import Show, make_tokens, read_texts
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.metrics.class_scores import score_classes
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Report, ScoreRow, render_report
from seq2see.runs.held_out_file import HeldOut, HeldOutLine

PHONE = {"width": 390, "height": 844}
TOLD = "document.querySelector('.readout').textContent"
FITS = "document.scrollingElement.scrollWidth <= window.innerWidth"
# how many lines of text an element has
HEIGHTS = """((selector) => [...document.querySelectorAll(selector)].map((node) =>
    Math.round(node.getBoundingClientRect().height / parseFloat(getComputedStyle(node).lineHeight))))"""


def make_trace(heads: int = 1) -> AttentionTrace:
    """Three rows of four weights, all different."""
    weights = np.array([[[0.1, 0.2, 0.4, 0.3], [0.6, 0.05, 0.15, 0.2], [0.02, 0.08, 0.35, 0.55]]], dtype=np.float32)
    sources, targets = make_tokens(list("abcd"), sure=False), make_tokens(["x", "yy", "z"], sure=True)
    maps = (AttentionMap("decoder.attend", np.concatenate([weights, weights[:, ::-1]])[:heads]),)
    return AttentionTrace("abcd", "xyyz", sources, targets, maps)


def wait_for(browser: Browser, told: str) -> None:
    browser.wait(f"{TOLD}.startsWith({told!r})", seconds=10)


def test_a_touched_cell_or_token_tells_its_numbers(show: Show) -> None:
    browser = show(render_page(make_trace().to_dict()), **PHONE)
    assert browser.run(TOLD) == "Tap a token or a cell."
    browser.tap(".grid tbody td", 6)  # the second row, the third column
    wait_for(browser, "yy (2) attends to c (3) with weight 0.1500")
    browser.tap("th.source", 1)
    wait_for(browser, "b is attended to by x 0.2000, z 0.0800, yy 0.0500")
    browser.tap("th.target", 2)
    wait_for(browser, "z, 97% sure, attends to d 0.5500, c 0.3500, b 0.0800")
    browser.tap("[data-kind=arcs]")
    browser.tap(".side.row button", 1)
    wait_for(browser, "yy, 97% sure, attends to a 0.6000, d 0.2000, c 0.1500")
    assert browser.run(FITS)


def test_a_touched_point_of_a_curve_tells_its_numbers(show: Show) -> None:
    history: list[dict[str, int | float]] = [{"update": n, "loss": 8 / n, "valid_loss": 9 / n} for n in (1, 2, 4, 8)]
    browser = show(render_report(Report("Dates", history=history)), **PHONE)
    browser.tap("figure.curve svg .dot", 1)
    values = "document.querySelector('figure .values').textContent"
    browser.wait(f"{values} === 'update 2: training loss 4, validation loss 4.5'", seconds=10)
    browser.tap("figure.curve svg .dot", 3)
    browser.wait(f"{values} === 'update 8: training loss 1, validation loss 1.125'", seconds=10)


def test_a_touched_word_of_a_document_tells_its_weight(show: Show) -> None:
    words = (AttendedWord("good", 0, 4, 0.7, None), AttendedWord("film", 5, 9, 0.3, None))
    trace = DocumentTrace("good film", "pos", {"pos": 0.8, "neg": 0.2}, (AttendedSentence(0, 9, words, 1.0, None),))
    browser = show(render_page(trace.to_dict()), **PHONE)
    assert "Tap a word for its numbers." in browser.text()
    browser.tap(".seen", 1)
    wait_for(browser, "film has weight 0.3000 in its sentence")


def test_a_touched_cell_of_an_image_tells_its_words(show: Show) -> None:
    places = np.arange(15)
    weights = (np.stack([places, (4 * places + 3) % 15])[None] + 1).astype(np.float32) / 120
    cells = tuple(Token(f"row {y}, column {x}", 0, 0) for y in range(1, 4) for x in range(1, 6))
    image = np.full((12, 18, 3), (200, 120, 40), dtype=np.uint8)
    maps = (AttentionMap("decoder.layers.1.cross.attend", weights),)
    tokens = make_tokens(["red", "wall"], sure=True)
    trace = AttentionTrace("a.png", "redwall", cells, tokens, maps, (3, 5), image)
    browser = show(render_page(trace.to_dict()), **PHONE)
    browser.wait("document.querySelector('.stage canvas').getAttribute('aria-label')")
    browser.tap(".stage canvas")  # its middle
    told = "document.querySelector('.overlay .readout').textContent"
    browser.wait(f"{told}.startsWith('row 2, column 3: largest weight from red (0.0667)')", seconds=10)
    assert read_texts(browser, ".overlay .controls > .choice")[0] == "decoder.layers.1.cross"  # without what each says
    assert browser.run(FITS)


def test_a_touched_count_of_mistakes_is_told(show: Show) -> None:
    scores = score_classes(["a", "b", "b", "b", "c"], ["a", "b", "a", "a", "c"])
    browser = show(render_report(Report("labels", classes=scores)), **PHONE)
    browser.tap(".confusion tbody td", 1)
    wait_for(browser, "a was taken for b: 2 of 3 (67%)")
    assert browser.run(FITS)


@pytest.mark.parametrize("brief", [False, True])
def test_lines_are_cards_whose_texts_have_the_room(show: Show, brief: bool) -> None:
    output = "pos" if brief else "ein mann in einem blauen hemd spielt gitarre"
    lines = tuple(
        HeldOutLine(n, "a man in a blue shirt", output, (output,), 0.345 + n / 100, n == 12) for n in (11, 12)
    )
    browser = show(render_report(Report("Lines", held_out=HeldOut("test data", 2, lines))), **PHONE)
    assert browser.run(f"{HEIGHTS}('.column-confidence')") == [1, 1]
    assert browser.run(f"{HEIGHTS}('.column-line')") == [1, 1]
    assert read_texts(browser, ".column-confidence") == ["45.5%", "46.5%"]
    wide = "[...document.querySelectorAll('.column-output')].map((cell) => cell.getBoundingClientRect().width)"
    assert min(browser.run(wide)) > 200
    right, left = (f"document.querySelector('.column-{name}').getBoundingClientRect()" for name in ("right", "input"))
    assert browser.run(f"{right}.left >= {left}.right")
    assert browser.run(FITS)


@pytest.mark.parametrize("width", [390, 1366, 1920])
def test_arcs_have_the_room_of_the_window(show: Show, width: int) -> None:
    trace = make_trace(heads=2)
    browser = show(render_page(replace(trace).to_dict()), width=width, height=800)
    browser.click("[data-kind=arcs]")
    sides = "['.side.row', '.links', '.side.column'].map((s) => document.querySelector(s).getBoundingClientRect())"
    row, links, column = browser.run(f"{sides}.map((box) => [box.left, box.right])")
    assert row[1] <= links[0] + 1
    assert links[1] <= column[0] + 1
    assert column[1] <= width
    assert links[1] - links[0] == pytest.approx({390: 144, 1366: 409.8, 1920: 576}[width], abs=1)


def test_a_report_is_no_wider_than_the_screen(show: Show) -> None:
    scores = [ScoreRow("BLEU", 12.5, "nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:2.6.0")]
    facts = {"weights": "9f" * 32, "training pairs": "/a/long/path/to/the/data/of/this/run/train.tsv"}
    browser = show(render_report(Report("A title that is long enough for two lines", facts, scores)), **PHONE)
    assert browser.run(FITS)
