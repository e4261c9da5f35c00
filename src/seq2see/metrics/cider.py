"""CIDEr-D: the n-grams that a caption shares with its references, each by how telling it is."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import exp, log, sqrt

Gram = tuple[Hashable, ...]

LONGEST = 4  # words of an n-gram
WIDTH = 6.0  # of the penalty for other lengths


class Cider:
    """Vedantam et al. 2015, section 4 and its appendix; 10 is for a caption that all references agree on.

    It is 10 / 4 times the sum over n of exp(-(l_c - l_r)^2 / 2 sigma^2) min(g_c, g_r) g_r / |g_c| |g_r|, and of that
    the mean over references. The references of a corpus say how rare an n-gram is, and lengths are counted in pairs of
    words, both as in COCO's code.
    """

    def __init__(self, corpus: Iterable[Sequence[Sequence[Hashable]]]) -> None:
        each = [_list_grams(references) for references in corpus]
        seen = Counter(gram for grams in each for gram in grams)
        self._seen = {gram: log(count) for gram, count in seen.items() if count > 1}
        self._rarity = log(max(len(each), 1))

    def __call__(self, output: Sequence[Hashable], references: Sequence[Sequence[Hashable]]) -> float:
        """What one caption is worth beside its references."""
        total = 0.0
        for order in range(1, LONGEST + 1):
            one = self._weigh(output, order)
            total += sum(_compare(one, self._weigh(each, order)) * _fade(len(output), len(each)) for each in references)
        return 10 * total / len(references) / LONGEST

    def _weigh(self, words: Sequence[Hashable], order: int) -> dict[Gram, float]:
        """Each n-gram by how often it is there and in how few references."""
        grams = count_grams(words, order)
        return {gram: count * (self._rarity - self._seen.get(gram, 0.0)) for gram, count in grams.items()}


def count_grams(words: Sequence[Hashable], order: int) -> Counter[Gram]:
    """How often each n-gram occurs."""
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def _list_grams(references: Iterable[Sequence[Hashable]]) -> set[Gram]:
    return {gram for words in references for order in range(1, LONGEST + 1) for gram in count_grams(words, order)}


def _compare(one: dict[Gram, float], other: dict[Gram, float]) -> float:
    shared = sum(min(value, other[gram]) * other[gram] for gram, value in one.items() if gram in other)
    norms = sqrt(sum(value**2 for value in one.values())) * sqrt(sum(value**2 for value in other.values()))
    return shared / norms if norms else 0.0


def _fade(one: int, other: int) -> float:
    pairs = max(one - 1, 0) - max(other - 1, 0)
    return exp(-(pairs**2) / (2 * WIDTH**2))
