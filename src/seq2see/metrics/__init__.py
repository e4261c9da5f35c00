"""Scores of outputs: text, captions, labels, alignments, pointing, and the significance of a difference.

Every function is public and works on plain texts and numbers, without a model.
"""

__all__ = [
    "alignment",
    "caption",
    "cider",
    "class_scores",
    "confusion",
    "label_significance",
    "labels",
    "length",
    "mcnemar",
    "meteor",
    "pointing",
    "rank",
    "significance",
    "text",
]
