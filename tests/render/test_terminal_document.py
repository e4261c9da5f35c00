"""A document in the terminal, and the reliability of a classifier in a figure: line by line, and point by point."""

import io
from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console
from rich.style import Style
from rich.text import Text

from seq2see.explain.attention_agreement import AttentionAgreement
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.metrics.labels import Bin
from seq2see.metrics.rank import RankAgreement
from seq2see.render.colours import DARK, WARM_DARK, mix_colour
from seq2see.render.figures.reliability_diagram import draw_reliability
from seq2see.render.terminal.terminal_document import draw_bar, render_document, say_agreement

WORDS = (
    AttendedWord("a", 0, 1, 0.75, drop=0.4),
    AttendedWord("b", 2, 3, 0.25, drop=0.1, unknown=True),
    AttendedWord(".", 3, 4, 0.0),
)
LAST = AttendedWord("c", 5, 6, 1.0, drop=-0.2)
TRACE = DocumentTrace(
    "a b. c",
    "good",
    {"good": 0.9, "bad": 0.1},
    (AttendedSentence(0, 4, WORDS, 0.64, drop=0.5), AttendedSentence(5, 6, (LAST,), 0.36, drop=-0.25)),
    word_agreement=RankAgreement(0.5, None, 3),
    sentence_agreement=RankAgreement(-1.0, 0.256, 2),
)


@pytest.mark.parametrize(
    ("share", "bar"),
    [(0.0, ""), (1 / 48, "▏"), (0.25, "█▌"), (11 / 48, "█▍"), (0.5, "███"), (47 / 48, "█████▉"), (1.0, "██████")],
)
def test_a_bar_has_six_cells_of_eight_parts(share: float, bar: str) -> None:
    assert draw_bar(share) == bar


def show(trace: DocumentTrace) -> list[str]:
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render_document(trace))
    return [line.rstrip() for line in console.export_text().splitlines()]


def test_rank_correlations_that_cannot_be_computed_are_undefined() -> None:
    said = "rank agreement of attention with occlusion, 3 words: Kendall tau 0.50, Spearman undefined"
    assert say_agreement("words", RankAgreement(0.5, None, 3)) == said


def test_a_document_has_a_row_for_each_sentence_and_lists_its_heaviest_words() -> None:
    title, first, second, *below = show(TRACE)
    assert title == "good  (good 90.0%, bad 10.0%)"
    assert first == "0.640 ██████ -0.50 a ⁇b."
    assert second == "0.360 ███▍   +0.25 c"
    told = [line.strip() for line in below]
    assert told[0].startswith("⁇ Not in the vocabulary")
    assert told[0].endswith(": 'b'")
    assert told[1] == "words with the most attention: a 0.600, c 0.600, b 0.200"  # the root of the sentence's weight
    assert told[2] == "largest probability drops, word by word left out: a -0.4, b -0.1, c +0.2"
    assert told[3].endswith("2 sentences: Kendall tau -1.00, Spearman 0.26")
    assert told[4].endswith("3 words: Kendall tau 0.50, Spearman undefined")
    assert told[5].startswith("An attention weight says where the model attended")


def list_colours(text: Text) -> list[tuple[str, str | None]]:
    """What is behind and in front of each coloured part."""
    styles = [span.style for span in text.spans if isinstance(span.style, Style) and span.style.bgcolor]
    return [(style.bgcolor.name, style.color and style.color.name) for style in styles if style.bgcolor]


def test_words_are_coloured_by_their_share_of_the_strongest() -> None:
    cells = list(render_document(TRACE).columns[1].cells)
    assert list_colours(cells[0]) == [  # type: ignore[arg-type]
        (mix_colour(1.0, stops=DARK), "#10151d"),
        (mix_colour(1 / 3, stops=DARK), None),
    ]
    assert list_colours(cells[1]) == [(mix_colour(1.0, stops=DARK), "#10151d")]  # type: ignore[arg-type]


def test_drops_come_first_where_attention_hardly_agrees_with_them() -> None:
    weak = replace(TRACE, run_agreement=AttentionAgreement(0.1, 24))
    lines = show(weak)
    assert "read leave-one-out, not attention" in " ".join(" ".join(lines).split())
    places = [place for place, line in enumerate(lines) if "Leave-one-out: what" in line or "Attention: where" in line]
    assert [line.split() for line in lines[places[0] + 1 : places[0] + 3]] == [["-0.50", "a", "⁇b."], ["+0.25", "c"]]
    assert lines[places[1] + 1] == "0.640 ██████ -0.50 a ⁇b."
    assert not any("An attention weight says" in line for line in lines[places[1] :])  # it is said above
    cells = list(render_document(weak).columns[1].cells)
    assert list_colours(cells[1]) == [  # type: ignore[arg-type]
        (mix_colour(1.0, stops=WARM_DARK), "#10151d"),
        (mix_colour(0.25, stops=WARM_DARK), None),
    ]
    assert list_colours(cells[2]) == []  # type: ignore[arg-type]  # a word that the output is better without


def test_a_text_without_sentences_has_no_column_of_weights() -> None:
    flat = replace(TRACE, sentences=(AttendedSentence(0, 4, WORDS),), sentence_agreement=None)
    lines = show(flat)
    assert lines[1] == "a ⁇b."
    assert len(render_document(flat).columns) == 1
    assert not any("sentences" in line for line in lines[1:])


def test_only_the_heaviest_eight_words_are_listed() -> None:
    words = tuple(
        AttendedWord(f"w{place}", 3 * place, 3 * place + 2, place / 45, drop=place / 10) for place in range(10)
    )
    lines = show(replace(TRACE, sentences=(AttendedSentence(0, 30, words),)))
    (most,) = (line for line in lines if "most attention" in line)
    assert [word for word in most.replace(",", "").split() if word.startswith("w") and word[1:].isdigit()] == [
        f"w{place}" for place in range(9, 1, -1)
    ]
    (drops,) = (line for line in lines if "largest probability drops" in line)
    assert drops.strip().endswith("w9 -0.9, w8 -0.8, w7 -0.7, w6 -0.6, w5 -0.5, w4 -0.4, w3 -0.3, w2 -0.2")


def test_reliability_has_a_point_for_each_bin_that_is_not_empty() -> None:
    bins = [Bin(0.0, 0.5, 3, 0.4, 1 / 3), Bin(0.5, 0.75, 0, 0.0, 0.0), Bin(0.75, 1.0, 5, 0.9, 0.8)]
    above, below = draw_reliability({"now": bins, "before": bins[:1]}).axes
    diagonal, now, before = above.get_lines()
    assert diagonal.get_xydata().tolist() == [[0, 0], [1, 1]]  # type: ignore[union-attr]
    np.testing.assert_allclose(now.get_xydata(), [[0.4, 1 / 3], [0.9, 0.8]])  # type: ignore[arg-type]
    np.testing.assert_allclose(before.get_xydata(), [[0.4, 1 / 3]])  # type: ignore[arg-type]
    gaps = (3 * (0.4 - 1 / 3) + 5 * 0.1) / 8, 0.4 - 1 / 3
    assert [line.get_label() for line in (now, before)] == [
        f"now: off by {gaps[0]:.1%} on average",
        f"before: off by {gaps[1]:.1%} on average",
    ]
    assert below.get_lines()[0].get_xydata().tolist() == [[0, 3], [0.5, 0], [0.75, 5], [1, 0]]  # type: ignore[union-attr]
