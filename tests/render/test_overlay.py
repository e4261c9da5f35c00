"""Attention over images: where it is clear, what a page holds, what an animation shows."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from seq2see.core.errors import Seq2SeeError
from seq2see.core.token import Token
from seq2see.explain.attention_agreement import MEANING
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace
from seq2see.render.colours import DIM, VEIL
from seq2see.render.figures.fonts import choose_font
from seq2see.render.figures.overlay import draw_overlays, lay_over, list_frames
from seq2see.render.html.page import render_page
from seq2see.render.terminal.terminal_heatmap import render_terminal


def make_trace() -> AttentionTrace:
    """Two words over four cells: the first looks at the top left alone, the second at all alike."""
    weights = np.array([[[1, 0, 0, 0], [0.25, 0.25, 0.25, 0.25]]], dtype=np.float32)
    cells = tuple(Token(f"row {y}, column {x}", 0, 0) for y in (1, 2) for x in (1, 2))
    words = (Token("red", 0, 3, 0.9), Token("</s>", 3, 3, 0.5))
    image = np.full((8, 8, 3), 200, dtype=np.uint8)
    return AttentionTrace("a.png", "red", cells, words, (AttentionMap("decoder.attend", weights),), (2, 2), image)


@pytest.mark.parametrize("shade", [0, 200])
def test_an_image_is_as_clear_as_the_weights_of_its_cells(shade: int) -> None:
    trace = make_trace()
    (_, first), (_, second) = list_frames(trace)
    image = np.full((8, 8, 3), shade, dtype=np.uint8)
    seen, veiled = lay_over(image, first, cells=True), np.round(shade * DIM + np.array(VEIL) * (1 - DIM))
    assert (seen[:4, :4] == shade).all()
    assert (seen[4:] == veiled).all()
    assert (seen[:, 4:] == veiled).all()
    assert (lay_over(image, second, cells=True) == shade).all()


def test_cells_lie_over_the_image_row_by_row() -> None:
    """Two rows of three cells, each four pixels: the second cell of a map is to the right of its first."""
    weights = np.eye(6, dtype=np.float32)[None, [1, 3]]
    cells = tuple(Token(f"{place}", 0, 0) for place in range(6))
    image = np.full((4, 6, 3), 200, dtype=np.uint8)
    trace = replace(make_trace(), source_tokens=cells, maps=(AttentionMap("a", weights),), grid=(2, 3), image=image)
    for (_, frame), (top, left) in zip(list_frames(trace), [(0, 2), (2, 0)], strict=True):
        clear = np.zeros((4, 6), dtype=bool)
        clear[top : top + 2, left : left + 2] = True
        np.testing.assert_array_equal((lay_over(image, frame, cells=True) == 200).all(axis=2), clear)


def test_frames_are_titled_with_word_and_confidence() -> None:
    assert [title for title, _ in list_frames(make_trace())] == ["red 90%", "</s> 50%"]


def test_an_animation_has_a_frame_for_each_word(tmp_path: Path) -> None:
    with Image.open(make_trace().renderer.save(make_trace(), tmp_path / "a.gif")) as animation:
        assert animation.n_frames == 2
    (one,) = make_trace().maps
    two = AttentionMap(one.name, np.concatenate([one.weights, one.weights[:, ::-1]]))
    both = replace(make_trace(), maps=(two,))
    with Image.open(both.renderer.save(both, tmp_path / "b.gif", heads=True)) as animation:
        assert animation.n_frames == 4


def test_what_no_font_can_draw_is_spelled_in_animations() -> None:
    file, shown = choose_font("red 90%\nhead 1", base="DejaVu Sans")
    assert (Path(file).name, shown) == ("DejaVuSans.ttf", "red 90%\nhead 1")
    nobody = "\U000f1234"  # for private use
    assert choose_font(f"{nobody} 90%", base="DejaVu Sans") == (file, "U+F1234 90%")


def test_a_drawing_says_what_no_font_can_draw() -> None:
    told = "veiled: weight 0; clear: the largest weight of each figure"
    assert draw_overlays(make_trace()).get_supxlabel().split("\n") == [told, MEANING]
    nobody = replace(make_trace(), target_tokens=(Token("\U000f1234", 0, 1), Token("</s>", 1, 1)))
    assert (
        draw_overlays(nobody)
        .get_supxlabel()
        .split("\n")[0]
        .endswith("; no font here has U+F1234; install one that has")
    )


def test_without_a_name_the_last_map_lies_over_the_image() -> None:
    trace = make_trace()
    (last,) = trace.maps
    first = AttentionMap("decoder.first", np.concatenate([last.weights, last.weights])[:, :, ::-1].copy())
    both = replace(trace, maps=(first, last))
    for (_, frame), row in zip(list_frames(both), last.weights[0], strict=True):
        np.testing.assert_array_equal(frame.ravel(), row)
    assert [title.split("\n")[1:] for title, _ in list_frames(both, heads=True)] == [
        *[["decoder.first", "head 1"]] * 2, *[["decoder.first", "head 2"]] * 2, *[["decoder.attend"]] * 2,
    ]  # fmt: skip


def test_a_drawing_begins_with_the_image(tmp_path: Path) -> None:
    with Image.open(make_trace().renderer.save(make_trace(), tmp_path / "a.png")) as drawing:
        assert drawing.width > 2 * drawing.height  # three images beside each other


def test_a_page_holds_the_image_and_may_show_nothing_from_elsewhere() -> None:
    page = render_page(make_trace().to_dict())
    assert "data:image/jpeg;base64," in page
    assert "img-src data:;" in page


def test_a_terminal_shows_a_small_grid_for_each_word() -> None:
    lines = render_terminal(make_trace(), width=40).plain.splitlines()
    assert "red" in lines[0]
    assert lines[1].startswith("██  ")
    assert lines[2].startswith("    ")


def test_texts_have_no_overlay() -> None:
    with pytest.raises(Seq2SeeError, match="needs an image"):
        list_frames(AttentionTrace("a", "b", (), (), ()))
