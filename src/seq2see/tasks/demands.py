"""What is demanded of outputs, from words as people type them to tokens as a search sees them."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from jaxtyping import Int
from torch import Tensor

from seq2see.core.errors import SearchError, TokenError
from seq2see.data.sequences import PAD
from seq2see.data.tokenise import END, SPACE, START, UNKNOWN, Tokenizer
from seq2see.search.hypothesis import Limits, Watch
from seq2see.search.rules import Ban, MinLength, NewWord, NoRepeat, Rule, Rules, pack_prefixes
from seq2see.search.watch import Renamed
from seq2see.tasks.beginning import Beginning

Prefix = str | tuple[int, ...]  # what an output begins with, as a person types it or as ids


@dataclass(frozen=True)
class Demands:
    """Rules and prefixes over a target vocabulary."""

    target: Tokenizer
    rules: Rules
    prefixes: Sequence[Prefix] = ()  # one for each text, or none at all
    unknown: bool = False  # whether the unknown mark may come
    watch: Watch | None = None  # who looks on

    def limit(self, rows: Sequence[int], start: Beginning) -> Limits:
        """The limits of a batch, which holds the given rows of all texts."""
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
            watch=None if self.watch is None else Renamed(self.watch, rows),
        )

    def _longest(self, usual: Int[Tensor, " b"], prefix: Int[Tensor, "*b"]) -> Int[Tensor, " b"]:
        """The longest output of each source; a prefix comes on top of what is usual."""
        if self.rules.max_length is not None:
            return torch.full_like(usual, self.rules.max_length)
        return (usual + prefix).clamp(min=self.rules.min_length + 1)

    @cached_property
    def _rules(self) -> list[Rule]:
        rules: list[Rule] = []
        if self.rules.min_length:
            rules.append(MinLength(self.rules.min_length, END))
        if self.rules.no_repeat:
            rules.append(NoRepeat(self.rules.no_repeat))
        if self.rules.ban:
            words = {form for word in self.rules.ban for form in self.target.spell(word)}
            rules.append(Ban(words, self.target.pieces))
        return rules

    def _begin_words(self, heads: Sequence[tuple[list[int], bool]]) -> NewWord:
        begins = [piece.startswith(SPACE) or number == END for number, piece in enumerate(self.target.pieces)]
        return NewWord(torch.tensor([len(head) if cut else -1 for head, cut in heads]), torch.tensor(begins))

    @cached_property
    def _heads(self) -> list[tuple[list[int], bool]]:
        """The tokens of each prefix, and whether a new word must begin behind them."""
        heads = [self._cut(text) for text in self.prefixes]
        longest = self.rules.max_length
        for (head, _), text in zip(heads, self.prefixes, strict=True):
            if longest is not None and len(head) > longest:
                raise SearchError(
                    f"a prefix must fit into max_length; got {len(head)} tokens ({text!r}) for {longest}; "
                    "shorten it or raise max_length."
                )
        return heads

    def _cut(self, text: Prefix) -> tuple[list[int], bool]:
        """The tokens of one prefix; a space at its end is the mark of the word that follows, not a token."""
        if isinstance(text, tuple):
            return self._check(text), False
        if not text.strip():
            return [], False
        ended = self.target.marks_spaces and text.endswith(" ")
        if self.target.marks_spaces:  # the first word has its mark without a space
            text = text.lstrip().removesuffix(" ")
        unknown = self.target.unknown(text)
        if unknown:
            raise TokenError(f"a prefix must have known tokens only; got {unknown[0]!r} in {text!r}; change it.")
        return self.target.ids([text])[0][:-1], ended

    def _check(self, ids: tuple[int, ...]) -> list[int]:
        """Ids that an output may begin with: only its last may be the end mark."""
        for place, number in enumerate(ids, 1):
            if not END <= number < len(self.target) or (number == END and place < len(ids)):
                raise TokenError(
                    f"the ids of a prefix must be tokens from {UNKNOWN} to {len(self.target) - 1}, or {END} to end it; "
                    f"got {number} at place {place}."
                )
        return list(ids)
