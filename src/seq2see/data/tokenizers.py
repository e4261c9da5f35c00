"""Tokenizers: raw text to ids with character offsets, and ids back to raw text.

All kinds are built on Hugging Face's tokenizers and differ in how they are learned. A word that begins after a space
carries a mark of its own, so that the spacing of the output comes from the model and nothing has to be inferred.
"""

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, Annotated, Literal
from unicodedata import normalize

from annotated_types import Ge
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from seq2see.core.errors import TokenError
from seq2see.core.special_tokens import END, SPECIAL_TOKENS, UNKNOWN
from seq2see.core.token import Token
from seq2see.core.words import UNSPACED
from seq2see.data.modalities.modality import TextTarget

if TYPE_CHECKING:
    from seq2see.data.storage.packed import Sequences

UNKNOWN_MARK = SPECIAL_TOKENS[UNKNOWN]
SPACE = "\ufdd0"  # a noncharacter, which Unicode keeps for uses such as this one: no text has it, as some have ▁
# what looks like a mark in somebody's text is cut behind its first character, so that no learned piece is ever a mark
SPECIAL_BEGINS = f"<(?={'|'.join(mark[1:] for mark in SPECIAL_TOKENS)})"
# punctuation that is not inside a word: what comes before no letter, with the space before it, what opens a word, and
# what is beside a letter that is a word
AROUND_WORDS = (r"\s*\p{P}+(?!\w)", r"(?<!\w)\p{P}+(?=\w)", rf"(?<=[{UNSPACED}])\p{{P}}+|\p{{P}}+(?=[{UNSPACED}])")

Normalisation = Literal["none", "nfc", "nfkc"]
_NORMALIZERS: dict[Normalisation, list[normalizers.Normalizer]] = {
    "none": [],
    "nfc": [normalizers.NFC()],
    "nfkc": [normalizers.NFKC()],
}


@dataclass(frozen=True)
class Encoding:
    """A text as ids, the end mark last, with the tokens as people see them."""

    ids: tuple[int, ...]
    tokens: tuple[Token, ...]


class Tokenizer(TextTarget):
    """A learned vocabulary; the same for every kind."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._backend.encode_special_tokens = True  # "</s>" in somebody's text is four characters, not the end mark

    @property
    def tokenizer(self) -> "Tokenizer":
        """The tokenizer of a target is this one."""
        return self

    def __len__(self) -> int:
        return int(self._backend.get_vocab_size())

    @cached_property
    def vocabulary(self) -> Mapping[str, int]:
        """The id of every piece."""
        return dict(self._backend.get_vocab())

    def unknown_share(self, targets: "Sequences") -> float:
        """The share of tokens, end marks aside, that the vocabulary does not have."""
        return targets.count(UNKNOWN) / max(len(targets.ids) - len(targets), 1)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, each with the end mark last."""
        return [[*encoding.ids, END] for encoding in self._backend.encode_batch_fast(list(texts))]

    def encode(self, text: str) -> Encoding:
        """The ids of one text with offsets into it."""
        encoded = self._backend.encode(text)
        spans = list(encoded.offsets)
        if encoded.tokens[:1] == [SPACE]:
            spans[0] = (0, 0)  # the mark put before the first word is no character of the text
        # what normalisation joined (a letter and its accent) belongs to the token before the gap
        nexts = [*(start for start, _ in spans), len(text)][1:]
        tokens = [_trim(text, start, max(end, after)) for (start, end), after in zip(spans, nexts, strict=True)]
        return Encoding((*encoded.ids, END), (*tokens, Token(SPECIAL_TOKENS[END], len(text), len(text))))

    def decode(self, ids: Sequence[int], *, unknown: Sequence[str] = ()) -> str:
        """The raw text of ids; marks are left out, but the unknown ones stand for the texts that are given for them."""
        return "".join(self._pieces(ids, unknown))

    def tokens(
        self, ids: Sequence[int], *, unknown: Sequence[str] = (), confidences: Sequence[float | None] = ()
    ) -> tuple[Token, ...]:
        """The tokens of ids with offsets into `decode(ids)`, and with how sure a model was of each, if it is given."""
        pieces = self._pieces(ids, unknown)
        text, ends = "".join(pieces), accumulate(map(len, pieces))
        rows = zip(pieces, ends, ids, confidences or [None] * len(ids), strict=True)
        return tuple(
            Token(SPECIAL_TOKENS[number], end, end, sure)
            if number < len(SPECIAL_TOKENS) and not piece
            else _trim(text, end - len(piece), end, sure)
            for piece, end, number, sure in rows
        )

    @cached_property
    def pieces(self) -> list[str]:
        """What each id stands for in a text, with the marks of spaces; other marks stand for nothing."""
        known = [str(self._backend.id_to_token(number) or "") for number in range(len(self))]
        return ["" if number < len(SPECIAL_TOKENS) else piece for number, piece in enumerate(known)]

    @property
    def marks_spaces(self) -> bool:
        """Whether a word carries the mark of the space before it; else a space is a token like others."""
        return str(self._backend.normalizer.normalize_str("a")).startswith(SPACE)

    def spell(self, word: str) -> set[str]:
        """A word as pieces spell it: with a space before it and without, composed and as it was typed."""
        normal = str(self._backend.normalizer.normalize_str(word)).removeprefix(SPACE)
        typed = {normal, normalize("NFC", word), word}
        if not self.marks_spaces:
            return typed
        marked = {form.replace(" ", SPACE) for form in typed}
        return {start + form for start in ("", SPACE) for form in marked}

    def unknown(self, text: str) -> list[str]:
        """The pieces of a text that the vocabulary does not have."""
        encoding = self.encode(text)
        return [token.text for number, token in zip(encoding.ids, encoding.tokens, strict=True) if number == UNKNOWN]

    def to_json(self) -> str:
        """Everything needed to make this tokenizer again."""
        return str(self._backend.to_str(pretty=True))

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """The tokenizer that `to_json` described."""
        try:
            vocabulary = _vocabulary(text)
            backend = Backend.from_str(text)
            backend.encode("\U0010fffd")  # a character nobody has: what is unknown must be provided for
        except Exception as error:  # the library raises bare Exceptions
            raise TokenError(f"this is not a tokenizer file: {' '.join(str(error).split())}.") from error
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise TokenError("the ids of a vocabulary must be 0, 1, 2 and so on; got gaps or repetitions.")
        first = sorted(vocabulary, key=lambda piece: vocabulary[piece])[: len(SPECIAL_TOKENS)]
        if tuple(first) != SPECIAL_TOKENS:
            raise TokenError(
                f"a vocabulary must start with {', '.join(SPECIAL_TOKENS)}; got {', '.join(map(repr, first))}."
            )
        return cls(backend)

    def _pieces(self, ids: Sequence[int], unknown: Sequence[str] = ()) -> list[str]:
        """The text each id adds; the mark put before the first word is no text."""
        pieces = [self.pieces[number] for number in ids]
        places = (place for place, number in enumerate(ids) if number == UNKNOWN)
        for place, text in zip(places, unknown, strict=False):
            pieces[place] = text.replace(" ", SPACE)
        first = next((place for place, piece in enumerate(pieces) if piece), 0)
        pieces[first : first + 1] = [piece.removeprefix(SPACE) for piece in pieces[first : first + 1]]
        return [piece.replace(SPACE, " ") for piece in pieces]


class Characters:
    """One token a character."""

    def __init__(self, *, min_count: Annotated[int, Ge(1)] = 1, normalise: Normalisation = "nfc") -> None:
        self.min_count, self.normalise = min_count, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """All characters that occur often enough."""
        backend = Backend(models.WordLevel(unk_token=UNKNOWN_MARK))
        backend.normalizer = normalizers.Sequence(_NORMALIZERS[self.normalise])
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated")
        return _fill(backend, texts, self.min_count, limit=None)


class Words:
    """One token a word or punctuation mark; in lower case or without punctuation, if it need not be written again.

    Punctuation inside a word stays (man's, black-and-white). Of scripts without spaces (Chinese, Japanese, Thai, Lao,
    Khmer, Burmese) it is one token a letter.
    """

    def __init__(
        self,
        *,
        min_count: Annotated[int, Ge(1)] = 2,
        size: Annotated[int, Ge(8)] = 50_000,
        normalise: Normalisation = "nfc",
        lowercase: bool = False,
        punctuation: bool = True,
    ) -> None:
        self.min_count, self.size, self.normalise = min_count, size, normalise
        self.lowercase, self.punctuation = lowercase, punctuation

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """The most frequent words."""
        # where nobody writes spaces, a letter with the marks above and below it is a word
        word = rf"(?:[{UNSPACED}]\p{{M}}*|[\w&&[^{UNSPACED}]]+|[^\w{SPACE}])"
        words = Regex(rf"{SPACE}?{word}|{SPACE}")
        backend = _begin(models.WordLevel(unk_token=UNKNOWN_MARK), self.normalise, words)
        lower = [normalizers.Lowercase()] if self.lowercase else []
        bare = [] if self.punctuation else [normalizers.Replace(Regex(marks), "") for marks in AROUND_WORDS]
        backend.normalizer = normalizers.Sequence([*lower, *bare, backend.normalizer])
        return _fill(backend, texts, self.min_count, limit=self.size)


class Bpe:
    """Subwords by byte-pair encoding (Sennrich et al. 2016)."""

    def __init__(self, *, size: Annotated[int, Ge(8)] = 8_000, normalise: Normalisation = "nfc") -> None:
        self.size, self.normalise = size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Merge the most frequent neighbours until the vocabulary is full."""
        backend = _begin(models.BPE(unk_token=UNKNOWN_MARK), self.normalise, Regex(SPECIAL_BEGINS))
        trainer = trainers.BpeTrainer(vocab_size=self.size, special_tokens=list(SPECIAL_TOKENS), show_progress=False)
        backend.train_from_iterator(texts, trainer)
        return Tokenizer(backend)


class Unigram:
    """Subwords by a unigram language model (Kudo 2018)."""

    def __init__(self, *, size: Annotated[int, Ge(8)] = 8_000, normalise: Normalisation = "nfc") -> None:
        self.size, self.normalise = size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Prune a large set of pieces to those that explain the texts best."""
        backend = _begin(models.Unigram(), self.normalise, Regex(SPECIAL_BEGINS))
        texts = list(texts)
        letters = {letter for text in texts for letter in backend.normalizer.normalize_str(text)}
        size = max(self.size, len(letters) + len(SPECIAL_TOKENS))  # the trainer refuses to leave out a character
        trainer = trainers.UnigramTrainer(
            vocab_size=size, special_tokens=list(SPECIAL_TOKENS), unk_token=UNKNOWN_MARK, show_progress=False
        )
        backend.train_from_iterator(texts, trainer)
        vocabulary = json.loads(backend.to_str())["model"]["vocab"]
        pieces = [(piece, score) for piece, score in vocabulary if piece not in SPECIAL_TOKENS]
        backend.model = models.Unigram([*((mark, 0.0) for mark in SPECIAL_TOKENS), *_round_scores(pieces)], UNKNOWN)
        return Tokenizer(backend)


def _begin(model: models.Model, normalise: Normalisation, split: Regex) -> Backend:
    """A backend for text whose words carry the mark of the space before them, the first one too."""
    backend = Backend(model)
    backend.normalizer = normalizers.Sequence([*_NORMALIZERS[normalise], normalizers.Prepend(SPACE)])
    spaces = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="never")
    backend.pre_tokenizer = pre_tokenizers.Sequence([spaces, pre_tokenizers.Split(split, "isolated")])
    return backend


def _fill(backend: Backend, texts: Iterable[str], min_count: int, *, limit: int | None) -> Tokenizer:
    """The most frequent pieces as vocabulary; ties by code point, so that the same texts give the same ids."""
    counts: Counter[str] = Counter()
    for text in texts:
        normal = backend.normalizer.normalize_str(text)
        counts.update(piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(normal))
    ordered = sorted((piece for piece, count in counts.items() if count >= min_count), key=lambda p: (-counts[p], p))
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL_TOKENS, *ordered][:limit])}
    backend.model = models.WordLevel(vocabulary, unk_token=UNKNOWN_MARK)
    return Tokenizer(backend)


def _round_scores(pieces: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """The same texts give the same scores, although the trainer sums in any order.

    It also lifts the characters that no piece needs 0.0001 apart, in any order: they get the lowest score.
    """
    lowest = min((score for _, score in pieces), default=0.0)
    lifts = {piece: (score - lowest) * 1e4 for piece, score in pieces}
    spare = {piece for piece, lift in lifts.items() if len(piece) == 1 and abs(lift - round(lift)) < 1e-6}
    rounded = [(piece, round(lowest if piece in spare else score, 6)) for piece, score in pieces]
    return sorted(rounded, key=lambda item: (-item[1], item[0]))


def _trim(text: str, start: int, end: int, confidence: float | None = None) -> Token:
    """The token without the space it begins after; a token of nothing but space stays."""
    piece = text[start:end]
    skipped = len(piece) - len(piece.lstrip())
    if 0 < skipped < len(piece):
        start += skipped
    return Token(text[start:end], start, end, confidence)


def _vocabulary(file: str) -> dict[str, int]:
    vocabulary: dict[str, int] | list[tuple[str, float]] = json.loads(file)["model"]["vocab"]
    if isinstance(vocabulary, dict):
        return vocabulary
    return {piece: number for number, (piece, _) in enumerate(vocabulary)}  # unigram: a list with scores
