"""A trace in a real browser: what is painted, lit, merged and drawn belongs to the tokens it stands for."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.testing import assert_allclose

from seen import READ_GRID, Show, click_switch, make_tokens, name_colour, read_colours, read_texts, read_told
from seq2see.core.token import Token
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.render.colours import DARK, LIGHT, WARM_LIGHT
from seq2see.render.html.page import render_page


def end(tokens: tuple[Token, ...]) -> tuple[Token, ...]:
    """The tokens with an end mark, which is no text."""
    return (*tokens, Token("</s>", tokens[-1].end, tokens[-1].end, tokens[-1].confidence))


def make_trace(source: list[str], target: list[str], *, heads: int = 1) -> AttentionTrace:
    """A trace whose weights are all different."""
    sources, targets = end(make_tokens(source, sure=False)), end(make_tokens(target, sure=True))
    random = np.random.default_rng(5)
    weights = random.dirichlet(np.ones(len(sources)), size=(heads, len(targets))).astype(np.float32)
    return AttentionTrace("".join(source), "".join(target), sources, targets, (AttentionMap("attend", weights),))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_what_is_pointed_at_lights_its_row_and_column(show: Show, theme: str) -> None:
    trace = make_trace(list("abcd"), ["x", "y"])
    weights, stops = trace.weights, {"light": LIGHT, "dark": DARK}[theme]
    rows, columns = weights.shape
    browser = show(render_page(trace.to_dict()), dark=theme == "dark")
    assert read_colours(browser, ".grid tbody td") == [name_colour(weight, stops) for weight in weights.flat]
    browser.hover(".grid tbody td", columns + 3)  # the second row, the fourth column
    here = "[...document.querySelectorAll('td.here')].map((cell) => [+cell.dataset.row, +cell.dataset.column])"
    assert browser.run(here) == [[r, c] for r in range(rows) for c in range(columns) if r == 1 or c == 3]
    assert read_colours(browser, "th.source") == [name_colour(weight, stops) for weight in weights[1]]
    assert read_texts(browser, "th.chosen .label") == ["d", "y"]
    assert read_told(browser) == f"y (2) attends to d (4) with weight {weights[1, 3]:.4f}"
    browser.hover("th.target", 2)
    assert read_colours(browser, "th.source") == [name_colour(weight, stops) for weight in weights[2]]
    ordered = np.argsort(-weights[2])[:3]
    strongest = ", ".join(f"{trace.source_tokens[place].text} {weights[2, place]:.4f}" for place in ordered)
    assert read_told(browser) == f"</s>, 97% sure, attends to {strongest}"
    browser.hover("th.source", 1)
    assert read_colours(browser, "th.target") == [name_colour(weight, stops) for weight in weights[:, 1]]
    pieces = read_colours(browser, ".named:nth-child(2) .raw span")
    assert pieces == [name_colour(weight, stops) for weight in weights[:, 1]]  # of the text above, too
    browser.run("document.querySelector('th.source').focus()")
    browser.press("ArrowRight")
    browser.press("ArrowRight")
    browser.press("ArrowDown")
    assert browser.run("document.activeElement.title") == str(browser.run(READ_GRID)[0][2])


def test_colours_may_be_scaled_to_the_largest_weight(show: Show) -> None:
    trace = make_trace(list("abc"), ["x", "y"], heads=2)
    browser = show(render_page(trace.to_dict()))
    click_switch(browser, "Scale to the largest")
    mean = trace.maps[0].weights.astype(float).mean(axis=0)
    assert_allclose(browser.run(READ_GRID), mean, atol=1e-7)
    assert read_colours(browser, ".grid tbody td") == [name_colour(weight / mean.max()) for weight in mean.flat]
    assert f"largest weight, {mean.max():.4f}" in browser.text()


def test_words_look_on_average_and_are_looked_at_in_sum(show: Show) -> None:
    trace = make_trace(["ab", "c", " ", "d", "ef", "g"], ["x", "yz", "w", " ", "v"])
    weights = trace.weights.astype(float)
    browser = show(render_page(trace.to_dict()))
    click_switch(browser, "Words")
    assert read_texts(browser, "th.source .label") == ["abc", "␣", "defg", "</s>"]
    assert read_texts(browser, "th.target .label") == ["xyzw", "␣", "v", "</s>"]
    assert read_texts(browser, "th.target .confidence") == ["91%", "97%", "97%", "97%"]  # 0.97 cubed
    rows, columns = [[0, 1, 2], [3], [4], [5]], [[0, 1], [2], [3, 4, 5], [6]]
    merged = [[weights[np.ix_(row, column)].sum(axis=1).mean() for column in columns] for row in rows]
    assert_allclose(browser.run(READ_GRID), merged, atol=1e-7)


def test_what_leaving_out_does_stands_below_its_word(show: Show) -> None:
    drops = (ProbabilityDrop(0, 2, 1.28, 0.4), ProbabilityDrop(3, 4, -0.254, 0.3), ProbabilityDrop(5, 6, 0.64, 0.1))
    trace = replace(make_trace(["a", "b", " ", "c", " ", "d"], ["x"]), drops=drops)
    browser = show(render_page(trace.to_dict()))
    told = "[...document.querySelectorAll('tfoot td')].map((cell) => [cell.colSpan, cell.textContent, cell.title])"
    between = [1, "", ""]
    lost = [[2, "−1.3", "−1.280"], between, [1, "+0.25", "+0.254"], between, [1, "−0.64", "−0.640"], between]
    assert browser.run(told) == lost
    painted = [name_colour(share, WARM_LIGHT) for share in (1, 0, 0.5)]
    assert read_colours(browser, "tfoot td.painted") == painted


def test_arcs_go_from_who_looks_to_what_is_looked_at(show: Show) -> None:
    weights = np.array([[[0.9, 0.015, 0.085, 0], [0.05, 0.15, 0.2, 0.6]]], dtype=np.float32)
    trace = make_trace(list("abc"), ["x"])
    trace = replace(trace, maps=(AttentionMap("attend", weights),))
    browser = show(render_page(trace.to_dict()))
    browser.click("[data-kind=arcs]")
    ends = """[...document.querySelectorAll('path.link')].map((path) => {
        const at = (where) => path.getPointAtLength(where).matrixTransform(path.getScreenCTM()).y;
        const middle = (node) => { const r = node.getBoundingClientRect(); return r.y + r.height / 2; };
        const find = (list, y) => [...document.querySelectorAll(list + ' button')]
            .map((node) => Math.abs(middle(node) - y)).reduce((best, far, i, all) => far < all[best] ? i : best, 0);
        return [find('.side.row', at(0)), find('.side.column', at(path.getTotalLength())),
            Number(getComputedStyle(path).strokeOpacity)];
    })"""
    drawn = [[r, c, weights[0, r, c]] for r in range(2) for c in range(4) if weights[0, r, c] >= 0.02]
    assert_allclose(browser.run(ends), drawn, atol=1e-6)
    assert read_texts(browser, ".side.row bdi") == ["x", "</s>"]
    assert read_texts(browser, ".side.column bdi") == ["a", "b", "c", "</s>"]
    lit = (
        f"({ends}).filter((_, i) => !document.querySelectorAll('path.link')[i].matches('.off')).map(([r, c]) => [r, c])"
    )
    browser.hover(".side.column button", 2)
    assert browser.run(lit) == [[0, 2], [1, 2]]
    assert read_colours(browser, ".side.row button") == [name_colour(weight) for weight in weights[0, :, 2]]
    browser.hover(".side.row button", 1)
    assert browser.run(lit) == [[1, 0], [1, 1], [1, 2], [1, 3]]
    assert read_colours(browser, ".side.column button") == [name_colour(weight) for weight in weights[0, 1]]


@pytest.mark.parametrize(
    ("source", "turned"), [("שלום", True), ("12 שב", True), ("مرحبا", True), ("aש", False), ("Ωש", False)]
)
def test_a_text_from_right_to_left_is_drawn_so(show: Show, source: str, turned: bool) -> None:
    trace = make_trace(list(source), ["x", "y"], heads=2)
    browser = show(render_page(trace.to_dict()))
    assert browser.run("document.querySelector('.grid').dir") == ("rtl" if turned else "ltr")
    across = browser.run("[...document.querySelectorAll('th.source')].map((th) => th.getBoundingClientRect().x)")
    assert across == sorted(across, reverse=turned)
    assert_allclose(browser.run(READ_GRID), trace.weights, atol=1e-7)  # in the order of the text
    browser.run("document.querySelector('th.target').focus()")
    browser.press("ArrowLeft" if turned else "ArrowRight")
    assert browser.run("document.activeElement.dataset.column") == "0"
    browser.click("[data-kind=heads]")
    dots = "[...document.querySelector('[data-head=\"1\"] canvas').getContext('2d').getImageData(0, 1, 99, 1).data]"
    row = np.array(browser.run(dots)).reshape(-1, 4)[: len(source) + 1, :3]
    seen = [f"rgb({', '.join(map(str, dot))})" for dot in row.tolist()]
    painted = [name_colour(weight) for weight in trace.maps[0].weights[1, 1]]
    assert seen == (painted[::-1] if turned else painted)


def grow(parent: int | None, text: str, total: float, *, kept: bool = True, score: float | None = None) -> Any:
    """A node of a beam."""
    return {"parent": parent, "id": 5, "text": text, "logprob": -0.5, "total": total, "kept": kept, "score": score}


def test_the_beam_is_a_tree_with_its_best_path_marked(show: Show) -> None:
    nodes = [
        grow(None, "p", -1.0),
        grow(None, "q", -0.4),
        grow(None, "r", -2.0, kept=False),
        grow(0, "u", -1.2),
        grow(1, "v", -1.5),
        grow(1, "w", -1.9, kept=False),
        grow(3, "</s>", -1.3, score=-0.43),
        grow(4, "</s>", -1.6, score=-0.53),
    ]
    payload = make_trace(list("ab"), ["p", "u"]).to_dict() | {"history": {"nodes": nodes, "best": 6}}
    browser = show(render_page(payload))
    browser.click("[data-kind=tree]")
    leaves = """(kind) => [...document.querySelectorAll('.leaf' + kind)]
        .map((leaf) => [leaf.firstChild.textContent, +leaf.getAttribute('x'), +leaf.getAttribute('y')])"""
    best, kept, left = (browser.run(f"({leaves})('{kind}')") for kind in (".best", ".kept", ".left"))
    assert [text for text, *_ in sorted(best, key=lambda leaf: leaf[1])] == ["p", "u", "</s>"]
    assert {text for text, *_ in kept} == {"q", "v", "</s>"}
    assert {text for text, *_ in left} == {"r", "w"}
    steps: dict[float, list[Any]] = {}
    for text, x, y in sorted(best + kept + left, key=lambda leaf: leaf[1:]):
        steps.setdefault(x, []).append(text)
        assert y > 0
    assert list(steps.values()) == [["q", "p", "r"], ["u", "v", "w"], ["</s>", "</s>"]]  # the likeliest on top
    assert browser.run("document.querySelectorAll('.branch.best').length") == 2
    assert read_texts(browser, ".sheet tbody td, .sheet tbody th") == [
        "pu",
        "-0.4300",
        "-1.3000",
        "qv",
        "-0.5300",
        "-1.6000",
    ]
    assert read_texts(browser, ".sheet b") == ["pu"]
    browser.hover(".leaf.left", 1)
    assert read_told(browser).startswith("w: 60.7 % likely")  # exp(-0.5)
    click_switch(browser, "Show the 2 it left out")
    assert browser.run("document.querySelectorAll('.leaf.left').length") == 0
