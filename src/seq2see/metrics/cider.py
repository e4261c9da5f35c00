"""CIDEr-D: the n-grams that a caption shares with its references, weighted by TF-IDF."""

from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from math import exp, log, sqrt

Gram = tuple[Hashable, ...]

MAX_NGRAM = 4  # words
LENGTH_SIGMA = 6.0  # of the length penalty, in words


class Cider:
    """Scores a caption from 0 to 10 by the TF-IDF weighted n-grams that it shares with its references.

    CIDEr-D = 10 / 4 times the sum over n = 1..4 of exp(-(l_c - l_r)^2 / (2 sigma^2)) min(g_c, g_r) . g_r / (|g_c|
    |g_r|), and of that the mean over references, with TF-IDF vectors g and lengths l of caption c and reference r
    (Vedantam et al. 2015, arXiv:1411.5726, section 4 and appendix). Document frequencies are from the references of a
    corpus, and lengths are counted in pairs of words, both as in COCO's code.

    Args:
        corpus: the words of each reference of each image, from which document frequencies are counted.
    """

    def __init__(self, corpus: Iterable[Sequence[Sequence[Hashable]]]) -> None:
        each = [_list_grams(references) for references in corpus]
        seen = Counter(gram for grams in each for gram in grams)
        self._seen = {gram: log(count) for gram, count in seen.items() if count > 1}
        self._rarity = log(max(len(each), 1))

    def __call__(self, output: Sequence[Hashable], references: Sequence[Sequence[Hashable]]) -> float:
        """Return the CIDEr-D of one caption against its references, 0 to 10.

        Args:
            output: the words of the caption.
            references: the words of each of its references, at least one.
        """
        total = 0.0
        for order in range(1, MAX_NGRAM + 1):
            one = self._weigh(output, order)
            total += sum(
                _similarity(one, self._weigh(each, order)) * _length_penalty(len(output), len(each))
                for each in references
            )
        return 10 * total / len(references) / MAX_NGRAM

    def _weigh(self, words: Sequence[Hashable], order: int) -> dict[Gram, float]:
        """Return the TF-IDF weight of each n-gram."""
        grams = count_grams(words, order)
        return {gram: count * (self._rarity - self._seen.get(gram, 0.0)) for gram, count in grams.items()}


def count_grams(words: Sequence[Hashable], order: int) -> Counter[Gram]:
    """Count how often each n-gram occurs.

    Args:
        words: the words of a text.
        order: n, the number of words of an n-gram.
    """
    return Counter(tuple(words[start : start + order]) for start in range(len(words) - order + 1))


def _list_grams(references: Iterable[Sequence[Hashable]]) -> set[Gram]:
    return {gram for words in references for order in range(1, MAX_NGRAM + 1) for gram in count_grams(words, order)}


def _similarity(one: dict[Gram, float], other: dict[Gram, float]) -> float:
    shared = sum(min(value, other[gram]) * other[gram] for gram, value in one.items() if gram in other)
    norms = sqrt(sum(value**2 for value in one.values())) * sqrt(sum(value**2 for value in other.values()))
    return shared / norms if norms else 0.0


def _length_penalty(one: int, other: int) -> float:
    pairs = max(one - 1, 0) - max(other - 1, 0)
    return exp(-(pairs**2) / (2 * LENGTH_SIGMA**2))
