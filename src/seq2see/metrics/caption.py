"""Metrics of captions, each against several references, as the caption literature computes them (COCO's server code).

All are out of 100, but CIDEr-D, which is 1000 for a caption that all references agree on.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from math import exp, prod
from unicodedata import category, normalize

import regex
from rapidfuzz.distance import LCSseq

from seq2see import __version__
from seq2see.core.errors import DataError
from seq2see.core.word import UNSPACED
from seq2see.metrics.cider import LONGEST, WIDTH, Cider, Gram, count_grams
from seq2see.metrics.meteor import METEOR, Meteor
from seq2see.metrics.text import Metric

Words = tuple[str, ...]

TINY, SMALL = 1e-15, 1e-9  # what COCO's BLEU adds to counts, so that nothing is divided by zero
RECALL = 1.2  # how much more than precision recall weighs in ROUGE-L
PIECE = rf"(?:(?![{UNSPACED}])[\w\p{{M}}])+"
# initials with their points, numbers with theirs, words with hyphens, what English grammar hangs on, or one mark
# (Penn Treebank); a letter of a script that puts no spaces between words, with the marks above and below it, is a word
WORD = regex.compile(
    rf"[{UNSPACED}]\p{{M}}*|(?:[^\W\d_]\.){{2,}}|\d+(?:[.,:]\d+)+(?:-{PIECE})*|{PIECE}(?:[-.]{PIECE})*(?:'{PIECE})*"
    r"|'(?:s|re|ve|ll|d|m)\b|(?!\s)\X"
)
HANGING = regex.compile(r"(?<=\w)(?=(?:n't|'(?:s|re|ve|ll|d|m))$)")  # as the Penn Treebank cuts it off
KEPT = frozenset("&$%#@*+=/\\<>~^|§°£€")  # the marks that the literature does not count as punctuation


def score_captions(
    outputs: Sequence[str], references: Sequence[Sequence[str]], *, meteor: Meteor | None = None
) -> list[Metric]:
    """BLEU-1 to BLEU-4, METEOR if its process is given, ROUGE-L and CIDEr-D."""
    corpus = Corpus.cut(outputs, references)
    found = [] if meteor is None else [_meteor(corpus, meteor)]
    return [*_bleu(corpus), *found, _rouge_l(corpus), _cider_d(corpus)]


def glance_captions(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Metric]:
    """The metrics to look at again and again: BLEU-4 and CIDEr-D."""
    corpus = Corpus.cut(outputs, references)
    return [_bleu(corpus)[-1], _cider_d(corpus)]


def cut_caption(text: str) -> Words:
    """The words of a caption: lower case, no punctuation, cut nearly as the Penn Treebank cuts English."""
    lower = normalize("NFC", text).lower().replace("i\u0307", "i")  # what Python makes of a Turkish capital i
    pieces = WORD.findall(lower.replace("’", "'"))
    words = [word for piece in pieces for word in HANGING.split(piece)]
    return tuple(word for word in words if word in KEPT or any(map(_counts, word)))


def _counts(char: str) -> bool:
    """Whether a character makes a word: a letter, a digit, or a picture of its own."""
    return char.isalnum() or category(char) == "So"


@dataclass(frozen=True)
class Corpus:
    """Outputs and the references of each, cut into words."""

    outputs: Sequence[Words]
    references: Sequence[Sequence[Words]]

    @classmethod
    def cut(cls, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> "Corpus":
        """Cut all texts, if there is at least one reference for each output."""
        if not references or len(outputs) != len(references) or not all(references):
            raise DataError(
                "a score needs an output for each picture, and one reference or more for each; got "
                f"{len(outputs)} outputs for {len(references)} pictures, {sum(not r for r in references)} without any."
            )
        return cls([cut_caption(text) for text in outputs], [[cut_caption(text) for text in r] for r in references])

    @cached_property
    def signature(self) -> str:
        """What all metrics of captions have in common."""
        counts = {len(each) for each in self.references}
        many = str(max(counts)) if len(counts) == 1 else f"{min(counts)}-{max(counts)}"
        return f"n:{len(self.outputs)}|refs:{many}|tok:own|case:lower|punct:no|form:nfc|seq2see:{__version__}"


def unpenalised_bleu(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Metric]:
    """BLEU-1 to BLEU-4 without the penalty for brevity, as Vinyals et al. and Xu et al. 2015 report it."""
    corpus = Corpus.cut(outputs, references)
    matches = _match(corpus)
    names = [f"bleu_{order + 1}_unpenalised" for order in range(LONGEST)]
    signatures = [f"{name}|{corpus.signature}|brevity:free|smooth:1e-15" for name in names]
    return [Metric(*each) for each in zip(names, matches.precisions, signatures, strict=True)]


@dataclass(frozen=True)
class Matches:
    """How many n-grams of the outputs stand in a reference, and how long the outputs are."""

    right: Sequence[int]  # for each length of n-grams
    made: Sequence[int]
    length: int
    wanted: int  # the lengths of the references that are closest to the outputs'

    @property
    def precisions(self) -> list[float]:
        """The geometric mean of the precisions of all n-grams up to each length, out of 100."""
        shares = [(right + TINY) / (made + SMALL) for right, made in zip(self.right, self.made, strict=True)]
        return [100 * prod(shares[: order + 1]) ** (1 / (order + 1)) for order in range(LONGEST)]

    @property
    def brevity(self) -> float:
        """What outputs keep that are shorter than their references."""
        ratio = (self.length + TINY) / (self.wanted + SMALL)
        return exp(1 - 1 / ratio) if ratio < 1 else 1.0


def _match(corpus: Corpus) -> Matches:
    right, made, length, wanted = [0] * LONGEST, [0] * LONGEST, 0, 0
    for output, references in zip(corpus.outputs, corpus.references, strict=True):
        length += len(output)
        wanted += min((abs(len(each) - len(output)), len(each)) for each in references)[1]
        for order in range(LONGEST):
            grams = count_grams(output, order + 1)
            most: Counter[Gram] = Counter()
            for each in references:
                most |= count_grams(each, order + 1)
            right[order] += (grams & most).total()
            made[order] += grams.total()
    return Matches(right, made, length, wanted)


def _bleu(corpus: Corpus) -> list[Metric]:
    """BLEU of the corpus for each length of n-grams, against the references' length that is closest to the output's.

    Papineni et al. 2002, section 2.3, with the constants of COCO's code.
    """
    matches, metrics = _match(corpus), []
    for order, precision in enumerate(matches.precisions):
        name = f"bleu_{order + 1}"
        signature = f"{name}|{corpus.signature}|length:closest|smooth:1e-15"
        metrics.append(Metric(name, matches.brevity * precision, signature))
    return metrics


def rouge_l(output: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """F of the longest common subsequence, with the best precision and the best recall of the references, up to 1.

    Lin 2004, section 3.1, with beta = 1.2 as in COCO's code.
    """
    common = [(LCSseq.similarity(output, each), len(each)) for each in references]
    precision = max(shared for shared, _ in common) / max(len(output), 1)
    recall = max(shared / max(length, 1) for shared, length in common)
    weight = recall + RECALL**2 * precision
    return (1 + RECALL**2) * precision * recall / weight if weight else 0.0


def _rouge_l(corpus: Corpus) -> Metric:
    total = sum(map(rouge_l, corpus.outputs, corpus.references))
    signature = f"rouge_l|{corpus.signature}|beta:{RECALL}|rapidfuzz:{version('rapidfuzz')}"
    return Metric("rouge_l", 100 * total / len(corpus.outputs), signature)


def _cider_d(corpus: Corpus) -> Metric:
    """Mean CIDEr-D; the references of this very corpus say how rare an n-gram is."""
    measure = Cider(corpus.references)
    total = sum(measure(output, each) for output, each in zip(corpus.outputs, corpus.references, strict=True))
    signature = f"cider_d|{corpus.signature}|sigma:{WIDTH:g}|df:references"
    return Metric("cider_d", 100 * total / len(corpus.outputs), signature)


def _meteor(corpus: Corpus, meteor: Meteor) -> Metric:
    value = meteor.score(
        [" ".join(words) for words in corpus.outputs],
        [[" ".join(words) for words in each] for each in corpus.references],
    )
    signature = f"meteor|{corpus.signature}|version:{METEOR}|language:en|norm:yes"
    return Metric("meteor", 100 * value, signature)
