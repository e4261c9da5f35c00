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
from seq2see.core.words import UNSPACED
from seq2see.metrics.cider import LENGTH_SIGMA, MAX_NGRAM, Cider, Gram, count_grams
from seq2see.metrics.meteor import METEOR_VERSION, Meteor
from seq2see.metrics.text import Metric

Words = tuple[str, ...]

COUNT_EPSILON, TOTAL_EPSILON = 1e-15, 1e-9  # what COCO's BLEU adds to counts, against division by zero
ROUGE_BETA = 1.2  # how much more than precision recall counts in ROUGE-L
WORD_PART = rf"(?:(?![{UNSPACED}])[\w\p{{M}}])+"
# initials with their points, numbers with theirs, words with hyphens, English endings such as 's, or one mark
# (Penn Treebank); a letter of a script that puts no spaces between words, with the marks above and below it, is a word
WORD = regex.compile(
    rf"[{UNSPACED}]\p{{M}}*|(?:[^\W\d_]\.){{2,}}|\d+(?:[.,:]\d+)+(?:-{WORD_PART})*|{WORD_PART}(?:[-.]{WORD_PART})*(?:'{WORD_PART})*"
    r"|'(?:s|re|ve|ll|d|m)\b|(?!\s)\X"
)
CLITIC = regex.compile(r"(?<=\w)(?=(?:n't|'(?:s|re|ve|ll|d|m))$)")  # as the Penn Treebank cuts it off
COUNTED_SYMBOLS = frozenset("&$%#@*+=/\\<>~^|§°£€")  # the marks that the literature does not count as punctuation


def score_captions(
    outputs: Sequence[str], references: Sequence[Sequence[str]], *, meteor: Meteor | None = None
) -> list[Metric]:
    """Score captions by BLEU-1 to BLEU-4, METEOR if its process is given, ROUGE-L and CIDEr-D.

    Args:
        outputs: one caption for each image.
        references: the captions that people wrote for each image, at least one.
        meteor: the METEOR process; None leaves METEOR out.

    Raises:
        DataError: if an image has no caption or no reference.
    """
    corpus = Corpus.split(outputs, references)
    found = [] if meteor is None else [_meteor(corpus, meteor)]
    return [*_bleu(corpus), *found, _rouge_l(corpus), _cider_d(corpus)]


def validation_caption_metrics(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Metric]:
    """Score captions by the metrics of validation, BLEU-4 and CIDEr-D.

    Args:
        outputs: one caption for each image.
        references: the captions that people wrote for each image, at least one.
    """
    corpus = Corpus.split(outputs, references)
    return [_bleu(corpus)[-1], _cider_d(corpus)]


def tokenise_caption(text: str) -> Words:
    """Split a caption into words: lower case, no punctuation, nearly as the Penn Treebank splits English.

    Args:
        text: the caption; in scripts without spaces each letter becomes a word.
    """
    lower = normalize("NFC", text).lower().replace("i\u0307", "i")  # what Python makes of a Turkish capital i
    pieces = WORD.findall(lower.replace("’", "'"))
    words = [word for piece in pieces for word in CLITIC.split(piece)]
    return tuple(word for word in words if word in COUNTED_SYMBOLS or any(map(_is_word_character, word)))


def _is_word_character(char: str) -> bool:
    """Tell whether a character makes a word: a letter, a digit, or a symbol such as an emoji."""
    return char.isalnum() or category(char) == "So"


@dataclass(frozen=True)
class Corpus:
    """Holds outputs and the references of each as words.

    Args:
        outputs: the words of each output.
        references: the words of each reference of each output.
    """

    outputs: Sequence[Words]
    references: Sequence[Sequence[Words]]

    @classmethod
    def split(cls, outputs: Sequence[str], references: Sequence[Sequence[str]]) -> "Corpus":
        """Split all texts into words.

        Args:
            outputs: one caption for each image.
            references: the captions that people wrote for each image, at least one.

        Raises:
            DataError: if an image has no caption or no reference.
        """
        if not references or len(outputs) != len(references) or not all(references):
            raise DataError(
                "a score needs an output for each image, and one reference or more for each; got "
                f"{len(outputs)} outputs for {len(references)} images, {sum(not r for r in references)} without any."
            )
        return cls(
            [tokenise_caption(text) for text in outputs], [[tokenise_caption(text) for text in r] for r in references]
        )

    @cached_property
    def signature(self) -> str:
        """Return what the signatures of all caption metrics have in common."""
        counts = {len(each) for each in self.references}
        many = str(max(counts)) if len(counts) == 1 else f"{min(counts)}-{max(counts)}"
        return f"n:{len(self.outputs)}|refs:{many}|tok:own|case:lower|punct:no|form:nfc|seq2see:{__version__}"


def unpenalised_bleu(outputs: Sequence[str], references: Sequence[Sequence[str]]) -> list[Metric]:
    """Return BLEU-1 to BLEU-4 without the brevity penalty, as Vinyals et al. and Xu et al. 2015 report it.

    Args:
        outputs: one caption for each image.
        references: the captions that people wrote for each image, at least one.
    """
    corpus = Corpus.split(outputs, references)
    matches = _match(corpus)
    names = [f"bleu_{order + 1}_unpenalised" for order in range(MAX_NGRAM)]
    signatures = [f"{name}|{corpus.signature}|brevity:free|smooth:1e-15" for name in names]
    return [Metric(*each) for each in zip(names, matches.precisions, signatures, strict=True)]


@dataclass(frozen=True)
class Matches:
    """Holds how many n-grams of the outputs are in a reference, and how long the outputs are.

    Args:
        right: for n from 1 to 4, how many n-grams of the outputs are in a reference; each n-gram counts at most as
            often as one reference has it.
        made: for n from 1 to 4, how many n-grams the outputs have.
        length: the number of words of all outputs.
        wanted: the number of words of all outputs' references, of each output the one closest to it in length.
    """

    right: Sequence[int]
    made: Sequence[int]
    length: int
    wanted: int

    @property
    def precisions(self) -> list[float]:
        """Return the geometric mean of the precisions of all n-grams up to each length, out of 100."""
        shares = [
            (right + COUNT_EPSILON) / (made + TOTAL_EPSILON) for right, made in zip(self.right, self.made, strict=True)
        ]
        return [100 * prod(shares[: order + 1]) ** (1 / (order + 1)) for order in range(MAX_NGRAM)]

    @property
    def brevity(self) -> float:
        """Return the brevity penalty: exp(1 - r / c) for outputs of length c shorter than references of length r."""
        ratio = (self.length + COUNT_EPSILON) / (self.wanted + TOTAL_EPSILON)
        return exp(1 - 1 / ratio) if ratio < 1 else 1.0


def _match(corpus: Corpus) -> Matches:
    """Count the n-grams of the outputs, clipped by the references."""
    right, made, length, wanted = [0] * MAX_NGRAM, [0] * MAX_NGRAM, 0, 0
    for output, references in zip(corpus.outputs, corpus.references, strict=True):
        length += len(output)
        wanted += min((abs(len(each) - len(output)), len(each)) for each in references)[1]
        for order in range(MAX_NGRAM):
            grams = count_grams(output, order + 1)
            most: Counter[Gram] = Counter()
            for each in references:
                most |= count_grams(each, order + 1)
            right[order] += (grams & most).total()
            made[order] += grams.total()
    return Matches(right, made, length, wanted)


def _bleu(corpus: Corpus) -> list[Metric]:
    """Return BLEU of the corpus for each length of n-grams, with the reference length closest to each output's.

    Papineni et al. 2002 (doi:10.3115/1073083.1073135), section 2.3, with the constants of COCO's code.
    """
    matches, metrics = _match(corpus), []
    for order, precision in enumerate(matches.precisions):
        name = f"bleu_{order + 1}"
        signature = f"{name}|{corpus.signature}|length:closest|smooth:1e-15"
        metrics.append(Metric(name, matches.brevity * precision, signature))
    return metrics


def rouge_l(output: Sequence[str], references: Sequence[Sequence[str]]) -> float:
    """Return the F-measure (0 to 1) of the longest common subsequence, with the references' best precision and recall.

    F = (1 + beta^2) P R / (R + beta^2 P) (Lin 2004, https://aclanthology.org/W04-1013, section 3.1), with beta = 1.2 as
    in COCO's code.

    Args:
        output: the words of one caption.
        references: the words of each of its references, at least one.
    """
    common = [(LCSseq.similarity(output, each), len(each)) for each in references]
    precision = max(shared for shared, _ in common) / max(len(output), 1)
    recall = max(shared / max(length, 1) for shared, length in common)
    weight = recall + ROUGE_BETA**2 * precision
    return (1 + ROUGE_BETA**2) * precision * recall / weight if weight else 0.0


def _rouge_l(corpus: Corpus) -> Metric:
    total = sum(map(rouge_l, corpus.outputs, corpus.references))
    signature = f"rouge_l|{corpus.signature}|beta:{ROUGE_BETA}|rapidfuzz:{version('rapidfuzz')}"
    return Metric("rouge_l", 100 * total / len(corpus.outputs), signature)


def _cider_d(corpus: Corpus) -> Metric:
    """Return the mean CIDEr-D, with document frequencies from the references of this corpus."""
    measure = Cider(corpus.references)
    total = sum(measure(output, each) for output, each in zip(corpus.outputs, corpus.references, strict=True))
    signature = f"cider_d|{corpus.signature}|sigma:{LENGTH_SIGMA:g}|df:references"
    return Metric("cider_d", 100 * total / len(corpus.outputs), signature)


def _meteor(corpus: Corpus, meteor: Meteor) -> Metric:
    value = meteor.score(
        [" ".join(words) for words in corpus.outputs],
        [[" ".join(words) for words in each] for each in corpus.references],
    )
    signature = f"meteor|{corpus.signature}|version:{METEOR_VERSION}|language:en|norm:yes"
    return Metric("meteor", 100 * value, signature)
