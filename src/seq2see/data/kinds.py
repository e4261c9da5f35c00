"""What kind of data people brought, guessed from the pairs themselves."""

from collections.abc import Sequence
from typing import Literal

from seq2see.data.album import is_picture
from seq2see.data.pairs import Pairs

Kind = Literal["text", "pictures"]
LOOKED_AT = 1_000  # sources and targets; more would say the same
REPEATED = {"text": 4, "pictures": 2}  # a label has at least so many different sources, on average
MOST = 200  # different labels
SHORT = 4  # words of a label


def guess_kind(pairs: Pairs) -> Kind:
    """Whether sources are pictures: the reader has made paths of all of them absolute, or of none."""
    return "pictures" if len(pairs) and all(map(is_picture, _spread(pairs.source))) else "text"


def guess_labels(pairs: Pairs) -> bool:
    """Whether targets are labels: short, few for so many pairs, and never two for one source."""
    targets = list(pairs.target)
    if not 2 <= len(set(targets)) <= min(len(set(pairs.source)) / REPEATED[guess_kind(pairs)], MOST):
        return False
    if any(len(text.split()) > SHORT for text in _spread(targets)):
        return False
    return len(set(zip(pairs.source, targets, strict=True))) == len(set(pairs.source))


def _spread(texts: Sequence[str]) -> Sequence[str]:
    """Some of the texts, from all over."""
    return [texts[row] for row in range(0, len(texts), max(len(texts) // LOOKED_AT, 1))]
