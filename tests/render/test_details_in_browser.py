"""Small things that would lead a reader astray: names of heads, ends of axes, marks, and what is read aloud."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from browser import Browser
from seen import READ_GRID, Show, click_switch, make_tokens, name_colour, read_colours, read_texts, read_told
from seq2see.core.special_tokens import SPECIAL_TOKENS, START
from seq2see.core.token import Token
from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.render.colours import DARK, LIGHT
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Example, Report, render_report
from seq2see.runs.held_out_file import HeldOut, HeldOutLine

WEIGHTS = np.array(
    [
        [[0.1, 0.2, 0.4, 0.3], [0.6, 0.05, 0.15, 0.2], [0.02, 0.08, 0.35, 0.55]],
        [[0.25, 0.05, 0.1, 0.6], [0.12, 0.7, 0.08, 0.1], [0.5, 0.3, 0.15, 0.05]],
    ],
    dtype=np.float32,
)
VALUES = "document.querySelector('figure .values').textContent"


def make_trace(source: str = "abcd") -> AttentionTrace:
    """Two heads over three rows of four weights, all different."""
    sources, targets = make_tokens(list(source), sure=False), make_tokens(["x", "yy", "z"], sure=True)
    return AttentionTrace(source, "xyyz", sources, targets, (AttentionMap("decoder.cross.attend", WEIGHTS),))


def read_dots(browser: Browser, head: int) -> list[str]:
    """The colours of a small map, row by row."""
    pixels = browser.run(
        f"""(() => {{
            const pen = document.createElement('canvas').getContext('2d', {{ willReadFrequently: true }});
            pen.drawImage(document.querySelector('[data-head="{head}"] canvas'), 0, 0);
            return [...pen.getImageData(0, 0, 4, 3).data];
        }})()"""
    )
    return [f"rgb({', '.join(map(str, dot))})" for dot in np.array(pixels).reshape(-1, 4)[:, :3].tolist()]


def test_small_maps_are_named_painted_and_told(show: Show) -> None:
    browser = show(render_page(make_trace().to_dict()))
    browser.click("[data-kind=heads]")
    labels = "[...document.querySelectorAll('.head')].map((each) => each.ariaLabel)"
    name = "Enlarge decoder.cross.attend"
    assert browser.run(labels) == [f"{name}, head 1", f"{name}, head 2", f"{name}, mean of 2 heads"]
    assert read_texts(browser, ".heads thead th") == ["head 1", "head 2", "mean"]
    assert read_texts(browser, ".heads tbody th") == ["decoder.cross"]
    maps = {0: WEIGHTS[0], 1: WEIGHTS[1], -1: WEIGHTS.astype(float).mean(axis=0)}
    for dark, stops in ((False, LIGHT), (True, DARK)):
        browser.set_dark(dark)
        browser.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))")
        for head, weights in maps.items():
            assert read_dots(browser, head) == [name_colour(weight, stops) for weight in weights.flat]
    browser.hover(".head", 1)
    told = "decoder.cross.attend, head 2: largest weight of a row 0.6000 on average, of all 0.7000 from yy to b"
    assert read_told(browser) == told
    browser.hover(".head", 0)
    assert read_told(browser).endswith("head 1: largest weight of a row 0.5167 on average, of all 0.6000 from yy to a")
    browser.click(".head", 0)
    assert read_texts(browser, ".controls option:checked") == ["head 1"]
    assert_allclose(browser.run(READ_GRID), WEIGHTS[0], atol=1e-7)


def test_a_map_is_said_to_be_what_it_is(show: Show) -> None:
    browser = show(render_page(make_trace().to_dict()))
    [remark] = read_texts(browser, ".remark")
    assert "Each row is a token of the target" in remark
    assert remark.endswith("on that token of the source")
    assert read_texts(browser, ".corner .name") == ["Source →", "Target ↓"]
    assert read_texts(browser, ".legend") == ["weight 01"]
    click_switch(browser, "Scale to the largest")
    assert read_texts(browser, ".legend") == ["weight 00.4500"]  # of the mean: (0.3 + 0.6) / 2
    browser.choose(".controls select", "head 2")
    assert read_texts(browser, ".legend") == ["weight 00.7000"]


def test_text_that_two_tokens_share_has_the_weight_of_both(show: Show) -> None:
    shared = (Token("ab", 0, 2, None), Token("bc", 1, 3, None), Token("d", 3, 4, None), Token("</s>", 4, 4, None))
    trace = replace(make_trace(), source_tokens=shared, maps=(AttentionMap("attend", WEIGHTS[1:]),))
    browser = show(render_page(trace.to_dict()))
    browser.hover("th.target", 2)
    seen = read_colours(browser, ".named:nth-child(1) .raw span")
    assert seen == [name_colour(weight) for weight in (0.5, 0.8, 0.3, 0.15, 0.05)]


def test_a_text_is_cut_between_characters(show: Show) -> None:
    browser = show(render_page(make_trace("😀bcd").to_dict()))
    assert read_texts(browser, ".named:nth-child(1) .raw span") == list("😀bcd")
    browser.hover("th.source", 1)
    assert read_texts(browser, ".raw .chosen") == ["b"]


def test_what_the_target_read_begins_with_the_start(show: Show) -> None:
    maps = (AttentionMap("decoder.self", WEIGHTS[:1, :, :3], "inputs", "inputs"),)
    browser = show(render_page(replace(make_trace(), maps=maps).to_dict()))
    for kind in ("source", "target"):
        assert read_texts(browser, f"th.{kind} .label") == [SPECIAL_TOKENS[START], "x", "yy"]
    assert_allclose(browser.run(READ_GRID), WEIGHTS[0, :, :3], atol=1e-7)


def test_marks_stand_for_what_cannot_be_seen(show: Show) -> None:
    sources = tuple(Token(text, n, n + 1, None) for n, text in enumerate(("\u202e", " ", "\t", "\u200b")))
    trace = replace(make_trace(), source="\u202e \t\u200b", source_tokens=sources)
    browser = show(render_page(trace.to_dict()))
    labels = read_texts(browser, "th.source .label")
    assert "\u202e" not in "".join(labels)  # it would turn what comes behind it
    assert labels[1] == "␣"
    assert all(labels)


def test_an_unknown_word_is_marked_whole(show: Show) -> None:
    unknown = (Token("😀b", 1, 3, None, unknown=True),)
    report = Report("Dates", examples=[Example("a😀bc", "x", "x", -0.5, unknown=unknown)])
    browser = show(render_report(report))
    assert read_texts(browser, ".unknown") == ["😀b"]
    assert read_texts(browser, ".line .text")[0] == "a😀bc"


def test_what_is_missing_or_too_much_is_marked_in_its_text(show: Show) -> None:
    mistakes = [Example("a", "xzw", "xw", -0.5), Example("b", "xw", "xyw", -0.25)]
    browser = show(render_report(Report("Dates", mistakes=mistakes)))
    assert read_texts(browser, ".line .text") == ["a", "xzw", "xw", "b", "xw", "xyw"]
    assert (read_texts(browser, "del"), read_texts(browser, "ins")) == (["z"], ["y"])


@pytest.mark.parametrize(("largest", "end"), [(0.5, "1"), (50.0, "100")])
def test_a_share_is_drawn_on_its_whole_range(show: Show, largest: float, end: str) -> None:
    history: list[dict[str, int | float]] = [
        {"update": 10, "exact_match": largest / 2},
        {"update": 40, "exact_match": largest},
    ]
    browser = show(render_report(Report("Dates", history=history)))
    ticks = read_texts(browser, "figure text.tick[text-anchor=end]")
    assert (ticks[0], ticks[-2], ticks[-1]) == ("0", end, "update")
    browser.hover("figure .dot", 0)
    assert browser.run(VALUES) == f"update 10: exact match {largest / 2:g}"
    rule = "document.querySelector('figure .rule').getAttribute('visibility')"
    assert browser.run(rule) == "visible"
    rules, dots = (
        browser.run(f"[...document.querySelectorAll('figure .{kind}')].map((each) => each.getAttribute('{name}'))")
        for kind, name in (("rule", "x1"), ("dot", "cx"))
    )
    assert rules == dots[:1]
    browser.hover("h1")
    assert (browser.run(rule), browser.run(VALUES)) == ("hidden", "")


def test_validation_loss_is_the_line_that_matters(show: Show) -> None:
    history: list[dict[str, int | float]] = [{"update": n, "loss": 8 / n, "valid_loss": 9 / n} for n in (1, 2, 4)]
    browser = show(render_report(Report("Dates", history=history)))
    kinds = "[...document.querySelectorAll('figure .key')].map((key) => [key.textContent, key.className])"
    assert browser.run(kinds) == [["training loss", "key second"], ["validation loss", "key main"]]
    lines = "[...document.querySelectorAll('path.line')].map((line) => line.getAttribute('class'))"
    assert browser.run(lines) == ["line second", "line main"]


def test_lines_are_read_aloud_as_they_are_seen(show: Show) -> None:
    lines = tuple(HeldOutLine(n, f"in {n}", "x", ("x" if n % 3 else "y",), 0.5, n % 3 > 0) for n in range(1, 51))
    browser = show(render_report(Report("Lines", held_out=HeldOut("test data", 50, lines))))
    spoken = "[...document.querySelectorAll('.column-right b')].map((each) => [each.textContent, each.ariaLabel])"
    assert browser.run(spoken)[:3] == [["✓", "right"], ["✓", "right"], ["✗", "wrong"]]
    assert browser.run("document.querySelector('.more').hidden")  # fifty are shown at once
    assert read_texts(browser, ".held-out [role=status]") == ["50 of 50 lines shown"]


@pytest.mark.parametrize(("tau", "tag"), [(0.05, "STRONG"), (0.7, "SPAN")])
def test_what_agrees_hardly_is_said_in_bold(show: Show, tau: float, tag: str) -> None:
    drops = tuple(ProbabilityDrop(n, n + 1, drop, None) for n, drop in enumerate((0.5, -0.25, 1.0, 0.0)))
    trace = replace(make_trace(), drops=drops).with_run_agreement(AttentionAgreement(tau, 24))
    browser = show(render_page(trace.to_dict()))
    assert browser.run("document.querySelector('.meaning').lastElementChild.tagName") == tag
    assert f"{tau:.2f} over 24 held-out inputs" in read_texts(browser, ".meaning")[0]
    if tag == "STRONG":
        assert read_texts(browser, ".need small") == ["−0.50", "+0.25", "−1.0", "0.00"]


def test_a_head_of_an_image_is_the_one_that_is_chosen(show: Show) -> None:
    heads = (np.stack([np.arange(6), 5 - np.arange(6), (2 * np.arange(6) + 3) % 7])[:, None] + 1).astype(
        np.float32
    ) / 21
    cells = tuple(Token(f"row {y}, column {x}", 0, 0) for y in (1, 2) for x in (1, 2, 3))
    image = np.full((12, 18, 3), (200, 120, 40), dtype=np.uint8)
    maps = (AttentionMap("attend", heads),)
    trace = AttentionTrace("a.png", "red", cells, make_tokens(["red"], sure=True), maps, (2, 3), image)
    browser = show(render_page(trace.to_dict()))
    for head, weights in enumerate(heads[:, 0]):
        browser.choose(".heads select", f"head {head + 1}")
        place = int(weights.argmax())
        told = f"largest weight {weights.max():.4f} at row {place // 3 + 1}, column {place % 3 + 1};"
        assert told in read_texts(browser, ".overlay .readout")[0]


def test_an_image_is_walked_through_by_keys_and_slider(show: Show) -> None:
    weights = (np.stack([np.arange(15), (4 * np.arange(15) + 3) % 15])[None] + 1).astype(np.float32) / 120
    cells = tuple(Token(f"row {y}, column {x}", 0, 0) for y in range(1, 4) for x in range(1, 6))
    tokens = make_tokens(["red", "wall"], sure=True)
    image = np.full((12, 20, 3), (200, 120, 40), dtype=np.uint8)
    trace = AttentionTrace("a.png", "redwall", cells, tokens, (AttentionMap("attend", weights),), (3, 5), image)
    browser = show(render_page(trace.to_dict()))
    browser.wait("document.querySelector('.stage canvas').getAttribute('aria-label')")
    told = "document.querySelector('.overlay .readout').textContent"
    browser.run("document.querySelector('.stage canvas').focus()")
    for key, cell in (("ArrowRight", 1), ("ArrowDown", 6), ("ArrowDown", 11), ("ArrowLeft", 10), ("ArrowUp", 5)):
        browser.press(key)
        best = int(weights[0, :, cell].argmax())
        name = f"row {cell // 5 + 1}, column {cell % 5 + 1}: largest weight from {('red', 'wall')[best]}"
        assert str(browser.run(told)).startswith(f"{name} ({weights[0, best, cell]:.4f})")
    browser.run(
        "(() => { const s = document.querySelector('input[type=range]'); s.value = 1;"
        " s.dispatchEvent(new Event('input')); })()"
    )
    assert read_texts(browser, ".word.chosen bdi") == ["wall"]
    pressed = "[...document.querySelectorAll('.overlay .word')].map((word) => word.ariaPressed)"
    assert browser.run(pressed) == ["false", "true"]
    place = int(weights[0, 1].argmax())
    named = f"largest weight {weights[0, 1].max():.4f} at row {place // 5 + 1}, column {place % 5 + 1};"
    assert named in str(browser.run(told))
    assert browser.run("document.querySelector('.stage canvas').getAttribute('aria-label')").endswith(
        "as seen for wall"
    )
