"""Reports, comparisons, documents and images in a real browser: where things stand and how they are coloured."""

import re
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from browser import Browser
from seen import READ_GRID, Show, make_tokens, name_colour, read_colours, read_texts, read_told
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.metrics.length import Bucket, Buckets, LengthScores
from seq2see.render.colours import LIGHT, RUNS, VEIL, WARM_LIGHT
from seq2see.render.figures.overlay import lay_over
from seq2see.render.html.comparison_page import Row, ScoreCell, Sheet, render_comparison
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Example, Report, ScoreRow, render_report

READ_FIGURE = """((number) => {
    const figure = document.querySelectorAll('figure.curve')[number];
    const read = (node, ...names) => names.map((name) => Number(node.getAttribute(name)));
    const ticks = [...figure.querySelectorAll('text.tick')].map((t) => [t.textContent, ...read(t, 'x', 'y'),
        t.getAttribute('text-anchor')]);
    const paths = [...figure.querySelectorAll('path.line')].map((path) => path.getAttribute('d'));
    return { ticks, paths, dots: [...figure.querySelectorAll('.dot')].map((dot) => read(dot, 'cx', 'cy')),
        rules: [...figure.querySelectorAll('.across')].map((line) => read(line, 'y1')[0]) };
})"""


def read_rows(browser: Browser, selector: str) -> list[list[str]]:
    """The texts of the rows of a table."""
    rows = (
        f"[...document.querySelectorAll({selector!r})].map((row) => [...row.children].map((cell) => cell.textContent))"
    )
    return list(browser.run(rows))


def read_points(browser: Browser, number: int) -> tuple[list[list[float]], list[list[float]]]:
    """The dots of a figure in the numbers that its axes say, and the corners of its lines."""
    figure = browser.run(f"{READ_FIGURE}({number})")
    below = [(x, float(text.replace(",", ""))) for text, x, _, anchor in figure["ticks"] if anchor == "middle"]
    beside = [float(text.replace(",", "")) for text, _, _, anchor in figure["ticks"][:-1] if anchor == "end"]
    across = np.polyfit(*zip(*below, strict=True), 1)
    up = np.polyfit(figure["rules"], beside, 1)
    assert (across[0] > 0, up[0] < 0) == (True, True)  # larger is further right, and higher

    def read(x: float, y: float) -> list[float]:
        return [float(np.polyval(across, x)), float(np.polyval(up, y))]

    corners = [[float(number) for number in re.findall(r"[\d.]+", path)] for path in figure["paths"]]
    lines = [read(*pair) for corner in corners for pair in zip(corner[::2], corner[1::2], strict=True)]
    return [read(*dot) for dot in figure["dots"]], lines


def test_learning_curves_are_as_high_as_their_numbers(show: Show) -> None:
    history: list[dict[str, int | float]] = [
        {"update": 10, "loss": 3.75, "learning_rate": 0.5},
        {"update": 20, "loss": 1.5, "valid_loss": 2.5, "exact_match": 0.25},
        {"update": 50, "loss": 0.5, "valid_loss": 1.25, "exact_match": 0.75, "learning_rate": 0.25},
    ]
    browser = show(render_report(Report("Dates", history=history)))
    losses = [[10, 3.75], [20, 1.5], [50, 0.5], [20, 2.5], [50, 1.25]]
    for place, points in enumerate((losses, [[20, 0.25], [50, 0.75]])):
        dots, lines = read_points(browser, place)
        assert_allclose(dots, points, atol=1e-6)
        assert_allclose(lines, points, atol=0.05)
    keys = browser.run(
        "[...document.querySelectorAll('figure')].map((f) => [...f.querySelectorAll('.key')].map((k) => k.textContent))"
    )
    assert keys == [["training loss", "validation loss"], ["exact match"], ["learning rate"]]
    assert browser.run("document.querySelector('details .curve .key').textContent") == "learning rate"
    browser.hover("figure.curve svg .dot", 1)
    values = "document.querySelector('figure .values').textContent"
    assert browser.run(values) == "update 20: training loss 1.5, validation loss 2.5"
    browser.run("document.querySelector('figure svg').focus()")
    browser.press("ArrowLeft")
    assert browser.run(values) == "update 10: training loss 3.75"


def test_a_report_says_what_is_right_and_marks_what_differs(show: Show, hand_trace: AttentionTrace) -> None:
    report = Report(
        title="Dates",
        facts={"preset": "tiny"},
        scores=[ScoreRow("exact match", 98.75, "exact|v1", "%")],
        examples=[Example("ab", "xy", "xy", -0.125, hand_trace), Example("cd", "xyz", None, 0.5, hand_trace)],
        mistakes=[Example("ab", "xzw", "xyw", -0.5), Example("a", "b", "c", 0.25, further_references=["d"])],
    )
    browser = show(render_report(report))
    told = browser.run(
        """[...document.querySelectorAll('.summary')].map((each) => [
            [...each.querySelectorAll('b')].map((b) => b.className).join(), each.querySelector('.score').textContent,
            ...[...each.querySelectorAll('.line')].map((line) => line.textContent)])"""
    )
    assert told == [
        ["right", "✓ score -0.125", "sourceab", "predictionxy"],
        ["", " score 0.5", "sourcecd", "predictionxyz"],
        ["wrong", "✗ score -0.5", "sourceab", "predictionxzw", "referencexyw"],
        ["", " score 0.25", "sourcea", "predictionb", "referencec", "referenced"],
    ]
    assert (read_texts(browser, "del"), read_texts(browser, "ins")) == (["z"], ["y"])
    assert read_texts(browser, ".card") == ["exact match98.75%exact|v1"]
    assert read_texts(browser, ".facts dt, .facts dd") == ["preset", "tiny"]
    assert browser.run("document.querySelectorAll('.grid').length") == 1  # the first example is open
    browser.click("summary", 1)
    browser.wait("document.querySelectorAll('.grid').length === 2")
    assert_allclose(browser.run(READ_GRID)[2:], hand_trace.weights, atol=1e-7)


def test_a_comparison_shows_each_run_in_its_place(show: Show, hand_trace: AttentionTrace) -> None:
    buckets = (Bucket(1, 5, tuple(range(12)), 3.5), Bucket(6, 40, (12, 13), 20.0), Bucket(41, 50, (14,), 45.0))
    scores = {
        "bleu": {"one": [30.0, 20.0, 2.5], "two": [25.0, 5.0, 10.0]},
        "errors": {"one": [1.0, 2.0, 4.0], "two": [3.0, 6.0, 9.0]},
    }
    rows = [
        Row("BLEU", [ScoreCell("30.0"), ScoreCell("25.0", "p 0.010, worse")]),
        Row("TER", [ScoreCell("9", ", better"), ScoreCell()]),
    ]
    examples = [[Example("ab", "xy", "xy", -0.1, hand_trace), Example("ab", "xz", "xy", -0.2)]]
    lengths = LengthScores(Buckets("words", buckets), scores)
    browser = show(render_comparison(Sheet("two runs", ["one", "two"], rows, lengths, examples)))
    assert read_texts(browser, ".sheet:nth-of-type(1) thead th")[:3] == ["", "one", "two"]
    assert browser.run("[...document.querySelectorAll('.sheet b')].map((b) => [b.className, b.textContent])") == [
        ["wrong", "worse"],
        ["right", "better"],
    ]
    means = [bucket.mean for bucket in buckets]
    for name, title in (("bleu", "BLEU"), ("errors", "errors")):
        browser.choose(".controls select", title)
        points = [[x, y] for values in scores[name].values() for x, y in zip(means, values, strict=True)]
        assert_allclose(read_points(browser, 0)[0], points, atol=1e-6)
        pairs = zip(*scores[name].values(), strict=True)
        assert read_rows(browser, ".lengths tbody tr") == [
            [bucket.label, count, *(f"{value:.2f}" for value in pair)]
            for bucket, count, pair in zip(buckets, ("12", "2few", "1few"), pairs, strict=True)
        ]
    few = "[...document.querySelectorAll('.dot')].map((dot) => dot.matches('.few'))"
    assert browser.run(few) == [False, True, True] * 2
    tones = browser.run("[...document.querySelectorAll('path.line')].map((line) => getComputedStyle(line).stroke)")
    assert tones == [name_colour(0, (light, light)) for light, _ in RUNS[:2]]
    assert read_texts(browser, ".output h3") == ["one", "two"]
    assert read_texts(browser, ".output .wrote") == ["✓ xy", "✗ xz"]
    grids = "[...document.querySelectorAll('.output')].map((output) => output.querySelectorAll('.grid').length)"
    assert browser.run(grids) == [1, 0]
    browser.hover("figure .dot", 1)
    told = read_texts(browser, "figure .values")
    assert told == ["6–40 words, 2 sentences: one 2, two 6"]


def test_words_are_painted_with_the_weight_of_their_sentence(show: Show) -> None:
    first = AttendedSentence(
        0, 4, (AttendedWord("a", 0, 1, 0.75, 0.2), AttendedWord("$b", 2, 4, 0.25, -0.3)), 0.64, 0.5
    )
    second = AttendedSentence(
        5, 8, (AttendedWord("d", 5, 6, 0.5, 0.05), AttendedWord("e", 7, 8, 0.5, 0.1)), 0.25, -0.125
    )
    trace = DocumentTrace("a $b\nd e", "good", {"good": 0.875, "bad": 0.125}, (first, second))
    browser = show(render_page(trace.to_dict()))
    # square roots of the weights of sentences: 0.8 and 0.5, so 0.6, 0.2, 0.25, 0.25
    shares = [1, 1 / 3, 5 / 12, 5 / 12]
    assert read_colours(browser, ".seen") == [name_colour(share) for share in shares]
    assert read_colours(browser, ".number.weight") == [name_colour(share, WARM_LIGHT) for share in (1, 0.25 / 0.64)]
    assert read_texts(browser, ".number") == ["0.640", "−0.500", "0.250", "+0.125"]
    assert read_texts(browser, ".labels > span") == ["good", "", "87.5 %", "bad", "", "12.5 %"]
    assert read_texts(browser, ".labels .best") == ["good", "87.5 %"]
    widths = "[...document.querySelectorAll('.track')].map((t) => t.firstChild.offsetWidth / t.offsetWidth)"
    assert_allclose(browser.run(widths), [0.875, 0.125], atol=0.02)
    browser.hover(".seen", 2)
    told = (
        "d has weight 0.5000 in its sentence, which has weight 0.2500 in the document; "
        "without it the probability changes by −0.050"
    )
    assert read_told(browser) == told
    browser.choose(".controls select", "probability drop")
    shown = [name_colour(1), None, name_colour(0.25), name_colour(0.5)]  # what makes it likelier is not painted
    assert read_colours(browser, ".seen") == shown
    assert read_colours(browser, ".number.drop") == [name_colour(share, WARM_LIGHT) for share in (1, 0)]
    assert read_colours(browser, ".number.weight") == [None, None]


@pytest.fixture
def caption() -> AttentionTrace:
    """Two words over two rows of three cells, each with a weight of its own."""
    weights = np.array([[[0.1, 0.2, 0.5, 0.05, 0.15, 0], [0.3, 0, 0.1, 0.4, 0.05, 0.15]]], dtype=np.float32)
    cells = tuple(Token(f"row {y}, column {x}", 0, 0) for y in (1, 2) for x in (1, 2, 3))
    image = np.full((12, 18, 3), (200, 120, 40), dtype=np.uint8)
    drops = tuple(
        ProbabilityDrop(place, place + 1, drop, None) for place, drop in enumerate((0.5, -0.25, 0.125, 0.0, 1.0, 0.75))
    )
    maps = (AttentionMap("decoder.attend", weights),)
    return AttentionTrace(
        "a.png",
        "redwall",
        cells,
        make_tokens(["red", "wall"], sure=True),
        maps,
        (2, 3),
        image,
        drops=drops,
        regions=(3, 2),
    )


def point(browser: Browser, selector: str, across: float, down: float) -> None:
    """Point at a place inside an element, in shares of its size."""
    browser.place(selector)
    rectangle = f"document.querySelector({selector!r}).getBoundingClientRect().toJSON()"
    box = browser.run(rectangle)
    x, y = box["x"] + across * box["width"], box["y"] + down * box["height"]
    browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)


def look_at(browser: Browser, places: list[tuple[float, float]]) -> Any:
    """The colours of a canvas at some places, in shares of its size."""
    return browser.run(
        f"""(() => {{
            const canvas = document.querySelector('.stage canvas');
            const copy = document.createElement('canvas');
            [copy.width, copy.height] = [canvas.width, canvas.height];
            const pen = copy.getContext('2d', {{ willReadFrequently: true }});
            pen.drawImage(canvas, 0, 0);
            const look = (x, y) => pen.getImageData(Math.round(x * copy.width), Math.round(y * copy.height), 1, 1).data;
            return {[list(place) for place in places]}.map(([x, y]) => [...look(x, y)].slice(0, 3));
        }})()"""
    )


def read_overlay(browser: Browser) -> str:
    return str(browser.run("document.querySelector('.overlay .readout').textContent"))


def test_an_image_is_clear_where_its_word_attends(show: Show, caption: AttentionTrace) -> None:
    assert caption.image is not None
    browser = show(render_page(caption.to_dict()))
    browser.wait("document.querySelector('.stage canvas').getAttribute('aria-label')")
    browser.choose(".overlay label:nth-of-type(1) select", "cells")
    middles = [((x + 0.5) / 3, (y + 0.5) / 2) for y in range(2) for x in range(3)]
    for word, weights in enumerate(caption.weights):
        browser.hover(".overlay .word", word)
        seen = lay_over(caption.image, weights.reshape(2, 3), cells=True)
        assert_allclose(look_at(browser, middles), seen[3::6, 3::6].reshape(6, 3), atol=3)  # JPEG loses a little
        assert f"largest weight {weights.max():.4f} at row {word + 1}, column {(3, 1)[word]};" in read_overlay(browser)
    browser.choose(".overlay label:nth-of-type(2) select", "weight 1")
    clear = (0.22 + 0.78 * caption.weights[1])[:, None]
    assert_allclose(look_at(browser, middles), clear * (200, 120, 40) + (1 - clear) * np.array(VEIL), atol=3)


def test_a_cell_that_is_pointed_at_tells_its_largest_weight(show: Show, caption: AttentionTrace) -> None:
    browser = show(render_page(caption.to_dict()))
    browser.wait("document.querySelector('.stage canvas').getAttribute('aria-label')")
    for row, column in ((0, 2), (1, 0)):
        point(browser, ".stage canvas", (column + 0.4) / 3, (row + 0.6) / 2)
        served = caption.weights[:, 3 * row + column]
        best = ("red", "wall")[int(served.argmax())]
        told = f"row {row + 1}, column {column + 1}: largest weight from {best} ({served.max():.4f})"
        assert read_overlay(browser).startswith(told)
        assert read_colours(browser, ".overlay .word") == [
            name_colour(each / served.max()) for each in served.astype(float)
        ]
    [frame, other] = look_at(browser, [(0.17, 0.5), (0.83, 0.5)])  # above the cells of the second row
    assert (min(frame) > 230, min(other) > 230) == (True, False)
    browser.run("document.querySelector('.stage canvas').focus()")
    for key, place in (
        ("ArrowRight", "row 2, column 2"),
        ("ArrowUp", "row 1, column 2"),
        ("ArrowLeft", "row 1, column 1"),
    ):
        browser.press(key)
        assert read_overlay(browser).startswith(place)
    assert read_rows(browser, ".regions tr") == [["−0.50", "+0.25"], ["−0.13", "0.00"], ["−1.0", "−0.75"]]
    painted = [name_colour(max(each.drop, 0), WARM_LIGHT) for each in caption.drops]
    assert read_colours(browser, ".regions td") == painted
    assert painted[0] != name_colour(0.5, LIGHT)
