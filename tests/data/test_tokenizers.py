"""Tokenizers: laws over every registered kind, in many scripts."""

import inspect
import json
from typing import Any
from unicodedata import normalize

import pytest

from seq2see.core.errors import TokenError
from seq2see.core.registry import find, names, part
from seq2see.core.special_tokens import END, SPECIAL_TOKENS, UNKNOWN
from seq2see.core.words import find_words
from seq2see.data.tokenizers import Tokenizer
from seq2see.data.trainable_tokenizers import Characters, Words

TEXTS = [
    "",
    " ",
    "a",
    "Hello, world!",
    " leading, trailing ",
    "two  spaces",
    "a\ttab",
    "a\nnew line",
    "no\u00a0break",
    "don't stop-it... (ok) 1,234.56 _x_",
    normalize("NFC", "crème brûlée ñandú Ångström"),
    normalize("NFD", "crème brûlée ñandú Ångström"),
    "e\u0301\u0301 \u0301 q̣̇",
    "Привет, мир! Ёлка",
    "سلام دنیا، می‌خواهم",
    "مَرْحَبًا",
    "नमस्ते दुनिया",
    "สวัสดีชาวโลก น้ำ",
    "你好，世界。",
    "こんにちは　世界ｶﾞ",
    normalize("NFD", "한국어"),
    "👩‍👩‍👧‍👦 family 👍🏽 🇩🇪",
    "▁Sentence ▁Piece▁",
    "</s> x</s>y <pad> <s><unk>",
    "<p>1 < 2</p>",
    "ﬁne ½ Ⅳ",
]
KINDS = [kind for kind in names("tokenizer") if kind not in ("images", "documents", "labels")]  # those that cut texts
SMALL = {"size": 600, "min_count": 1}


def learn(kind: str, texts: list[str], **options: Any) -> Tokenizer:
    """Learn a kind with those options that it has."""
    known = inspect.signature(find("tokenizer", kind)).parameters
    chosen = {name: value for name, value in {**SMALL, **options}.items() if name in known}
    learned: Tokenizer = part("tokenizer", {"kind": kind, **chosen})().learn(texts)
    return learned


@pytest.fixture(scope="module", params=KINDS)
def tokenizer(request: pytest.FixtureRequest) -> Tokenizer:
    return learn(request.param, TEXTS * 3)


@pytest.mark.parametrize("text", TEXTS)
def test_decoding_gives_the_text_back(tokenizer: Tokenizer, text: str) -> None:
    assert tokenizer.decode(tokenizer.encode(text).ids) == normalize("NFC", text)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("form", "option"), [("NFKC", "nfkc"), (None, "none")])
def test_decoding_gives_the_text_back_in_the_chosen_form(kind: str, form: Any, option: str) -> None:
    tokenizer = learn(kind, TEXTS * 3, normalise=option)
    for text in TEXTS:
        assert tokenizer.decode(tokenizer.encode(text).ids) == (normalize(form, text) if form else text)


@pytest.mark.parametrize("text", TEXTS)
def test_offsets_slice_the_raw_text_and_leave_out_only_space(tokenizer: Tokenizer, text: str) -> None:
    *tokens, end = tokenizer.encode(text).tokens
    assert (end.text, end.start, end.end) == ("</s>", len(text), len(text))
    assert [text[token.start : token.end] for token in tokens] == [token.text for token in tokens]
    covered = {place for token in tokens for place in range(token.start, token.end)}
    assert all(character.isspace() for place, character in enumerate(text) if place not in covered)
    assert [token.start for token in tokens] == sorted(token.start for token in tokens)


def test_many_texts_get_the_ids_of_each(tokenizer: Tokenizer) -> None:
    assert tokenizer.ids(TEXTS) == [list(tokenizer.encode(text).ids) for text in TEXTS]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_of_ids_slice_the_decoded_text(tokenizer: Tokenizer, text: str) -> None:
    ids = tokenizer.encode(text).ids
    decoded, tokens = tokenizer.decode(ids), tokenizer.tokens(ids)
    assert len(tokens) == len(ids)
    assert [decoded[t.start : t.end] for t in tokens[:-1]] == [t.text for t in tokens[:-1]]
    assert (tokens[-1].text, tokens[-1].start, tokens[-1].end) == ("</s>", len(decoded), len(decoded))


def test_text_is_never_a_mark(tokenizer: Tokenizer) -> None:
    for text in [*TEXTS, *SPECIAL_TOKENS, "".join(SPECIAL_TOKENS) * 3]:
        *ids, last = tokenizer.encode(text).ids
        assert last == END
        assert min(ids, default=UNKNOWN) >= UNKNOWN


@pytest.mark.parametrize("kind", KINDS)
def test_even_learned_from_marks_text_is_never_a_mark(kind: str) -> None:
    tokenizer = learn(kind, ["x</s>y </s> <pad><unk>"] * 50, size=60)
    *ids, _ = tokenizer.encode("x</s>y </s>").ids
    assert min(ids) > UNKNOWN
    assert tokenizer.decode([*ids, END]) == "x</s>y </s>"
    assert Tokenizer.from_json(tokenizer.to_json()).encode("</s>") == tokenizer.encode("</s>")


@pytest.mark.parametrize("kind", KINDS)
def test_learning_twice_gives_the_same_file(kind: str) -> None:
    first = learn(kind, TEXTS * 3).to_json()
    assert all(learn(kind, TEXTS * 3).to_json() == first for _ in range(3))


def test_a_file_gives_the_tokenizer_back(tokenizer: Tokenizer) -> None:
    again = Tokenizer.from_json(tokenizer.to_json())
    assert len(again) == len(tokenizer)
    assert [again.encode(text) for text in TEXTS] == [tokenizer.encode(text) for text in TEXTS]
    assert again.to_json() == tokenizer.to_json()


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("texts", [[], [""], [" "], ["a"]], ids=str)
def test_hardly_any_text_can_be_learned_from(kind: str, texts: list[str]) -> None:
    tokenizer = learn(kind, texts)
    assert Tokenizer.from_json(tokenizer.to_json()).encode("a b").ids[-1] == END


@pytest.mark.parametrize("kind", KINDS)
def test_a_vocabulary_smaller_than_the_alphabet_can_be_learned(kind: str) -> None:
    tokenizer = learn(kind, TEXTS, size=8)
    assert tokenizer.encode("Hello").ids[-1] == END
    assert len(tokenizer) >= 8


@pytest.mark.parametrize("kind", KINDS)
def test_what_the_vocabulary_does_not_have_is_named(kind: str) -> None:
    tokenizer = learn(kind, ["abc abc cab"] * 5)
    assert tokenizer.unknown("abc") == []
    assert tokenizer.unknown("abc ж") == ["ж"]
    assert UNKNOWN in tokenizer.encode("abc ж").ids
    assert tokenizer.decode(tokenizer.encode("abc ж").ids).rstrip() == "abc"


def test_numbers_of_words_follow_from_how_often_they_occur() -> None:
    tokenizer = learn("words", ["b a b c", "b a"], min_count=2)
    assert len(tokenizer) == len(SPECIAL_TOKENS) + 2  # c occurs once
    assert tokenizer.encode("b a c").ids == (4, 5, UNKNOWN, END)
    assert [token.text for token in tokenizer.encode("b a c").tokens] == ["b", "a", "c", "</s>"]


def test_characters_are_numbered_by_frequency_then_code_point() -> None:
    tokenizer = learn("characters", ["ba", "bc"])
    assert tokenizer.encode("bac").ids == (4, 5, 6, END)


def describe(kind: str) -> dict[str, Any]:
    """A tokenizer file as a tree, to be damaged."""
    description: dict[str, Any] = json.loads(learn(kind, ["hello world"] * 3, size=40).to_json())
    return description


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("damage", ["cut", "no model", "no vocabulary", "no unknown", "other marks", "a list"])
def test_a_damaged_file_is_refused_in_one_line(kind: str, damage: str) -> None:
    tree = describe(kind)
    model = tree["model"]
    if damage == "no model":
        del tree["model"]
    elif damage == "no vocabulary":
        model["vocab"] = []
    elif damage == "no unknown":
        model.update({"unk_id": None} if "unk_id" in model else {"unk_token": "absent"})
    elif damage == "other marks":
        old = model["vocab"]
        swap = {"<s>": "</s>", "</s>": "<s>"}
        renamed = [(swap.get(piece, piece), value) for piece, value in (old.items() if isinstance(old, dict) else old)]
        model["vocab"] = dict(renamed) if isinstance(old, dict) else renamed
    text = json.dumps([tree] if damage == "a list" else tree)
    with pytest.raises(TokenError) as caught:
        Tokenizer.from_json(text[: len(text) // 2] if damage == "cut" else text)
    assert "\n" not in str(caught.value)


def test_a_vocabulary_with_gaps_is_refused() -> None:
    tree = describe("characters")
    tree["model"]["vocab"]["h"] = 1000
    with pytest.raises(TokenError, match="gaps"):
        Tokenizer.from_json(json.dumps(tree))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("我喜欢Python 3，真的", ["我", "喜", "欢", "Python", "3", "，", "真", "的"]),
        ("น้ำดี", ["น้", "ำ", "ดี"]),
        ("यह अच्छा है।", ["यह", "अच्छा", "है", "।"]),
        ("한국어 문장", ["한국어", "문장"]),
    ],
)
def test_words_of_scripts_without_spaces_are_letters(text: str, words: list[str]) -> None:
    encoding = Words(min_count=1).learn([text]).encode(text)
    assert [token.text for token in encoding.tokens[:-1]] == words


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("A dog runs .", "a dog runs"),
        ("a dog, a cat.", "a dog a cat"),
        ('"Hello" (he said)...', "hello he said"),
        ("the man's black-and-white T-shirt!", "the man's black-and-white t-shirt"),
        ("一只狗在跑。", "一只狗在跑"),
        ("狗在跑，猫（白）在睡。", "狗在跑猫白在睡"),
        ("कुत्ता दौड़ता है ।", "कुत्ता दौड़ता है"),
        ("...", ""),
    ],
)
def test_words_without_punctuation(text: str, kept: str) -> None:
    words = Words(min_count=1, lowercase=True, punctuation=False).learn([text])
    assert words.decode(list(words.encode(text).ids)) == kept


CLUSTERS = ["क्षि", "स्त्री", "ক্ষ", "ശ്ര", "ಕ್ಷ", "ශ්‍රී", "ខ្មែ", "กำ", "שָׁ", "e\u0301", "👨‍👩‍👧", "🇩🇪", "한"]


@pytest.mark.parametrize("cluster", CLUSTERS)
def test_a_character_is_not_cut_from_its_marks(cluster: str) -> None:
    text = f"{cluster}a {cluster}{cluster}."
    tokenizer = Characters(normalise="none").learn([text])
    encoding = tokenizer.encode(text)
    assert [token.text for token in encoding.tokens[:-1]] == [cluster, "a", " ", cluster, cluster, "."]
    assert all(text[token.start : token.end] == token.text for token in encoding.tokens[:-1])
    assert tokenizer.decode(encoding.ids) == text
    assert [token.text for token in tokenizer.tokens(encoding.ids)[:-1]] == [t.text for t in encoding.tokens[:-1]]
    assert [text[start:end] for start, end in find_words(text, "characters")] == [cluster, "a", cluster, cluster, "."]
    again = Tokenizer.from_json(tokenizer.to_json())
    assert again.encode(text) == encoding


def test_consonants_that_nothing_joins_are_two_characters() -> None:
    texts = ["क\u094d\u200cष", "க்ஷ", "नम"]  # a ZWNJ, a script without conjuncts, no virama
    assert [len(find_words(text, "characters")) for text in texts] == [2, 2, 2]
    assert [len(Characters().learn(texts).encode(text).ids) for text in texts] == [3, 3, 3]


def test_a_file_with_the_pattern_of_code_points_stays_as_it_was() -> None:
    text = "क्षि é"
    older = json.loads(Characters().learn(list(text)).to_json())
    older["pre_tokenizer"]["pattern"] = {"Regex": r"[\s\S]"}
    tokenizer = Tokenizer.from_json(json.dumps(older))
    assert [token.text for token in tokenizer.encode(text).tokens[:-1]] == list(text)
    assert len(tokenizer.unknown(text)) == 0
    assert tokenizer.decode(tokenizer.encode(text).ids) == text
