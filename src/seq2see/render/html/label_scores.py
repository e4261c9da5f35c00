"""The scores of labels, as the page of a report draws them."""

from dataclasses import asdict
from typing import TYPE_CHECKING

from seq2see.metrics.class_scores import ClassScores
from seq2see.render.token_label import show_label

if TYPE_CHECKING:
    from pydantic import JsonValue

MAX_MATRIX = 100  # labels of a confusion matrix that a reader can walk through


def pack_classes(scores: ClassScores) -> "dict[str, JsonValue]":
    """Return the payload of the scores of labels.

    Args:
        scores: the scores; of a confusion matrix of more than 100 labels, those with most mistakes and a common one.
    """
    confusion, packed = scores.confusion, None
    if confusion is not None:
        others = len(confusion.labels) - MAX_MATRIX + 1
        seen = confusion.pool(MAX_MATRIX, name=f"{others:,} other labels")
        packed = {"labels": [show_label(label) for label in seen.labels], "counts": seen.counts.tolist()}
    return {
        "classes": [{**asdict(each), "label": show_label(each.label)} for each in scores.rank()],
        "means": [asdict(each) for each in scores.means],
        "confusion": packed,
    }
