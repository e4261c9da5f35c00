"""Pairs whose two sides are swapped, or both in the language of one side, by n-gram models of the data itself."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np
from jaxtyping import Bool, Float, Int32, Int64

from seq2see.core.registry import shorten
from seq2see.data.pairs import Finding, Origin, Pairs

MIN_COMPARED_PAIRS, MAX_COMPARED_PAIRS = 20, 200_000  # of more, some are compared, evenly over the data
MAX_COMPARED_CHARACTERS = 200  # of a text; its beginning tells
FOLDS = 4  # the pairs of one are judged by the counts of the others
PASSES = 2  # in the second one, pairs that seem swapped are counted the right way round
PRIOR = 5.0  # how many occurrences the shorter n-gram counts for
MIN_SYMBOLS, MAX_SYMBOLS = 24, 96  # different characters of the models; rarer ones share the symbol of their block
MIN_EVIDENCE = 6.0  # nats of a pair
MIN_SHARE_OF_USUAL = 0.3  # of the evidence for each character that half of the pairs have
MAX_DOUBTFUL = 0.5  # pairs that lean to the same side, but less, for each one that is found
MAX_LISTED_LINES, MAX_EXAMPLES, MAX_EXAMPLE = 10, 3, 40


@dataclass(frozen=True)
class Evidence:
    """How much each text looks like those of the other side rather than those of its own.

    Args:
        source: log p_target(x) - log p_source(x) of each source x, in nats, `[n]`.
        target: log p_source(y) - log p_target(y) of each target y, in nats, `[n]`.
        sizes: the number of predicted characters of sources and of targets, `[2 n]`.
    """

    source: Float[np.ndarray, " n"]
    target: Float[np.ndarray, " n"]
    sizes: Int64[np.ndarray, "2 n"]

    def find_swapped(self) -> Bool[np.ndarray, " n"]:
        """Return True for each pair whose sides are swapped; none if too many others lean that way, too."""
        both = self.source + self.target
        each = both / self.sizes.sum(axis=0)
        clear = (both > MIN_EVIDENCE) & (each > MIN_SHARE_OF_USUAL * np.median(np.abs(each)))
        return _keep_clear(clear & (self.source > 0) & (self.target > 0), both > 0)

    def find_alike(self) -> Bool[np.ndarray, " n"]:
        """Return True for each pair with both sides in the language of one; none if too many others lean that way."""
        clear, signs = [], []
        for evidence, size in zip((self.source, self.target), self.sizes, strict=True):
            each = np.abs(evidence / size)
            clear.append((np.abs(evidence) > MIN_EVIDENCE) & (each > MIN_SHARE_OF_USUAL * np.median(each)))
            signs.append(np.sign(evidence))
        opposite = signs[0] * signs[1] < 0
        return _keep_clear(clear[0] & clear[1] & opposite, opposite)


def find_swapped_sides(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find pairs whose sides are swapped, and pairs with both sides in the language of one of them.

    Args:
        pairs: pairs of texts; fewer than 20 can tell nothing, and of more than 200,000 some are compared.
        origin: their file, which findings name.
    """
    if len(pairs) < MIN_COMPARED_PAIRS:
        return []
    count = min(len(pairs), MAX_COMPARED_PAIRS)
    some = pairs.take([row * len(pairs) // count for row in range(count)])
    evidence = compare_sides(some.source, some.target)
    share = f", among {len(some):,} of the {len(pairs):,} pairs" if len(some) < len(pairs) else ""
    kinds = [
        ("source and target seem to be swapped", "swap them back", evidence.find_swapped()),
        ("both sides seem to be in one language", "translate them, or leave them out", evidence.find_alike()),
    ]
    findings = []
    for message, remedy, found in kinds:
        rows = np.flatnonzero(found).tolist()
        if rows:
            shown = f"{message} in {_list_lines(some, rows, origin)}, such as {_show_pairs(some, rows)}{share}"
            lines = [some.lines[row] for row in rows]
            first = lines[0] if origin.has_lines else None
            findings.append(Finding("warning", shown, remedy, origin.file, first, len(lines), lines))
    return findings


def compare_sides(sources: Sequence[str], targets: Sequence[str]) -> Evidence:
    """Learn a model of the characters of each side, and compare every text with both.

    With the characters c_i of a text, log p is the sum over i of log p(c_i) + log p(c_i | c_i-1) +
    log p(c_i | c_i-2 c_i-1), each smoothed with the one before. It counts every character three times, but unlike
    p(c_i | c_i-2 c_i-1) alone, it also tells swapped texts of two scripts apart when both sides have both scripts.

    Args:
        sources: the sources; each is judged by models that were learned from others.
        targets: their targets.
    """
    sides = [[text[:MAX_COMPARED_CHARACTERS] for text in side] for side in (sources, targets)]
    symbols, count = _choose_symbols(sides[0] + sides[1])
    folds = [slice(fold, None, FOLDS) for fold in range(FOLDS)]
    keys = [[_list_trigrams(side[fold], symbols, count) for fold in folds] for side in sides]
    lengths = [np.array([len(text) for text in side], dtype=np.int64) for side in sides]
    swapped, found = np.zeros(len(sides[0]), dtype=bool), np.zeros((2, len(sides[0])))
    for _ in range(PASSES):
        counts = np.zeros((2, FOLDS, count**3), dtype=np.int32)
        for number, fold in enumerate(folds):
            for side in (0, 1):
                other = np.repeat(swapped[fold], lengths[side][fold] + 2)
                counts[side, number] += _count(keys[side][number][~other], count)
                counts[1 - side, number] += _count(keys[side][number][other], count)
        for number, fold in enumerate(folds):
            left, right = counts.sum(axis=1, dtype=np.int64) - counts[:, number]
            towards_target = _learn(right, count) - _learn(left, count)
            for side, sign in ((0, 1), (1, -1)):
                found[side, fold] = sign * _add_up(towards_target[keys[side][number]], lengths[side][fold])
        swapped = found.sum(axis=0) > 0
    return Evidence(found[0], found[1], np.stack(lengths) + 1)


def _choose_symbols(texts: Sequence[str]) -> tuple[Int32[np.ndarray, " v"], int]:
    """Return the symbol of each code point and the number of symbols; 0 is what is between texts."""
    points = _list_points("\n".join(texts))
    most = int(np.clip(np.cbrt(8 * len(points)), MIN_SYMBOLS, MAX_SYMBOLS))
    occurrences = np.bincount(points)
    occurrences[ord("\n") :][:1] = 0
    known = np.flatnonzero(occurrences)
    known = known[np.argsort(-occurrences[known], kind="stable")]
    blocks = most // 4
    frequent, rare = known[: most - 1 - blocks], known[most - 1 - blocks :]
    symbols = np.zeros(max(len(occurrences), ord("\n") + 1), dtype=np.int32)
    symbols[frequent] = 1 + np.arange(len(frequent))
    symbols[rare] = 1 + len(frequent) + rare // 128 % blocks
    return symbols, int(symbols.max()) + 1


def _list_points(text: str) -> Int64[np.ndarray, " total"]:
    return np.frombuffer(text.encode("utf-32-le", "surrogatepass"), dtype="<u4").astype(np.int64)


def _list_trigrams(texts: Sequence[str], symbols: Int32[np.ndarray, " v"], count: int) -> Int32[np.ndarray, " total"]:
    """Return the trigram that each character, the end of its text and the gap behind it end."""
    found = symbols[_list_points("".join(f"\n\n{text}" for text in texts) + "\n\n")]
    return (found[:-2] * count + found[1:-1]) * count + found[2:]


def _count(keys: Int32[np.ndarray, " total"], count: int) -> Int64[np.ndarray, " grams"]:
    return np.bincount(keys, minlength=count**3)


def _learn(trigrams: Int64[np.ndarray, " grams"], count: int) -> Float[np.ndarray, " grams"]:
    """Return log p(c) + log p(c | b) + log p(c | a b) of every trigram a b c, from how often each occurs."""
    third = trigrams.reshape(count, count, count).astype(np.float32)
    second = third.sum(axis=0)
    first = second.sum(axis=0)
    p1 = (first + 0.5) / (first.sum() + 0.5 * count)
    p2 = (second + PRIOR * p1) / (second.sum(axis=-1, keepdims=True) + PRIOR)
    p3 = (third + PRIOR * p2) / (third.sum(axis=-1, keepdims=True) + PRIOR)
    return (np.log(p3) + np.log(p2) + np.log(p1)).reshape(-1)


def _add_up(values: Float[np.ndarray, " total"], lengths: Int64[np.ndarray, " n"]) -> Float[np.ndarray, " n"]:
    """Add up the values of each text."""
    return np.add.reduceat(values.astype(np.float64), np.cumsum(lengths + 2) - lengths - 2)


def _keep_clear(clear: Bool[np.ndarray, " n"], leaning: Bool[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    """Return the clear cases; none if there are too many doubtful ones, as where both sides are alike."""
    doubtful = int((leaning & ~clear).sum())
    return clear if doubtful < MAX_DOUBTFUL * clear.sum() else np.zeros_like(clear)


def _list_lines(pairs: Pairs, rows: Sequence[int], origin: Origin) -> str:
    """Name the first lines, or of data without lines the numbers of pairs."""
    what = "line" if origin.has_lines else "pair"
    listed = ", ".join(str(pairs.lines[row]) for row in rows[:MAX_LISTED_LINES])
    return f"{what}{'s' if len(rows) > 1 else ''} {listed}{' ...' if len(rows) > MAX_LISTED_LINES else ''}"


def _show_pairs(pairs: Pairs, rows: Sequence[int]) -> str:
    shown = (tuple(shorten(side[row], most=MAX_EXAMPLE) for side in (pairs.source, pairs.target)) for row in rows)
    return ", ".join(f"{source} -> {target}" for source, target in islice(shown, MAX_EXAMPLES))
