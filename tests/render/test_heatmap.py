"""Images are written whole, in every script, without a warning."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from seq2see.core.errors import Seq2SeeError
from seq2see.core.token import Token
from seq2see.explain.attention_agreement import MEANING
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.render.figures import fonts as font
from seq2see.render.figures.heatmap import MAX_INCHES, draw_heatmap
from seq2see.render.panel import list_panels

SCRIPTS = {
    "chinese": ["二", "〇", "九", "年"],
    "hindi": ["हम", "बीजिंग", "में"],
    "persian": ["ما", "می‌آموزیم"],
    "emoji": ["👍🏽", "👩‍💻", "❤️", "🇮🇷"],
    "formula": ["$", "x$y$", "_", "\\frac", " ", "\n"],
}


@pytest.mark.parametrize("script", SCRIPTS)
@pytest.mark.parametrize("suffix", [".png", ".svg"])
def test_every_script_gives_a_file(
    make_trace: Callable[..., AttentionTrace], tmp_path: Path, script: str, suffix: str
) -> None:
    path = make_trace(SCRIPTS[script], list("2009")).save(tmp_path / f"image{suffix}")
    content = path.read_bytes()
    assert content.startswith(b"\x89PNG" if suffix == ".png" else b"<?xml")
    assert len(content) > 5_000
    assert list(tmp_path.iterdir()) == [path]


def test_colours_are_the_weights(hand_trace: AttentionTrace) -> None:
    axes = draw_heatmap(hand_trace).axes[0]
    mesh = axes.collections[0]
    np.testing.assert_array_equal(np.asarray(mesh.get_array()).ravel(), [1.0, 0.0, 0.25, 0.75])
    assert mesh.get_clim() == (0.0, 1.0)
    assert [text.get_text() for text in axes.get_xticklabels()] == ["a", "b"]
    assert [text.get_text() for text in axes.get_yticklabels()] == ["x", "y"]
    assert [text.get_text() for text in axes.texts] == ["97%", "97%"]
    bottom, top = axes.get_ylim()
    assert bottom > top  # the first target token is on top


def test_a_panel_for_each_map_says_what_it_averages(make_trace: Callable[..., AttentionTrace]) -> None:
    figure = draw_heatmap(make_trace(list("abc"), list("de"), heads=4, maps=2))
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["decoder.0, mean of 4 heads", "decoder.1, mean of 4 heads"]


def test_a_panel_shows_the_head_that_it_names(make_trace: Callable[..., AttentionTrace]) -> None:
    trace = make_trace(list("abcd"), list("xyz"), heads=3, maps=2)
    figure = draw_heatmap(trace, heads=True)
    shown = {axes.get_title(): axes.collections[0].get_array() for axes in figure.axes if axes.get_title()}
    assert len(shown) == 6
    for each in trace.maps:
        for number, weights in enumerate(each.weights, 1):
            np.testing.assert_array_equal(shown[f"{each.name}, head {number}"], weights)
    means = {axes.get_title(): axes.collections[0].get_array() for axes in draw_heatmap(trace).axes if axes.get_title()}
    by_hand = (trace.maps[1].weights[0] + trace.maps[1].weights[1] + trace.maps[1].weights[2]) / 3
    np.testing.assert_allclose(means["decoder.1, mean of 3 heads"], by_hand, rtol=1e-6)


def test_what_no_font_has_is_spelled(
    make_trace: Callable[..., AttentionTrace], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(font, "_order_fonts", lambda: ())
    figure = draw_heatmap(make_trace(["中", "a"], ["b"]))
    assert [text.get_text() for text in figure.axes[0].get_xticklabels()] == ["U+4E2D", "a"]
    told = "100%: probability of the token; no font here has U+4E2D; install one that has"
    assert " ".join(figure.get_supxlabel().split("\n")) == f"{told} {MEANING}"


def test_size_is_bounded(make_trace: Callable[..., AttentionTrace]) -> None:
    size = draw_heatmap(make_trace(["word"] * 400, ["word"] * 3)).get_size_inches()
    assert max(size) < MAX_INCHES + 4


def test_no_attention_is_said(hand_trace: AttentionTrace) -> None:
    figure = draw_heatmap(replace(hand_trace, maps=()))
    assert figure.texts[0].get_text() == "This model has no attention to show."


def test_other_suffix_is_refused(hand_trace: AttentionTrace, tmp_path: Path) -> None:
    with pytest.raises(Seq2SeeError, match=r"must end in \.png or \.svg; got image\.gif"):
        hand_trace.renderer.save(hand_trace, tmp_path / "image.gif")


def test_a_map_of_another_shape_is_refused(hand_trace: AttentionTrace) -> None:
    wrong = AttentionMap("self", np.zeros((1, 3, 2), dtype=np.float32))
    with pytest.raises(Seq2SeeError, match="must have 2 target x 2 source positions, but has 3 target x 2"):
        draw_heatmap(replace(hand_trace, maps=(wrong,)))


def test_each_side_of_a_map_has_its_own_tokens() -> None:
    tokens = {side: tuple(Token(letter, 0, 1) for letter in letters) for side, letters in (("s", "abc"), ("t", "de"))}
    maps = (
        AttentionMap(
            "encoder.self_attention", np.full((2, 3, 3), 1 / 3, dtype=np.float32), queries="source", keys="source"
        ),
        AttentionMap("decoder.self_attention", np.eye(2, dtype=np.float32)[None], keys="inputs"),
        AttentionMap("decoder.cross", np.full((2, 2, 3), 1 / 3, dtype=np.float32)),
    )
    trace = AttentionTrace("abc", "de", tokens["s"], tokens["t"], maps)
    (cross,) = list_panels(trace)
    assert (cross.title, len(cross.rows), len(cross.columns)) == ("decoder.cross, mean of 2 heads", 2, 3)
    (own,) = list_panels(trace, name="decoder.self_attention")
    assert [token.text for token in own.columns] == ["<s>", "d"]
    assert [token.text for token in own.rows] == ["d", "e"]
    assert [panel.title for panel in list_panels(trace, name="encoder", heads=True)] == [
        "encoder.self_attention, head 1",
        "encoder.self_attention, head 2",
    ]
    assert len(list_panels(trace, name="all")) == 3
    with pytest.raises(Seq2SeeError, match=r"no map 'decoder\.crosss'; did you mean 'decoder\.cross'"):
        list_panels(trace, name="decoder.crosss")
