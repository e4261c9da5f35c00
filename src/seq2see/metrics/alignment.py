"""Word alignments from attention weights, and how well they agree with alignments made by people."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from jaxtyping import Float

from seq2see.core.errors import DataError
from seq2see.core.token import Token
from seq2see.core.words import Span

Links = frozenset[tuple[int, int]]  # source word and target word, both counted from 0
LINK = re.compile(r"(\d+)([-?p])(\d+)")


@dataclass(frozen=True)
class Gold:
    """Holds the links of one pair that a person made.

    Args:
        sure: the links (source word, target word) that must be there, words counted from 0.
        possible: the links that may be there, the sure ones included.
    """

    sure: Links
    possible: Links


@dataclass(frozen=True)
class Agreement:
    """Holds how well links agree with gold, out of 100.

    Args:
        aer: the alignment error rate; less is better.
        precision: the share of the links found that are possible; more is better.
        recall: the share of the sure links that were found; more is better.
        signature: how many pairs and links were counted.
    """

    aer: float
    precision: float
    recall: float
    signature: str


def merge_words(
    weights: Float[np.ndarray, "*h t s"],
    source: tuple[Sequence[Token], Sequence[Span]],
    target: tuple[Sequence[Token], Sequence[Span]],
) -> Float[np.ndarray, "*h _ _"]:
    """Return weights between words: the sum over the tokens of a source word, the mean over those of a target word.

    Args:
        weights: attention of target tokens (t) to source tokens (s), perhaps of several heads, [*h t s].
        source: the tokens of the source, and the spans of its words, in characters of the text.
        target: the tokens of the target, and the spans of its words.

    Returns:
        One row for each target word, and one column for each source word; a last column has the weight of what is in no
        source word (end token, spaces), so that rows still sum to 1.
    """
    inside = share_tokens(*source)
    columns = np.concatenate([inside, 1 - inside.sum(axis=1, keepdims=True)], axis=1)
    rows = share_tokens(*target)
    parts = np.maximum(rows.sum(axis=0, keepdims=True), 1e-9)
    return np.asarray((rows / parts).T @ weights.astype(np.float64) @ columns)


def share_tokens(tokens: Sequence[Token], words: Sequence[Span]) -> Float[np.ndarray, "_ _"]:
    """Return the share of each token (row) that belongs to each word (column): 1, unless a token spans several words.

    Args:
        tokens: tokens with character offsets; one in no word has zeros.
        words: the start and end of each word in the same text.
    """
    spans = np.array([(token.start, token.end) for token in tokens]).reshape(-1, 1, 2)
    bounds = np.array(words).reshape(1, -1, 2)
    common = np.minimum(spans[..., 1], bounds[..., 1]) - np.maximum(spans[..., 0], bounds[..., 0])
    overlap = np.maximum(common, 0).astype(np.float64)
    return overlap / np.maximum(overlap.sum(axis=1, keepdims=True), 1)


def link_words(merged: Float[np.ndarray, "_ _"], *, threshold: float = 0.0) -> Links:
    """Link each target word with the source word of the largest weight.

    Args:
        merged: weights between words of one head, as `merge_words` returns them; the last column is no word.
        threshold: the least weight, 0 to 1, that makes a link; a weight of 0 makes none.
    """
    weights = merged[:, :-1]
    if not weights.size:
        return frozenset()
    best = weights.argmax(axis=1)
    strength = weights.max(axis=1)
    return frozenset(
        (int(source), row) for row, source in enumerate(best) if strength[row] > 0 and strength[row] >= threshold
    )


def write_links(links: Iterable[tuple[int, int]]) -> str:
    """Return links in Pharaoh format: `0-0 1-2`, source word first, sorted.

    Args:
        links: pairs of a source word and a target word, counted from 0.
    """
    return " ".join(f"{source}-{target}" for source, target in sorted(links))


def read_links(text: str, *, file: Path | str | None = None, line: int | None = None) -> Gold:
    """Read the links of one line: `1-2` is sure, `1?2` and `1p2` are possible.

    Args:
        text: the line: links with spaces between them, or nothing.
        file: where it is from, for the error message; None if it is from no file.
        line: its number in the file, from 1.

    Raises:
        DataError: if a link is written otherwise.
    """
    found: dict[bool, set[tuple[int, int]]] = {True: set(), False: set()}
    for word in text.split():
        match = LINK.fullmatch(word)
        if match is None:
            raise DataError(
                f"links must be written 0-1 (sure), 0?1 or 0p1 (possible), with spaces between; got {word[:40]!r}.",
                file=file,
                line=line,
            )
        found[match[2] == "-"].add((int(match[1]), int(match[3])))
    return Gold(frozenset(found[True]), frozenset(found[True] | found[False]))


def check_links(
    gold: Gold, *, source: int, target: int, file: Path | str | None = None, line: int | None = None
) -> None:
    """Refuse links to words that do not exist: they were made for other texts, or counted from 1.

    Args:
        gold: the links of one pair.
        source: the number of words of its source.
        target: the number of words of its target.
        file: where the links are from, for the error message; None if they are from no file.
        line: their number in the file, from 1.

    Raises:
        DataError: at the first such link.
    """
    for left, right in sorted(gold.possible):
        if left >= source or right >= target:
            raise DataError(
                f"the pair has {source} source and {target} target words, counted from 0; got the link {left}-{right}; "
                "give the texts the links were made for, and count from 0.",
                file=file,
                line=line,
            )


def measure_agreement(found: Sequence[Links], gold: Sequence[Gold]) -> Agreement:
    """Return the alignment error rate, precision and recall over all pairs.

    AER = 1 - (|A and S| + |A and P|) / (|A| + |S|) with links A, sure links S and possible links P (Och & Ney 2003,
    doi:10.1162/089120103321337421, section 5.1).

    Args:
        found: the links A of each pair.
        gold: the links S and P of each pair, in the same order.
    """
    pairs = list(zip(found, gold, strict=True))
    links, sure = sum(map(len, found)), sum(len(each.sure) for each in gold)
    right = sum(len(a & g.possible) for a, g in pairs)
    needed = sum(len(a & g.sure) for a, g in pairs)
    possible = sum(len(each.possible) for each in gold)
    return Agreement(
        aer=100 - _share(needed + right, links + sure),
        precision=_share(right, links),
        recall=_share(needed, sure),
        signature=f"aer|n:{len(pairs)}|links:{links}|sure:{sure}|possible:{possible}",
    )


def _share(part: int, whole: int) -> float:
    """Return a share out of 100; 100 if the whole is 0."""
    return 100 * part / whole if whole else 100.0
