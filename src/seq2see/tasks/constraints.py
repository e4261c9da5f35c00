"""Constraints on outputs: rules and prefixes as people write them, turned into the limits of a search."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

from seq2see.core.errors import SearchError, TokenError
from seq2see.core.registry import shorten
from seq2see.core.special_tokens import END, PAD, START, UNKNOWN
from seq2see.data.tokenizers import SPACE, Tokenizer
from seq2see.search.hypothesis import Limits, SearchObserver
from seq2see.search.observers import RenumberedObserver
from seq2see.search.rules import NewWord, Rule, Rules, pack_prefixes
from seq2see.tasks.decode_start import DecodeStart

Prefix = str | tuple[int, ...]  # what an output begins with, as text or as ids


@dataclass(frozen=True)
class Constraints:
    """Holds rules and prefixes over a target vocabulary.

    Args:
        target: the tokenizer of the target.
        rules: the rules that every output obeys.
        prefixes: what each output begins with, one for each source of all batches; empty if no output has a prefix.
        unknown: whether outputs may contain the unknown token.
        observer: is told of every step of the search; None for no observer.
    """

    target: Tokenizer
    rules: Rules
    prefixes: Sequence[Prefix] = ()
    unknown: bool = False
    observer: SearchObserver | None = None

    def limit(self, rows: Sequence[int], start: DecodeStart) -> Limits:
        """Return the limits of the search for one batch.

        Args:
            rows: the rows of the batch's sources among all sources.
            start: the start of decoding for these sources, with the longest output of each.

        Raises:
            SearchError: if a prefix is longer than the longest output that the rules permit.
            TokenError: if a prefix has tokens that outputs cannot have.
        """
        banned = (PAD, START) if self.unknown else (PAD, START, UNKNOWN)
        heads = [self._heads[row] for row in rows] if self.prefixes else []
        lengths = torch.tensor([len(head) for head, _ in heads] or 0)
        rules = [*self._rules, self._begin_words(heads)] if any(cut for _, cut in heads) else self._rules
        return Limits(
            START,
            END,
            longest=self._longest(start.longest, lengths),
            banned=banned,
            rules=rules,
            prefixes=pack_prefixes([head for head, _ in heads]) if any(head for head, _ in heads) else None,
            coverage=start.coverage,
            observer=None if self.observer is None else RenumberedObserver(self.observer, rows),
        )

    def _longest(self, usual: Int[Tensor, " b"], prefix: Int[Tensor, "*b"]) -> Int[Tensor, " b"]:
        """Return the longest output of each source; the tokens of a prefix are added to the usual length."""
        if self.rules.max_length is not None:
            return torch.full_like(usual, self.rules.max_length)
        return (usual + prefix).clamp(min=self.rules.min_length + 1)

    @cached_property
    def _rules(self) -> list[Rule]:
        return self.rules.build(end=END, pieces=self.target.pieces, spell=self.target.spell)

    def _begin_words(self, heads: Sequence[tuple[list[int], bool]]) -> NewWord:
        begins = [piece.startswith(SPACE) or number == END for number, piece in enumerate(self.target.pieces)]
        return NewWord(torch.tensor([len(head) if cut else -1 for head, cut in heads]), torch.tensor(begins))

    @cached_property
    def _heads(self) -> list[tuple[list[int], bool]]:
        """Return the tokens of each prefix, and whether a new word must begin after them."""
        heads = [self._cut(text) for text in self.prefixes]
        longest = self.rules.max_length
        for (head, _), text in zip(heads, self.prefixes, strict=True):
            if longest is not None and len(head) > longest:
                raise SearchError(
                    f"a prefix must fit into max_length; got {len(head)} tokens ({shorten(text)}) for {longest}; "
                    "shorten it or raise max_length."
                )
        return heads

    def _cut(self, text: Prefix) -> tuple[list[int], bool]:
        """Return the tokens of one prefix; a space at its end is the mark of the word that follows, not a token."""
        if isinstance(text, tuple):
            return self._check(text), False
        if not text.strip():
            return [], False
        ended = self.target.marks_spaces and text.endswith(" ")
        if self.target.marks_spaces:  # the first word has its mark without a space
            text = text.lstrip().removesuffix(" ")
        unknown = self.target.unknown(text)
        if unknown:
            raise TokenError(
                f"a prefix must have known tokens only; got {shorten(unknown[0])} in {shorten(text)}; change it."
            )
        return self.target.ids([text])[0][:-1], ended

    def _check(self, ids: tuple[int, ...]) -> list[int]:
        """Return ids that an output may begin with: only its last may be the end mark."""
        for place, number in enumerate(ids, 1):
            if not END <= number < len(self.target) or (number == END and place < len(ids)):
                raise TokenError(
                    f"the ids of a prefix must be tokens from {UNKNOWN} to {len(self.target) - 1}, or {END} to end it; "
                    f"got {number} at place {place}."
                )
        return list(ids)
