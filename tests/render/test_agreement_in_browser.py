"""Where leave-one-out and attention are on a page, in which colours, and which parts of an input are marked."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from browser import Browser
from seen import Show, name_colour, read_colours, read_texts
from seq2see.core.token import Token
from seq2see.explain.attention_agreement import MEANING, AttentionAgreement
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.render.colours import LIGHT, WARM_DARK, WARM_LIGHT
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Example, Report, render_report

WEAK, GOOD = AttentionAgreement(0.04, 24), AttentionAgreement(0.6, 24)
DROPS = (0.5, -0.25, 2.0)
WRONG = {"light": "rgb(163, 51, 31)", "dark": "rgb(242, 160, 143)"}
PIXELS = "JSON.parse(document.getElementById('seq2see-payload').textContent).image"
UNDERLINED = """[...document.querySelectorAll(%r)].filter((node) => {
    const style = getComputedStyle(node);
    return style.textDecorationLine === 'underline' && style.textDecorationStyle === 'wavy';
}).map((node) => [node.textContent, getComputedStyle(node).textDecorationColor])"""


def make_trace(words: list[str], agreement: AttentionAgreement, *, gap: str = " ") -> AttentionTrace:
    """Three words, the second of which is unknown, with their drops."""
    source = gap.join(words)
    starts = [sum(len(word) + len(gap) for word in words[:place]) for place in range(3)]
    tokens = tuple(
        Token(word, start, start + len(word), unknown=place == 1)
        for place, (word, start) in enumerate(zip(words, starts, strict=True))
    )
    weights = np.array([[[0.7, 0.2, 0.1]]], dtype=np.float32)
    drops = tuple(ProbabilityDrop(t.start, t.end, d, 0.3, t.text) for t, d in zip(tokens, DROPS, strict=True))
    maps = (AttentionMap("attend", weights),)
    trace = AttentionTrace(source, "x", tokens, (Token("x", 0, 1, 0.9),), maps, drops=drops)
    return trace.with_run_agreement(agreement)


def find_tops(browser: Browser, *selectors: str) -> list[float]:
    """How far down the page the first element of each selector is."""
    return [
        float(browser.run(f"document.querySelector({each!r}).getBoundingClientRect().top + scrollY"))
        for each in selectors
    ]


def find_lefts(browser: Browser, selector: str) -> list[float]:
    return list(browser.run(f"[...document.querySelectorAll({selector!r})].map((n) => n.getBoundingClientRect().left)"))


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(
    ("words", "gap", "to_the_left"),
    [(["ein", "Straße", "rot"], " ", False), (["كلب", "كبير", "أحمر"], " ", True), (["红", "狗", "跑"], "", False)],
)
def test_leave_one_out_is_above_attention_where_they_hardly_agree(
    show: Show, words: list[str], gap: str, to_the_left: bool, theme: str
) -> None:
    browser = show(render_page(make_trace(words, WEAK, gap=gap).to_dict()), dark=theme == "dark")
    tops = find_tops(browser, ".meaning.weak", ".needs", "h3.below", "table.grid")
    assert tops == sorted(tops)
    assert read_texts(browser, ".meaning") == [
        f"{MEANING} Attention and leave-one-out hardly agree: mean Kendall's tau 0.04 over 24 held-out inputs; "
        "read leave-one-out, not attention."
    ]
    stops = {"light": WARM_LIGHT, "dark": WARM_DARK}[theme]
    assert read_colours(browser, ".needs .part") == [name_colour(max(drop, 0) / 2, stops) for drop in DROPS]
    assert read_texts(browser, ".needs .part") == words
    assert read_texts(browser, ".needs small") == ["−0.50", "+0.25", "−2.0"]
    lefts = find_lefts(browser, ".needs .part")
    assert lefts == sorted(lefts, reverse=to_the_left)
    assert browser.run("document.querySelectorAll('tfoot').length") == 0  # the drops are above, and not there twice


def test_attention_comes_first_where_they_agree(show: Show) -> None:
    trace = make_trace(["a", "bc", "d"], GOOD)
    browser = show(render_page(trace.to_dict()))
    assert browser.run("document.querySelector('.needs')") is None
    grid, below, meaning = find_tops(browser, "table.grid", "tfoot", ".meaning")
    assert grid < below < meaning
    assert read_texts(browser, ".meaning")[0].endswith("agree: mean Kendall's tau 0.60 over 24 held-out inputs.")
    show(render_page(replace(trace, run_agreement=None).to_dict()))
    assert read_texts(browser, ".meaning") == [MEANING]


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_unknown_tokens_are_marked_in_the_input_and_in_the_map(show: Show, theme: str) -> None:
    browser = show(render_page(make_trace(["红", "狗", "跑"], GOOD, gap="").to_dict()), dark=theme == "dark")
    assert browser.run(UNDERLINED % ".raw span") == [["狗", WRONG[theme]]]
    assert browser.run(UNDERLINED % ".grid .label") == [["狗", WRONG[theme]]]
    assert read_texts(browser, ".strange") == [
        "Not in the vocabulary of the run, which reads each as the same unknown token: 狗"
    ]
    browser.click("[data-kind=arcs]")
    assert browser.run(UNDERLINED % ".token bdi") == [["狗", WRONG[theme]]]


def test_a_joined_word_with_an_unknown_part_is_marked(show: Show) -> None:
    tokens = (Token("do", 0, 2), Token("ß", 2, 3, unknown=True), Token("cat", 4, 7))
    trace = replace(make_trace(["a", "b", "c"], GOOD), source="doß cat", source_tokens=tokens, drops=())
    browser = show(render_page(trace.to_dict()))
    assert [text for text, _ in browser.run(UNDERLINED % ".grid .label")] == ["ß"]
    browser.run("[...document.querySelectorAll('label')].find((l) => l.textContent === 'Words').click()")
    assert [text for text, _ in browser.run(UNDERLINED % ".grid .label")] == ["doß"]


def test_a_model_without_attention_shows_what_it_does_not_know(show: Show) -> None:
    trace = replace(make_trace(["ab", "cd", "ef"], GOOD), maps=(), run_agreement=None)
    browser = show(render_page(trace.to_dict()))
    assert [text for text, _ in browser.run(UNDERLINED % ".raw span")] == ["cd"]
    assert read_texts(browser, ".meaning") == []  # there is no attention to explain


def make_document(agreement: AttentionAgreement) -> DocumentTrace:
    words = (
        AttendedWord("good", 0, 4, 0.9, 0.0),
        AttendedWord("foodo", 5, 10, 0.1, 0.75, unknown=True),
    )
    trace = DocumentTrace("good foodo", "yes", {"yes": 0.8}, (AttendedSentence(0, 10, words),))
    return trace.with_run_agreement(agreement)


def test_a_document_is_painted_by_drops_and_below_by_attention(show: Show) -> None:
    browser = show(render_page(make_document(WEAK).to_dict()))
    tops = find_tops(browser, ".meaning.weak", ".by-drop", "h3.below", ".by-weight")
    assert tops == sorted(tops)
    assert read_colours(browser, ".by-drop .seen") == [None, name_colour(1.0, LIGHT)]
    assert read_colours(browser, ".by-weight .seen") == [name_colour(share, LIGHT) for share in (1.0, 1 / 9)]
    assert [text for text, _ in browser.run(UNDERLINED % ".by-weight .seen")] == ["foodo"]
    browser = show(render_page(make_document(GOOD).to_dict()))
    table, meaning = find_tops(browser, ".by-weight", ".meaning")
    assert table < meaning
    assert browser.run("document.querySelector('.by-drop')") is None


def test_an_image_is_clear_where_the_output_needs_it(show: Show) -> None:
    cells = tuple(Token(f"cell {n}", 0, 0) for n in range(4))
    weights = np.array([[[0.7, 0.1, 0.1, 0.1]]], dtype=np.float32)
    drops = tuple(ProbabilityDrop(n, n + 1, drop, 0.25) for n, drop in enumerate((-0.9, 0.1, 0.2, 0.8)))
    image = np.full((8, 8, 3), 240, dtype=np.uint8)
    trace: Any = AttentionTrace(
        "a.png", "cat", cells, (Token("cat", 0, 3),), (AttentionMap("pool", weights),), (2, 2), image
    )
    trace = replace(trace, drops=drops, regions=(2, 2)).with_run_agreement(WEAK)
    browser = show(render_page(trace.to_dict()))
    browser.wait("document.querySelector('.regioned canvas')")
    tops = find_tops(browser, ".meaning.weak", ".regioned", "h3.below", ".overlay canvas")
    assert tops == sorted(tops)
    loaded = f"const image = new Image(); image.onload = () => setTimeout(done, 50); image.src = {PIXELS};"
    browser.run(f"new Promise((done) => {{ {loaded} }})")
    pen = "document.querySelector('.regioned canvas').getContext('2d')"
    dots = f"{pen}.getImageData(0, 0, 240, 240).data"
    reds = browser.run(f"((dots) => [5, 235].map((at) => dots[(at * 240 + at) * 4]))({dots})")
    assert reds[0] < 120  # the output is likelier without it: veiled
    assert reds[1] == 240  # the largest drop: as it is
    assert read_texts(browser, ".regions td") == ["+0.90", "−0.10", "−0.20", "−0.80"]


def test_a_report_compares_labels_as_wholes_and_marks_unknown_words(show: Show) -> None:
    source, unknown = "ein Straßo rot", (Token("Straßo", 4, 10, unknown=True),)
    labels = (["sport", "news"], ["sport", "newt"])
    wrong = Example(source, "sport|news", "sport|newt", 0.9, unknown=unknown, labels=labels)
    single = Example(source, "spam", "ham", 0.8, labels=(["spam"], ["ham"]))
    text = Example(source, "spam", "ham", 0.8)
    browser = show(render_report(Report("a report", mistakes=[wrong, single, text])))
    assert read_texts(browser, ".example del") == ["news", "spam", "s", "p"]
    assert read_texts(browser, ".example ins") == ["newt", "ham", "h"]
    assert read_texts(browser, ".example .text")[1:3] == ["sport, news", "sport, newt"]
    assert [text for text, _ in browser.run(UNDERLINED % ".example .unknown")] == ["Straßo"]
