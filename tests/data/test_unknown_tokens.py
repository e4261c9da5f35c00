"""What a vocabulary lacks is known with its place, whatever the tokenizer."""

import pytest

from seq2see.data.modalities.document import Documents
from seq2see.data.modalities.modality import find_unknown
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Bpe, Characters, Unigram, Words

TEXTS = ["ein Hund läuft", "der Hund rennt schnell", "ein Haus, der Garten"] * 4
KINDS = {
    "characters": Characters(),
    "words": Words(min_count=1),
    "lowercase": Words(min_count=1, lowercase=True),
    "bpe": Bpe(size=60),
    "unigram": Unigram(size=60),
    "nfkc": Characters(normalise="nfkc"),
}


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    ("text", "characters", "words"),
    [
        ("ein Hund", [], []),
        ("ein Hundß rennt", [("ß", 8)], [("Hundß", 4)]),
        ("ßein", [("ß", 0)], [("ßein", 0)]),
        ("ein 狗 läuft", [("狗", 4)], [("狗", 4)]),
        ("ein 👍🏽", [("👍🏽", 4)], [("👍🏽", 4)]),
        ("der كلب", [("ك", 4), ("ل", 5), ("ب", 6)], [("كلب", 4)]),
    ],
)
def test_unknown_pieces_stand_where_they_are(
    kind: str, text: str, characters: list[tuple[str, int]], words: list[tuple[str, int]]
) -> None:
    """Word tokenizers lack words, all others characters; some join neighbours, or part a cluster."""
    found = find_unknown(TextModality(KINDS[kind].learn(TEXTS)), text)
    assert all(text[token.start : token.end] == token.text for token in found)
    expected = words if kind in ("words", "lowercase") else characters
    places = sorted({place for token in found for place in range(token.start, token.end)})
    assert places == [place for piece, start in expected for place in range(start, start + len(piece))]
    if kind == "characters":
        assert [(token.text, token.start) for token in found] == characters


def test_decomposed_letters_are_known_as_they_are_composed() -> None:
    modality = TextModality(Characters().learn(TEXTS))
    assert find_unknown(modality, "la\u0308uft") == ()
    (token,) = find_unknown(modality, "lo\u0308uft")  # ö was never there, in either form
    assert (token.text, token.start, token.end) == ("o\u0308", 1, 3)


def test_words_of_documents_have_their_place_in_the_document() -> None:
    modality = Documents(words={"kind": "words", "min_count": 1}).learn(["Good food. Bad service."] * 3)
    text = "Good food. Bad zebra. Awful service."
    assert [(token.text, token.start) for token in find_unknown(modality, text)] == [("zebra", 15), ("Awful", 22)]
    assert [text[token.start : token.end] for token in find_unknown(modality, text)] == ["zebra", "Awful"]
