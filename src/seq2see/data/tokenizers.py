"""Tokenizers with a learned vocabulary: raw text to ids with character offsets, and ids back to raw text.

All are built on Hugging Face's tokenizers; `trainable_tokenizers` has the kinds. A word that begins after a space
carries a mark of its own, so that the spacing of the output comes from the model and nothing has to be inferred.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING
from unicodedata import normalize

from tokenizers import Tokenizer as Backend

from seq2see.core.errors import TokenError
from seq2see.core.registry import shorten
from seq2see.core.special_tokens import END, SPECIAL_TOKENS, UNKNOWN
from seq2see.core.token import Token
from seq2see.data.modalities.target import TextTarget
from seq2see.data.tokenizer_file import read_tokenizer_tree

if TYPE_CHECKING:
    from seq2see.data.storage.packed import Sequences

SPACE = "\ufdd0"  # a noncharacter, which Unicode keeps for uses such as this one: no text has it, as some have ▁


@dataclass(frozen=True)
class Encoding:
    """A text as ids with the end mark last, and as tokens with their places in the text.

    Args:
        ids: the ids, the end mark included.
        tokens: the token of each id, with offsets into the raw text.
    """

    ids: tuple[int, ...]
    tokens: tuple[Token, ...]


class Tokenizer(TextTarget):
    """A learned vocabulary, and what divides texts into its pieces; one class for every kind.

    Args:
        backend: a tokenizer of Hugging Face's library whose first ids are those of `SPECIAL_TOKENS`. It is changed to
            read the name of a special token in a text as characters.
    """

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self._backend.encode_special_tokens = True  # "</s>" in a text is four characters, not the end mark

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
        """Return the share of tokens that the vocabulary does not have, from 0 to 1; end marks do not count.

        Args:
            targets: the ids of texts, each with the end mark last.
        """
        return targets.count(UNKNOWN) / max(len(targets.ids) - len(targets), 1)

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Return the ids of many texts, each with the end mark last.

        Args:
            texts: raw texts.
        """
        with explaining_failures("the tokenizer cannot read these texts"):
            return [[*encoding.ids, END] for encoding in self._backend.encode_batch_fast(list(texts))]

    def encode(self, text: str) -> Encoding:
        """Return the ids of one text, the end mark last, with offsets into the text.

        Args:
            text: a raw text.
        """
        with explaining_failures("the tokenizer cannot read this text"):
            encoded = self._backend.encode(text)
        spans = list(encoded.offsets)
        if encoded.tokens[:1] == [SPACE]:
            spans[0] = (0, 0)  # the mark put before the first word is no character of the text
        # what normalisation joined (a letter and its accent) belongs to the token before the gap
        nexts = [*(start for start, _ in spans), len(text)][1:]
        rows = zip(spans, nexts, encoded.ids, strict=True)
        tokens = [_trim(text, start, max(end, after), unknown=i == UNKNOWN) for (start, end), after, i in rows]
        return Encoding((*encoded.ids, END), (*tokens, Token(SPECIAL_TOKENS[END], len(text), len(text))))

    def decode(self, ids: Sequence[int], *, unknown: Sequence[str] = ()) -> str:
        """Return the raw text of ids, in which special tokens have no text.

        Args:
            ids: ids of this vocabulary, with or without the end mark.
            unknown: texts that replace the unknown tokens, in their order; an unknown token without one has no text.
        """
        return "".join(self._pieces(ids, unknown))

    def tokens(
        self, ids: Sequence[int], *, unknown: Sequence[str] = (), confidences: Sequence[float | None] = ()
    ) -> tuple[Token, ...]:
        """Return the tokens of ids, with offsets into `decode(ids)`.

        Args:
            ids: ids of this vocabulary, with or without the end mark.
            unknown: texts that replace the unknown tokens, in their order, as in `decode`.
            confidences: a model's probability of each token, None for one that has none; empty if no token has one.
        """
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
        """The text of each id, with the mark of the space before a word; special tokens have no text."""
        known = [str(self._backend.id_to_token(number) or "") for number in range(len(self))]
        return ["" if number < len(SPECIAL_TOKENS) else piece for number, piece in enumerate(known)]

    @property
    def marks_spaces(self) -> bool:
        """Whether a word carries the mark of the space before it; else a space is a token like others."""
        return self._normalise("a").startswith(SPACE)

    def spell(self, word: str) -> set[str]:
        """Return the forms of a word in text: with a space before it and without, normalised, composed and as given.

        Args:
            word: a word or phrase of raw text.
        """
        normal = self._normalise(word).removeprefix(SPACE)
        typed = {normal, normalize("NFC", word), word}
        if not self.marks_spaces:
            return typed
        marked = {form.replace(" ", SPACE) for form in typed}
        return {start + form for start in ("", SPACE) for form in marked}

    def unknown(self, text: str) -> list[str]:
        """Return the pieces of a text that the vocabulary does not have.

        Args:
            text: a raw text.
        """
        return [token.text for token in self.encode(text).tokens if token.unknown]

    def to_json(self) -> str:
        """Return the tokenizer as JSON, from which `from_json` makes it again."""
        return str(self._backend.to_str(pretty=True))

    @classmethod
    def from_json(cls, text: str) -> "Tokenizer":
        """Return the tokenizer that `to_json` described.

        Args:
            text: the content of a tokenizer file.

        Raises:
            TokenError: it is no tokenizer file, or its first ids are not those of the special tokens.
        """
        tree = read_tokenizer_tree(text)
        with explaining_failures("this is not a tokenizer file"):
            backend = Backend.from_str(json.dumps(tree))  # what was checked, however the library reads the text
            backend.encode("\U0010fffd")  # a character that no vocabulary has: there must be an unknown token
        return cls(backend)

    def _normalise(self, text: str) -> str:
        normalizer = self._backend.normalizer  # a plug-in's tokenizer may have none
        return text if normalizer is None else str(normalizer.normalize_str(text))

    def _pieces(self, ids: Sequence[int], unknown: Sequence[str] = ()) -> list[str]:
        """Return the text that each id adds, without the mark before the first word."""
        pieces = [self.pieces[number] for number in ids]
        places = (place for place, number in enumerate(ids) if number == UNKNOWN)
        for place, text in zip(places, unknown, strict=False):
            pieces[place] = text.replace(" ", SPACE)
        first = next((place for place, piece in enumerate(pieces) if piece), 0)
        pieces[first : first + 1] = [piece.removeprefix(SPACE) for piece in pieces[first : first + 1]]
        return [piece.replace(SPACE, " ") for piece in pieces]


def _trim(text: str, start: int, end: int, confidence: float | None = None, *, unknown: bool = False) -> Token:
    """Return a token without the space before it; a token of spaces alone stays as it is."""
    piece = text[start:end]
    skipped = len(piece) - len(piece.lstrip())
    if 0 < skipped < len(piece):
        start += skipped
    return Token(text[start:end], start, end, confidence, unknown)


@contextmanager
def explaining_failures(rule: str) -> Iterator[None]:
    """Turn whatever the tokenizers library raises into a TokenError, for the code inside a `with`.

    Its panics are no `Exception`, so that `except Exception` would let them end a server.

    Args:
        rule: the beginning of the message.
    """
    try:
        yield
    except (KeyboardInterrupt, SystemExit, GeneratorExit, TokenError):
        raise
    except BaseException as error:
        reason = shorten(" ".join(str(error).split()))[1:-1]
        raise TokenError(f"{rule}: {reason or type(error).__name__}.") from error
