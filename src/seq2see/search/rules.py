"""Rules that every search obeys: which tokens must not come next, given the tokens of each hypothesis so far.

A rule sets log-probabilities to -inf, in place, and changes nothing else: the others stay the model's own.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable
from unicodedata import category

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from seq2see.core.errors import SearchError
from seq2see.search.options import MaxTokens, MinTokens, NgramSize


@runtime_checkable
class Rule(Protocol):
    """Forbids tokens."""

    def __call__(self, logprobs: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]) -> None:
        """Set the log-probabilities of forbidden tokens to -inf, in place.

        Args:
            logprobs: the log-probabilities of the next token, [n v].
            history: the tokens of each hypothesis so far, without the start token, [n t].
            sources: the number of the source of each hypothesis, [n].
        """
        ...


@dataclass(frozen=True)
class Rules:
    """Holds the rules of a configuration.

    Args:
        min_length: how many tokens come before the end token at least.
        max_length: how many tokens an output has at most, the end token included; None takes a limit in proportion to
            the source.
        no_repeat: the size in tokens of the n-grams that must not come twice; 0 if any may.
        ban: words that must not be written, however they are cut into tokens.

    Raises:
        SearchError: if one of them is no such number or word, or the minimum is above the maximum.
    """

    min_length: MinTokens = 0
    max_length: MaxTokens | None = None
    no_repeat: NgramSize = 0
    ban: Sequence[str] = ()

    def __post_init__(self) -> None:
        for name, least in (("min_length", 0), ("no_repeat", 0), ("max_length", 1)):
            value = getattr(self, name)
            if not isinstance(value, int) and not (value is None and name == "max_length"):
                raise SearchError(f"{name} must be a whole number; got {value!r}.")
            if value is not None and value < least:
                raise SearchError(f"{name} must be at least {least}; got {value}.")
        if self.max_length is not None and self.min_length > self.max_length:
            both = f"{self.min_length} and {self.max_length}"
            raise SearchError(f"min_length must be at most max_length; got {both}; change one of them.")
        words = self.ban if isinstance(self.ban, Sequence) and not isinstance(self.ban, str) else [None]
        if not all(isinstance(word, str) and word.strip() for word in words):
            raise SearchError(f"ban must be a list of words, none of them blank; got {self.ban!r}.")

    def build(self, *, end: int, pieces: Sequence[str], spell: Callable[[str], Iterable[str]]) -> "list[Rule]":
        """Build the rules over a vocabulary; `max_length` is none of them, because `Limits.longest` has it.

        Args:
            end: the id of the end token.
            pieces: the text of every token by its id; empty for special tokens.
            spell: returns the forms in which a word may be spelled with these tokens.
        """
        rules: list[Rule] = []
        if self.min_length:
            rules.append(MinLength(self.min_length, end))
        if self.no_repeat:
            rules.append(NoRepeat(self.no_repeat))
        if self.ban:
            rules.append(Ban({form for word in self.ban for form in spell(word)}, pieces))
        return rules


@dataclass(frozen=True)
class MinLength:
    """Forbids the end token at the beginning of an output.

    Args:
        length: how many tokens come before it at least.
        end: the id of the end token.
    """

    length: int
    end: int

    def __call__(self, logprobs: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]) -> None:
        if history.shape[1] < self.length:
            logprobs[:, self.end] = -torch.inf


@dataclass(frozen=True)
class NoRepeat:
    """Forbids tokens that complete an n-gram a second time (Paulus et al. 2018, section 2.5, arXiv:1705.04304).

    Args:
        size: the number of tokens of an n-gram, at least 1.
    """

    size: int

    def __call__(self, logprobs: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]) -> None:
        if history.shape[1] < self.size:
            return
        seen = history.unfold(1, self.size, 1)  # [n, how many, size]
        tail = history[:, history.shape[1] - self.size + 1 :].unsqueeze(1)
        rows, places = (seen[:, :, :-1] == tail).all(dim=2).nonzero(as_tuple=True)
        logprobs[rows, seen[rows, places, -1]] = -torch.inf


class Ban:
    """Forbids tokens that complete a banned word, however it is cut into tokens.

    A word begins where a token begins, or behind a character that is no letter. If the last tokens of a history spell
    the beginning of a banned word, a token that spells its rest, with no letter behind it, cannot come.

    Args:
        words: the spellings that are banned.
        pieces: the text of every token by its id; empty for special tokens, which are part of no word.
    """

    def __init__(self, words: Iterable[str], pieces: Sequence[str]) -> None:
        self.pieces = pieces
        self.starts = [[0, *(at for at in range(1, len(piece)) if not _is_letter(piece[at - 1]))] for piece in pieces]
        whole, rests = self._list_spellings()
        self.completions: dict[str, set[int]] = {}  # by what is spelled already
        for word in words:
            self.completions.setdefault("", set()).update(whole.get(word, ()))
            for cut in range(1, len(word)):
                if word[cut:] in rests:
                    self.completions.setdefault(word[:cut], set()).update(rests[word[cut:]])
        self.reach = max(map(len, self.completions), default=0)

    def _list_spellings(self) -> tuple[dict[str, set[int]], dict[str, set[int]]]:
        """List by text the tokens that spell it with no letter behind it: somewhere, and at their beginning."""
        somewhere: dict[str, set[int]] = {}
        first: dict[str, set[int]] = {}
        for number, piece in enumerate(self.pieces):
            ends = [end for end in range(1, len(piece) + 1) if end == len(piece) or not _is_letter(piece[end])]
            for start in self.starts[number]:
                for end in ends:
                    somewhere.setdefault(piece[start:end], set()).add(number)
                    if start == 0:
                        first.setdefault(piece[:end], set()).add(number)
        return somewhere, first

    def __call__(self, logprobs: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]) -> None:
        whole = sorted(self.completions.get("", ()))
        logprobs.index_fill_(1, torch.tensor(whole, dtype=torch.long, device=logprobs.device), -torch.inf)
        recent = history[:, max(history.shape[1] - self.reach, 0) :]  # a token spells a letter or more
        for row, tokens in enumerate(recent.tolist() if self.reach else ()):
            spelled = ""
            for token in reversed(tokens):
                spelled = self.pieces[token] + spelled
                if not self.pieces[token]:
                    break  # a special token is part of no word
                for start in self.starts[token]:
                    for number in self.completions.get(spelled[start:], ()):
                        logprobs[row, number] = -torch.inf
                if len(spelled) > self.reach:
                    break


def _is_letter(char: str) -> bool:
    """Tell whether a character is part of a word: a letter with its marks, or a digit."""
    return char.isalnum() or category(char).startswith("M")


@dataclass(frozen=True)
class NewWord:
    """Forbids all tokens that do not begin a new word, at one position of each source's outputs.

    Args:
        places: that position, from 0, for each source, [b]; -1 for none.
        begins: True for tokens that begin a word, and for the end token, [v].
    """

    places: Int[Tensor, " b"]
    begins: Bool[Tensor, " v"]

    def __call__(self, logprobs: Float[Tensor, "n v"], history: Int[Tensor, "n t"], sources: Int[Tensor, " n"]) -> None:
        here = self.places.to(sources.device)[sources] == history.shape[1]
        logprobs.masked_fill_(here.unsqueeze(1) & ~self.begins.to(logprobs.device), -torch.inf)


def release(allowed: Float[Tensor, "n v"], own: Float[Tensor, "n v"], end: int) -> None:
    """Allow the end token, in place, where the rules leave no token.

    Args:
        allowed: the log-probabilities under the rules, [n v], which are changed.
        own: the model's log-probabilities, [n v].
        end: the id of the end token.
    """
    stuck = allowed.amax(dim=1) == -torch.inf
    allowed[:, end] = torch.where(stuck, own[:, end], allowed[:, end])


def force(
    allowed: Float[Tensor, "n v"],
    own: Float[Tensor, "n v"],
    history: Int[Tensor, "n t"],
    prefixes: Int[Tensor, "n p"],
) -> None:
    """Allow the token of the prefix alone, in place, while the prefix lasts, whatever other rules say.

    Args:
        allowed: the log-probabilities under the rules, [n v], which are changed.
        own: the model's log-probabilities, [n v].
        history: the tokens of each hypothesis so far, without the start token, [n t]; only their number counts.
        prefixes: the prefix of each hypothesis, with -1 behind its end, [n p].
    """
    place = history.shape[1]
    if place >= prefixes.shape[1]:
        return
    tokens = prefixes[:, place : place + 1]
    forced = tokens >= 0
    chosen = tokens.clamp(min=0)
    kept = torch.where(forced, own, allowed).gather(1, chosen)
    allowed.masked_fill_(forced, -torch.inf).scatter_(1, chosen, kept)


def pack_prefixes(prefixes: Sequence[Sequence[int]]) -> Int[Tensor, "b p"]:
    """Return prefixes of different lengths as one tensor, with -1 behind each, [b p].

    Args:
        prefixes: the ids of each source's prefix; an empty one leaves its outputs free.
    """
    longest = max(map(len, prefixes), default=0)
    rows = [[*prefix, *[-1] * (longest - len(prefix))] for prefix in prefixes]
    return torch.tensor(rows, dtype=torch.long).reshape(len(rows), longest)
