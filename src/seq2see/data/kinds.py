"""What kind of data people brought, guessed from the pairs themselves."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from seq2see.data.album import is_picture
from seq2see.data.labels import split_labels
from seq2see.data.pairs import Pairs

Kind = Literal["text", "pictures"]
LOOKED_AT = 1_000  # sources and targets; more would say the same
REPEATED = {"text": 4, "pictures": 2}  # a label has at least so many different sources, on average
TOLD = 2  # the same, where the name of a column says that there are labels
TORN = 0.05  # sources that have two labels, because somebody was not sure
MOST = 200  # different labels
SHORT = 4  # words of a label
FEW = 20  # different labels, which may be long where the name of a column says that they are labels
ENOUGH = 20  # pairs that can tell texts from labels
DIFFERENT = 0.5  # of all targets, or of the sources with several: with more of them, targets are no labels


def guess_kind(pairs: Pairs) -> Kind:
    """Whether sources are pictures: the reader has made paths of all of them absolute, or of none."""
    return "pictures" if len(pairs) and all(map(is_picture, spread(pairs.source))) else "text"


def guess_labels(pairs: Pairs) -> bool:
    """Whether targets are labels: because the data says so, or they are short, few, and hardly ever two for a source.

    The name of a column may be wrong about texts, so there labels must come again, and be short or few, all the same.
    """
    kind = guess_kind(pairs)
    if pairs.labels is False or (pairs.labels and kind == "pictures"):
        return bool(pairs.labels)
    targets = [label for target in pairs.target for label in split_labels(target, pairs.separator)]
    sources = len(set(pairs.source))
    most = sources / TOLD if pairs.labels else min(sources / REPEATED[kind], MOST)
    count = len(set(targets))
    if not (1 if pairs.labels else 2) <= count <= most:
        return False
    few = pairs.labels and count <= min(sources / REPEATED[kind], FEW)
    if not few and any(len(text.split()) > SHORT for text in spread(targets)):
        return False
    return bool(pairs.labels) or len(set(zip(pairs.source, targets, strict=True))) <= sources * (1 + TORN)


def cannot_be_labels(pairs: Pairs) -> bool:
    """Whether targets are texts for certain: they hardly come again, or most sources have several."""
    if len(pairs) < ENOUGH:
        return False
    targets = set(map(str.strip, pairs.target))
    sources = Counter(source for source, _ in set(zip(pairs.source, map(str.strip, pairs.target), strict=True)))
    several = sum(count > 1 for count in sources.values())
    return len(targets) > DIFFERENT * len(pairs) or several > DIFFERENT * len(sources)


def spread(texts: Sequence[str], count: int = LOOKED_AT) -> Sequence[str]:
    """About so many of the texts, from all over."""
    return [texts[row] for row in range(0, len(texts), max(len(texts) // count, 1))]
