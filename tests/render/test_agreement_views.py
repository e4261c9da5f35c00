"""Beside every map: what attention is, whether it agrees with leave-one-out, and what the run does not know."""

from dataclasses import replace

import numpy as np
import pytest
from rich.console import Console

from seq2see.core.token import Token
from seq2see.explain.attention_agreement import MEANING, NOT_MEASURED, AttentionAgreement
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.explain.output_trace import OutputTrace
from seq2see.render.colours import WRONG

WEAK, GOOD = AttentionAgreement(0.04, 24), AttentionAgreement(0.6, 24)
SAID = {
    WEAK: "Attention and leave-one-out hardly agree: mean Kendall's tau 0.04 over 24 held-out inputs; read "
    "leave-one-out, not attention.",
    GOOD: "Attention and leave-one-out agree: mean Kendall's tau 0.60 over 24 held-out inputs.",
    NOT_MEASURED: "Attention and leave-one-out were not compared: not measured (seq2see evaluate RUN DATA --agreement "
    "measures it).",
}


def make_text(agreement: AttentionAgreement | None, *, drops: bool = True) -> AttentionTrace:
    """Three words, of which the second is unknown; attention is on the first, and the output needs the third."""
    source = "ein Straßo rot"
    tokens = (Token("ein", 0, 3), Token("Straßo", 4, 10, unknown=True), Token("rot", 11, 14), Token("</s>", 14, 14))
    weights = np.array([[[0.7, 0.2, 0.1, 0.0], [0.9, 0.1, 0.0, 0.0]]], dtype=np.float32)
    target = (Token("red", 0, 3, 0.9), Token("</s>", 3, 3, 0.8))
    found = (ProbabilityDrop(0, 3, -0.25, 0.8), ProbabilityDrop(4, 10, 0.5, 0.15), ProbabilityDrop(11, 14, 2.0, 0.05))
    trace = AttentionTrace(
        source, "red", tokens, target, (AttentionMap("attend", weights),), drops=found if drops else ()
    )
    return trace.with_run_agreement(agreement)


def make_document(agreement: AttentionAgreement | None) -> DocumentTrace:
    words = (
        AttendedWord("good", 0, 4, 0.9, 0.0),
        AttendedWord("foodo", 5, 10, 0.1, 0.75, unknown=True),
    )
    trace = DocumentTrace("good foodo", "yes", {"yes": 0.8, "no": 0.2}, (AttendedSentence(0, 10, words),))
    return trace.with_run_agreement(agreement)


def make_image(agreement: AttentionAgreement | None) -> AttentionTrace:
    cells = tuple(Token(f"cell {n}", 0, 0) for n in range(4))
    weights = np.array([[[0.7, 0.1, 0.1, 0.1]]], dtype=np.float32)
    drops = tuple(ProbabilityDrop(n, n + 1, drop, 0.25) for n, drop in enumerate((0.0, 0.1, 0.4, 0.8)))
    image = np.full((8, 8, 3), 200, dtype=np.uint8)
    trace = AttentionTrace(
        "a.png", "cat", cells, (Token("cat", 0, 3),), (AttentionMap("pool", weights),), (2, 2), image
    )
    return replace(trace, drops=drops, regions=(2, 2)).with_run_agreement(agreement)


def read(trace: OutputTrace) -> str:
    """What the terminal shows, without colours and line breaks inside of sentences."""
    console = Console(width=100, no_color=True, highlight=False)
    with console.capture() as captured:
        console.print(trace.renderer.to_terminal(trace, width=100))
    return captured.get()


def flatten(text: str) -> str:
    return " ".join(text.split())


@pytest.mark.parametrize("make", [make_text, make_document, make_image])
@pytest.mark.parametrize("agreement", list(SAID))
def test_the_terminal_says_whether_attention_agrees(make, agreement: AttentionAgreement) -> None:  # type: ignore[no-untyped-def]
    shown = flatten(read(make(agreement)))
    assert shown.count(f"{MEANING} {SAID[agreement]}") == 1


@pytest.mark.parametrize(
    ("make", "needed", "attended"),
    [
        (make_text, "rot -2.00 ██████", "attend"),
        (make_document, "good ⁇foodo", "words with the most attention"),
        (make_image, "brightness: 0 to the largest drop of a region", "brightness: 0 to the largest weight"),
    ],
)
def test_leave_one_out_comes_first_where_attention_hardly_agrees(make, needed: str, attended: str) -> None:  # type: ignore[no-untyped-def]
    weak, good = flatten(read(make(WEAK))), flatten(read(make(GOOD)))
    order = [
        SAID[WEAK],
        "Leave-one-out: what the output needs",
        needed,
        "Attention: where the model attended",
        attended,
    ]
    places = [weak.index(part) for part in order[:4]]
    places.append(weak.index(attended, places[-1]))
    assert places == sorted(places)
    assert "what the output needs" not in good
    assert good.index(attended) < good.index(SAID[GOOD])


def test_drops_stay_in_the_order_of_the_source() -> None:
    lines = read(make_text(WEAK)).splitlines()
    start = lines.index("Leave-one-out: what the output needs") + 1
    assert [line.split()[:2] for line in lines[start : start + 3]] == [
        ["ein", "+0.25"],
        ["Straßo", "-0.50"],
        ["rot", "-2.00"],
    ]


def test_many_parts_are_cut_to_those_that_are_needed_most() -> None:
    words = [f"w{number:02}" for number in range(30)]
    source = " ".join(words)
    tokens = tuple(Token(word, 4 * n, 4 * n + 3) for n, word in enumerate(words))
    weights = np.full((1, 1, 30), 1 / 30, dtype=np.float32)
    drops = tuple(ProbabilityDrop(4 * n, 4 * n + 3, 0.1 * n, 0.0, word) for n, word in enumerate(words))
    trace = AttentionTrace(source, "x", tokens, (Token("x", 0, 1),), (AttentionMap("a", weights),), drops=drops)
    shown = read(trace.with_run_agreement(WEAK))
    listed = [line.split()[0] for line in shown.splitlines() if line.startswith("w")]
    assert listed == words[6:]
    assert "and 6 parts with smaller drops" in shown


def test_without_drops_attention_comes_first_however_weak_it_is() -> None:
    trace = make_text(WEAK, drops=False)
    assert not trace.drops_first
    assert "what the output needs" not in read(trace)


def test_unknown_words_are_marked_in_the_terminal() -> None:
    note = "⁇ Not in the vocabulary of the run, which reads each as the same unknown token: "
    text = read(make_text(GOOD))
    assert f"{note}'Straßo'" in flatten(text)
    column = [line[12:14] for line in text.splitlines()[1:13]]  # behind a side of 10 cells and one column
    assert "".join(cell.strip() for cell in column).startswith("⁇Straßo")
    assert f"{note}'foodo'" in flatten(read(make_document(GOOD)))
    assert "⁇" not in read(make_image(GOOD))


def test_figures_have_the_sentence_and_colour_unknown_words() -> None:
    figure = make_text(WEAK).plot()
    told = flatten(figure.get_supxlabel())
    assert told.endswith(f"{MEANING} {SAID[WEAK]}")
    assert "red: Not in the vocabulary of the run" in told
    colours = [label.get_color() for label in figure.axes[0].get_xticklabels()]
    assert colours == ["black", WRONG, "black", "black"]
    document = make_document(WEAK).plot()
    texts = [each.get_text() for each in document.texts]
    assert f"{MEANING} {SAID[WEAK]}" in " ".join(reversed(texts))
    image = make_image(WEAK).plot()
    assert flatten(image.get_supxlabel()).endswith(f"{MEANING} {SAID[WEAK]}")
    titles = [axes.get_title() for axes in image.axes]
    assert titles.index("probability drop\n(leave-one-out)") < titles.index("cat")


def test_the_payload_has_the_numbers_and_the_marks() -> None:
    packed = make_text(WEAK).to_dict()
    assert packed["run_agreement"] == {"tau": 0.04, "count": 24, "weak": True, "text": str(WEAK)}
    tokens = packed["source_tokens"]
    assert isinstance(tokens, list)
    assert [token["unknown"] for token in tokens if isinstance(token, dict)] == [False, True, False, False]


def test_interventions_are_named_beside_what_was_measured_before_them() -> None:
    known = WEAK.under("before the interventions")
    assert str(known) == str(WEAK).replace("inputs;", "inputs (before the interventions);")
    assert known.is_weak
