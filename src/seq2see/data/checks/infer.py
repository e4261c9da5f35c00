"""Inferring from the pairs themselves whether sources are images and targets are labels."""

from collections import Counter
from collections.abc import Sequence
from typing import Literal

from seq2see.data.formats.image_paths import is_image
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import Pairs

Kind = Literal["text", "images"]
MAX_INSPECTED_TEXTS = 1_000  # more would give the same answer
MIN_SOURCES_PER_LABEL = {"text": 4, "images": 2}  # on average
MIN_SOURCES_PER_NAMED_LABEL = 2  # the same, where the name of a column says that there are labels
MAX_SHARE_OF_TWO_LABELS = 0.05  # of sources with two labels, because annotators disagreed
MAX_LABELS = 200
MAX_LABEL_WORDS = 4
MAX_LONG_LABELS = 20  # labels may be longer if they are few and the name of a column says that they are labels
MAX_UNNAMED_NUMBERS = 20  # different numbers may be stars or classes; more, in no column of labels, are computed
MIN_PAIRS_TO_TELL = 20  # texts from labels
MAX_DIFFERENT_SHARE = 0.5  # of targets, or of sources with several targets, if targets are labels


def infer_modality(pairs: Pairs) -> Kind:
    """Return `images` if the sources are absolute paths of images, as file readers write them, else `text`.

    Args:
        pairs: the pairs of a split; of many, about 1,000 are inspected.
    """
    return "images" if len(pairs) and all(map(is_image, spread(pairs.source))) else "text"


def infer_labels(pairs: Pairs) -> bool:
    """Infer whether targets are labels: the data says so, or they are short, few, and hardly ever two for a source.

    The name of a column may be wrong about texts, so even then labels must occur again, and be short or few.

    Args:
        pairs: the pairs of a split; `labels` and `separator` are what their file says.
    """
    kind = infer_modality(pairs)
    if pairs.labels is False or (pairs.labels and kind == "images"):
        return bool(pairs.labels)
    targets = [label for target in pairs.target for label in split_labels(target, pairs.separator)]
    sources = len(set(pairs.source))
    most = (
        sources / MIN_SOURCES_PER_NAMED_LABEL
        if pairs.labels
        else min(sources / MIN_SOURCES_PER_LABEL[kind], MAX_LABELS)
    )
    count = len(set(targets))
    if not (1 if pairs.labels else 2) <= count <= most:
        return False
    if not pairs.labels and count > MAX_UNNAMED_NUMBERS and all(text.strip().isdecimal() for text in set(targets)):
        return False
    few = pairs.labels and count <= min(sources / MIN_SOURCES_PER_LABEL[kind], MAX_LONG_LABELS)
    if not few and any(len(text.split()) > MAX_LABEL_WORDS for text in spread(targets)):
        return False
    return bool(pairs.labels) or len(set(zip(pairs.source, targets, strict=True))) <= sources * (
        1 + MAX_SHARE_OF_TWO_LABELS
    )


def cannot_be_labels(pairs: Pairs) -> bool:
    """Tell whether targets are certainly texts: few occur again, or most sources have several.

    Args:
        pairs: the pairs of a split; fewer than 20 can tell nothing, which returns False.
    """
    if len(pairs) < MIN_PAIRS_TO_TELL:
        return False
    targets = set(map(str.strip, pairs.target))
    sources = Counter(source for source, _ in set(zip(pairs.source, map(str.strip, pairs.target), strict=True)))
    several = sum(count > 1 for count in sources.values())
    return len(targets) > MAX_DIFFERENT_SHARE * len(pairs) or several > MAX_DIFFERENT_SHARE * len(sources)


def spread(texts: Sequence[str], count: int = MAX_INSPECTED_TEXTS) -> Sequence[str]:
    """Return about `count` of the texts, evenly over all of them.

    Args:
        texts: the texts.
        count: the number of texts to return; up to twice as many are returned, and all texts if there are fewer.
    """
    return [texts[row] for row in range(0, len(texts), max(len(texts) // count, 1))]
