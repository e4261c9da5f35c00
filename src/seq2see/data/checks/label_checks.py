"""Checks of the labels of a data set: whether they are labels, several in one, or written in two ways."""

from seq2see.core.registry import shorten
from seq2see.data.checks.infer import infer_labels
from seq2see.data.formats.headers import list_names
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import Finding, Origin, Pairs


def find_labels_as_sources(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find labels in the place of sources, as in Yelp's files.

    Args:
        pairs: the pairs of a split.
        origin: their file, which findings name.
    """
    if infer_labels(pairs) or not infer_labels(Pairs(pairs.target, pairs.source)):
        return []
    some = ", ".join(repr(label) for label in sorted(set(pairs.source))[:3])
    message = f"the sources are few and come again and again, as labels do ({some}), and the targets do not"
    remedy = "if they are labels, say so with --fields SOURCE,TARGET, or 2,1 for a file without a header"
    return [Finding("warning", message, remedy, origin.file)]


def find_single_label(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find training data with one label alone.

    Args:
        pairs: the training data.
        origin: their file, which findings name.
    """
    told = pairs.target if infer_labels(pairs) else ()
    labels = {label for target in told for label in split_labels(target, pairs.separator)}
    if len(labels) != 1:
        return []
    message = f"all {len(pairs):,} sources have the label {shorten(min(labels))}, and there must be another to choose"
    return [Finding("warning", message, "add sources with other labels", origin.holding("target"))]


def find_joined_labels(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find labels that are several in one, if the configuration names no separator.

    Args:
        pairs: the pairs of a split.
        origin: their file, which findings name.
    """
    between = find_separator(pairs) if infer_labels(pairs) else None
    if between is None:
        return []
    asked = f'tokens.target={{kind: labels, separator: "{between}"}}'
    if pairs.separator is not None:
        message = "sources have lists of labels, and each label is a question of its own"
        return [Finding("note", message, f"a configuration of your own must say {asked}", origin.file)]
    joined = min(label.strip() for label in pairs.target if between in label)
    message = f"labels such as {shorten(joined)} look like several in one"
    return [Finding("note", message, f"if they are, say {asked}", origin.holding("target"))]


def find_labels_alike(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find labels that differ only in capitals, which would be classes of their own.

    Args:
        pairs: the pairs of a split.
        origin: their file, which findings name.
    """
    told = pairs.target if infer_labels(pairs) else ()
    groups: dict[str, set[str]] = {}
    for label in {label for target in told for label in split_labels(target, pairs.separator)}:
        groups.setdefault(label.casefold(), set()).add(label)
    alike = min((sorted(group) for group in groups.values() if len(group) > 1), default=None)
    if alike is None:
        return []
    message = f"labels differ in capitals only ({list_names(alike)}), and each is a class of its own"
    return [Finding("note", message, "write them alike if they are one", origin.holding("target"))]


def find_separator(pairs: Pairs) -> str | None:
    """Find the separator of several labels of one source: split there, labels occur alone, or become fewer.

    Args:
        pairs: pairs of sources and labels.
    """
    if pairs.separator is not None:
        return pairs.separator
    labels = set(map(str.strip, pairs.target))
    for between in ("|", ";", ","):
        joined = {label for label in labels if between in label}
        parts = {part.strip() for label in joined for part in label.split(between)}
        alone = labels - joined
        if parts & alone or (len(joined) > 1 and len(parts | alone) < len(labels)):
            return between
    return None
