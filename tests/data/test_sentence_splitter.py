"""Sentences are cut where a reader would cut them, in many scripts, and always at places of the raw text."""

import random
from itertools import pairwise

import pytest

from seq2see.data.sentence_splitter import join_sentences, show_sentences, split_sentences

# each text with the places where it is cut marked by |
CASES = [
    "It was great.| I liked it!| Did you?| Yes",
    "Mr. Smith met Dr. J. Jones at 3.5 p.m. in the U.S. embassy.| He left.",
    '"Is it good?" he asked.| "It is."| (So they say.)| Fine',
    "Wait... what?| No...| Really.",
    "One line\n|another line<br />|<br>third<p>|fourth",
    "So did I.| She gave it a 7.| The plot is no. 1 of 3. It has actors, effects etc.| The end".replace("3. ", "3.| "),
    "1. First things first.| 2. Then the rest.",
    "No space after it.|The next one begins.| But www.example.com and 1.000,50 stay",
    "Am 3. Mai kam z.B. Herr Dr. Müller.| Danach ging er bzw. Frau Maier.",
    "¿Qué tal?| ¡Muy bien!| El Sr. López vino.",
    "这部电影很好。|我喜欢！|你呢？|「好。」|完",
    "यह अच्छा है।| मुझे पसंद आया॥| हाँ",
    "هل هذا جيد؟| نعم.| انتهى",
    "یہ اچھا ہے۔| ہاں",
    "ይህ ጥሩ ነው።| አዎ",
    "Он пришёл 3. мая с проф. Ивановым.| Потом ушёл.",
]


@pytest.mark.parametrize("marked", CASES)
def test_sentences_end_where_a_reader_ends_them(marked: str) -> None:
    text = marked.replace("|", "")
    found = [text[start:end] for start, end in split_sentences(text)]
    expected = [piece.replace("<br />", "").replace("<br>", "").replace("<p>", "") for piece in marked.split("|")]
    assert found == [piece.strip() for piece in expected if piece.strip()]


def test_no_letter_is_lost_or_read_twice() -> None:
    draw = random.Random(1)
    for _ in range(200):
        text = "".join(draw.choice("aB. .!?\n 。।3\"') <br>…") for _ in range(40))
        spans = split_sentences(text)
        assert all(start < end for start, end in spans)
        assert all(left[1] <= right[0] for left, right in pairwise(spans))
        kept = "".join(text[start:end] for start, end in spans)
        gone = text.replace("<br>", "")
        assert "".join(kept.replace("<br>", "").split()) == "".join(gone.split())


def test_sentences_that_are_cut_stay_as_they_are() -> None:
    given = ["One. Two.", "", "Three\nfour", " five "]
    text = join_sentences(given)
    assert [text[start:end] for start, end in split_sentences(text)] == ["One. Two.", "Three\nfour", "five"]
    assert split_sentences(join_sentences(["a. B."])) == [(0, 5)]
    assert len(show_sentences(text)) == len(text)


@pytest.mark.parametrize("text", ["", "  ", "\n\n", "<br />"])
def test_nothing_has_no_sentences(text: str) -> None:
    assert split_sentences(text) == []
