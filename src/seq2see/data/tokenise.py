"""Tokenizers: raw text to ids with character offsets, and ids back to raw text.

All kinds stand on Hugging Face's tokenizers and differ in how they are learned. A word that begins after a space
carries a mark of its own, so that the spacing of the output comes from the model and nothing has to be guessed.
"""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Annotated, Any, Literal

from annotated_types import Ge
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from seq2see.core.errors import TokenError
from seq2see.core.token import Token

PAD, START, END, UNKNOWN = range(4)
MARKS = ("<pad>", "<s>", "</s>", "<unk>")
SPACE = "\ufdd0"  # a noncharacter, which Unicode keeps for uses such as this one: no text has it, as some have ▁

Normalisation = Literal["none", "nfc", "nfkc"]
_NORMALIZERS: dict[Normalisation, list[Any]] = {
    "none": [],
    "nfc": [normalizers.NFC()],
    "nfkc": [normalizers.NFKC()],
}


@dataclass(frozen=True)
class Encoding:
    """A text as ids, the end mark last, with the tokens as people see them."""

    ids: tuple[int, ...]
    tokens: tuple[Token, ...]


class Tokenizer:
    """A learned vocabulary; the same for every kind."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._backend.encode_special_tokens = True  # "</s>" in somebody's text is four characters, not the end mark

    def __len__(self) -> int:
        return int(self._backend.get_vocab_size())

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of many texts, each with the end mark last."""
        return [[*encoding.ids, END] for encoding in self._backend.encode_batch_fast(list(texts))]

    def encode(self, text: str) -> Encoding:
        """The ids of one text with offsets into it."""
        encoded = self._backend.encode(text)
        spans = list(encoded.offsets)
        if encoded.tokens[:1] == [SPACE]:
            spans[0] = (0, 0)  # the mark put before the first word stands for no character of the text
        # what normalisation joined (a letter and its accent) belongs to the token before the gap
        nexts = [*(start for start, _ in spans), len(text)][1:]
        tokens = [_trim(text, start, max(end, after)) for (start, end), after in zip(spans, nexts, strict=True)]
        return Encoding((*encoded.ids, END), (*tokens, Token(MARKS[END], len(text), len(text))))

    def decode(self, ids: Sequence[int]) -> str:
        """The raw text of ids; marks are left out."""
        return "".join(self._pieces(ids))

    def tokens(self, ids: Sequence[int]) -> tuple[Token, ...]:
        """The tokens of ids with offsets into `decode(ids)`."""
        pieces = self._pieces(ids)
        text, ends = "".join(pieces), list(accumulate(map(len, pieces)))
        spans = zip(pieces, ends, ids, strict=True)
        return tuple(
            Token(MARKS[number], end, end) if number < len(MARKS) else _trim(text, end - len(piece), end)
            for piece, end, number in spans
        )

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
            vocabulary = _vocabulary(json.loads(text))
            backend = Backend.from_str(text)
        except Exception as error:  # the library raises bare Exceptions
            raise TokenError(f"not a tokenizer file: {' '.join(str(error).split())}") from error
        if sorted(vocabulary.values()) != list(range(len(vocabulary))):
            raise TokenError("the ids of a vocabulary must be 0, 1, 2 and so on; got gaps or repetitions.")
        marks = sorted(MARKS, key=lambda mark: vocabulary.get(mark, len(vocabulary)))
        if [vocabulary.get(mark) for mark in MARKS] != [PAD, START, END, UNKNOWN]:
            raise TokenError(f"a vocabulary of ours starts with {', '.join(MARKS)}; got {', '.join(marks)}.")
        return cls(backend)

    def _pieces(self, ids: Sequence[int]) -> list[str]:
        """The text each id adds; the mark put before the first word is no text."""
        pieces = ["" if number < len(MARKS) else str(self._backend.id_to_token(number)) for number in ids]
        first = next((place for place, piece in enumerate(pieces) if piece), 0)
        pieces[first : first + 1] = [piece.removeprefix(SPACE) for piece in pieces[first : first + 1]]
        return [piece.replace(SPACE, " ") for piece in pieces]


class Characters:
    """One token a character."""

    def __init__(self, *, min_count: Annotated[int, Ge(1)] = 1, normalise: Normalisation = "nfc") -> None:
        self.min_count, self.normalise = min_count, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """All characters that occur often enough."""
        backend = _begin(models.WordLevel, self.normalise, pre_tokenizers.Split(Regex(r"[\s\S]"), "isolated"))
        counts = _count(backend, texts)
        return _finish(backend, counts, self.min_count, decoders.Fuse(), limit=None)


class Words:
    """One token a word or punctuation mark."""

    def __init__(
        self,
        *,
        min_count: Annotated[int, Ge(1)] = 2,
        size: Annotated[int, Ge(8)] = 50_000,
        normalise: Normalisation = "nfc",
    ) -> None:
        self.min_count, self.size, self.normalise = min_count, size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """The most frequent words."""
        split = pre_tokenizers.Split(Regex(rf"{SPACE}?\w+|{SPACE}?[^\w{SPACE}]|{SPACE}"), "isolated")
        backend = _begin(models.WordLevel, self.normalise, pre_tokenizers.Sequence([_metaspace(), split]))
        counts = _count(backend, texts)
        return _finish(backend, counts, self.min_count, _metaspace_decoder(), limit=self.size)


class Bpe:
    """Subwords by byte-pair encoding (Sennrich et al. 2016)."""

    def __init__(self, *, size: Annotated[int, Ge(8)] = 8_000, normalise: Normalisation = "nfc") -> None:
        self.size, self.normalise = size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Merge the most frequent neighbours until the vocabulary is full."""
        backend = _begin(models.BPE, self.normalise, _metaspace())
        trainer = trainers.BpeTrainer(vocab_size=self.size, special_tokens=list(MARKS), show_progress=False)
        backend.train_from_iterator(texts, trainer)
        backend.decoder = _metaspace_decoder()
        return Tokenizer(backend)


class Unigram:
    """Subwords by a unigram language model (Kudo 2018)."""

    def __init__(self, *, size: Annotated[int, Ge(8)] = 8_000, normalise: Normalisation = "nfc") -> None:
        self.size, self.normalise = size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Prune a large set of pieces to those that explain the texts best."""
        backend = Backend(models.Unigram())
        _configure(backend, self.normalise, _metaspace())
        trainer = trainers.UnigramTrainer(
            vocab_size=self.size, special_tokens=list(MARKS), unk_token=MARKS[UNKNOWN], show_progress=False
        )
        backend.train_from_iterator(texts, trainer)
        backend.decoder = _metaspace_decoder()
        return Tokenizer(backend)


def _begin(model: Any, normalise: Normalisation, pre_tokenizer: Any) -> Backend:
    backend = Backend(model(unk_token=MARKS[UNKNOWN]))
    _configure(backend, normalise, pre_tokenizer)
    return backend


def _configure(backend: Backend, normalise: Normalisation, pre_tokenizer: Any) -> None:
    if normalise != "none":
        backend.normalizer = _NORMALIZERS[normalise]
    backend.pre_tokenizer = pre_tokenizer


def _metaspace() -> Any:
    return pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="always")


def _metaspace_decoder() -> Any:
    return decoders.Metaspace(replacement=SPACE, prepend_scheme="always")


def _count(backend: Backend, texts: Iterable[str]) -> Counter[str]:
    counts: Counter[str] = Counter()
    for text in texts:
        normal = backend.normalizer.normalize_str(text) if backend.normalizer else text
        counts.update(piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(normal))
    return counts


def _finish(backend: Backend, counts: Counter[str], min_count: int, decoder: Any, *, limit: int | None) -> Tokenizer:
    room = None if limit is None else max(limit - len(MARKS), 0)
    # frequent first, then by code point: the same texts give the same ids
    ordered = sorted((piece for piece, count in counts.items() if count >= min_count), key=lambda p: (-counts[p], p))
    vocabulary = {piece: number for number, piece in enumerate([*MARKS, *ordered[:room]])}
    backend.model = models.WordLevel(vocabulary, unk_token=MARKS[UNKNOWN])
    backend.decoder = decoder
    return Tokenizer(backend)


def _shield(ids: list[int]) -> list[int]:
    """Unigram finds marks in raw text as pieces of its own; text can never be a mark."""
    return [max(number, UNKNOWN) for number in ids]


def _trim(text: str, start: int, end: int) -> Token:
    """The token without the space it begins after; a token of nothing but space stays."""
    piece = text[start:end]
    skipped = len(piece) - len(piece.lstrip())
    if 0 < skipped < len(piece):
        start += skipped
    return Token(text[start:end], start, end)


def _vocabulary(description: dict[str, Any]) -> dict[str, int]:
    vocabulary = description["model"]["vocab"]
    if isinstance(vocabulary, dict):
        return vocabulary
    return {piece: number for number, (piece, _) in enumerate(vocabulary)}  # unigram: a list with scores
