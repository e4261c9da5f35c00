"""The kinds of tokenizers, and how each learns its vocabulary: characters, words, byte-pair encoding, unigram."""

import json
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Annotated, Literal

from annotated_types import Ge
from tokenizers import Regex, models, normalizers, pre_tokenizers, trainers
from tokenizers import Tokenizer as Backend

from seq2see.core.special_tokens import SPECIAL_TOKENS, UNKNOWN
from seq2see.core.words import CLUSTER, UNSPACED
from seq2see.data.tokenizers import SPACE, Tokenizer

UNKNOWN_MARK = SPECIAL_TOKENS[UNKNOWN]
# what looks like a special token in a text is divided behind its first character, so that no learned piece is one
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


class Characters:
    """One token for each character with its marks (an extended grapheme cluster), so that क्षि is one.

    The tokenizer's file holds the pattern that divides texts, so that older files, whose tokens are code points, stay
    as they are.

    Args:
        min_count: how often a character must occur in the training texts; rarer ones are unknown tokens.
        normalise: the Unicode normal form of all texts: nfc composes letters and accents, nfkc replaces compatibility
            characters too, none changes nothing.
    """

    def __init__(self, *, min_count: Annotated[int, Ge(1)] = 1, normalise: Normalisation = "nfc") -> None:
        self.min_count, self.normalise = min_count, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Learn a vocabulary of all characters that occur often enough.

        Args:
            texts: the raw training texts.
        """
        backend = Backend(models.WordLevel(unk_token=UNKNOWN_MARK))
        backend.normalizer = normalizers.Sequence(_NORMALIZERS[self.normalise])
        backend.pre_tokenizer = pre_tokenizers.Split(Regex(CLUSTER), "isolated")
        return _fill(backend, texts, self.min_count, limit=None)


class Words:
    """One token for each word or punctuation mark.

    Punctuation inside a word stays (man's, black-and-white). In scripts without spaces (Chinese, Japanese, Thai, Lao,
    Khmer, Burmese) each letter is a token.

    Args:
        min_count: how often a word must occur in the training texts; rarer ones are unknown tokens.
        size: the largest number of entries of the vocabulary, special tokens included; the most frequent words are
            kept.
        normalise: the Unicode normal form of all texts: nfc composes letters and accents, nfkc replaces compatibility
            characters too, none changes nothing.
        lowercase: whether all texts are read in lower case; outputs are then in lower case too.
        punctuation: whether punctuation marks are tokens; False removes those that are not inside a word.
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
        """Learn a vocabulary of the most frequent words.

        Args:
            texts: the raw training texts.
        """
        # in scripts without spaces, a letter with the marks above and below it is a word
        word = rf"(?:[{UNSPACED}]\p{{M}}*|[\w&&[^{UNSPACED}]]+|[^\w{SPACE}])"
        words = Regex(rf"{SPACE}?{word}|{SPACE}")
        backend = _begin(models.WordLevel(unk_token=UNKNOWN_MARK), self.normalise, words)
        lower = [normalizers.Lowercase()] if self.lowercase else []
        bare = [] if self.punctuation else [normalizers.Replace(Regex(marks), "") for marks in AROUND_WORDS]
        backend.normalizer = normalizers.Sequence([*lower, *bare, backend.normalizer])
        return _fill(backend, texts, self.min_count, limit=self.size)


class Bpe:
    """Subwords by byte-pair encoding (Sennrich et al. 2016, arXiv:1508.07909).

    The vocabulary begins with all characters; the most frequent pair of neighbouring pieces becomes a new piece, again
    and again.

    Args:
        size: the number of entries of the vocabulary, special tokens included; fewer if the texts have too few pairs.
        normalise: the Unicode normal form of all texts: nfc composes letters and accents, nfkc replaces compatibility
            characters too, none changes nothing.
    """

    def __init__(self, *, size: Annotated[int, Ge(8)] = 8_000, normalise: Normalisation = "nfc") -> None:
        self.size, self.normalise = size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Merge the most frequent neighbours until the vocabulary is full.

        Args:
            texts: the raw training texts.
        """
        backend = _begin(models.BPE(unk_token=UNKNOWN_MARK), self.normalise, Regex(SPECIAL_BEGINS))
        trainer = trainers.BpeTrainer(vocab_size=self.size, special_tokens=list(SPECIAL_TOKENS), show_progress=False)
        backend.train_from_iterator(texts, trainer)
        return Tokenizer(backend)


class Unigram:
    """Subwords by a unigram language model (Kudo 2018, arXiv:1804.10959).

    A text is divided into the pieces x_1 ... x_m with the largest product of their probabilities p(x_i).

    Args:
        size: the number of entries of the vocabulary, special tokens included; more if the texts have more different
            characters.
        normalise: the Unicode normal form of all texts: nfc composes letters and accents, nfkc replaces compatibility
            characters too, none changes nothing.
    """

    def __init__(self, *, size: Annotated[int, Ge(8)] = 8_000, normalise: Normalisation = "nfc") -> None:
        self.size, self.normalise = size, normalise

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Prune a large set of pieces to those that explain the texts best.

        Args:
            texts: the raw training texts.
        """
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
    """Return a backend for texts whose words carry the mark of the space before them, the first one too."""
    backend = Backend(model)
    backend.normalizer = normalizers.Sequence([*_NORMALIZERS[normalise], normalizers.Prepend(SPACE)])
    spaces = pre_tokenizers.Metaspace(replacement=SPACE, prepend_scheme="never")
    backend.pre_tokenizer = pre_tokenizers.Sequence([spaces, pre_tokenizers.Split(split, "isolated")])
    return backend


def _fill(backend: Backend, texts: Iterable[str], min_count: int, *, limit: int | None) -> Tokenizer:
    """Fill a vocabulary with the most frequent pieces; ties by code point, so that the same texts give the same ids."""
    counts: Counter[str] = Counter()
    for text in texts:
        normal = backend.normalizer.normalize_str(text)
        counts.update(piece for piece, _ in backend.pre_tokenizer.pre_tokenize_str(normal))
    ordered = sorted((piece for piece, count in counts.items() if count >= min_count), key=lambda p: (-counts[p], p))
    vocabulary = {piece: number for number, piece in enumerate([*SPECIAL_TOKENS, *ordered][:limit])}
    backend.model = models.WordLevel(vocabulary, unk_token=UNKNOWN_MARK)
    return Tokenizer(backend)


def _round_scores(pieces: Sequence[tuple[str, float]]) -> list[tuple[str, float]]:
    """Round scores so that the same texts give the same ones, although the trainer sums in any order.

    The trainer also lifts the characters that no piece needs 0.0001 apart, in any order; here they get the lowest
    score.
    """
    lowest = min((score for _, score in pieces), default=0.0)
    lifts = {piece: (score - lowest) * 1e4 for piece, score in pieces}
    spare = {piece for piece, lift in lifts.items() if len(piece) == 1 and abs(lift - round(lift)) < 1e-6}
    rounded = [(piece, round(lowest if piece in spare else score, 6)) for piece, score in pieces]
    return sorted(rounded, key=lambda item: (-item[1], item[0]))
