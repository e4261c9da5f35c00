"""The data doctor: it finds before training what is wrong with the data."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Literal

import numpy as np
from jaxtyping import Bool, Int64

from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.core.words import has_spaces
from seq2see.data.checks.image_checks import drop_unreadable, find_copies
from seq2see.data.checks.infer import infer_labels, infer_modality, spread
from seq2see.data.checks.label_checks import (
    find_joined_labels,
    find_labels_alike,
    find_labels_as_sources,
    find_separator,
    find_single_label,
)
from seq2see.data.checks.swapped_sides import find_swapped_sides
from seq2see.data.formats.read import read_pairs
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import SIDES, Finding, Origin, Pairs, Side

Level = Literal["warning", "note"]
Usable = tuple[Pairs, list[Finding]]  # the pairs of a split, and what was found while they were read
MIN_PAIRS_WITH_CHARACTER = 5  # a rarer character will hardly be learned


@dataclass(frozen=True)
class Diagnosis:
    """The result of checking data.

    Args:
        splits: the pairs of each split that could be read, by its name.
        findings: everything that is wrong or odd.
    """

    splits: Mapping[str, Pairs]
    findings: Sequence[Finding]

    def __str__(self) -> str:
        return "\n".join(f"{each.level}: {each}" for each in self.findings) or "No problems found."

    @property
    def errors(self) -> list[Finding]:
        """The findings that must be fixed before training."""
        return [finding for finding in self.findings if finding.level == "error"]


def examine(origins: Mapping[str, Origin], *, read: Mapping[Origin, Usable] | None = None) -> Diagnosis:
    """Read every split and find what could be wrong.

    Args:
        origins: the files of each split by its name; the first is the training data.
        read: what `read_usable` gave for some of them before, so that nothing is read twice.
    """
    splits: dict[str, Pairs] = {}
    findings: list[Finding] = []
    for name, origin in origins.items():
        try:
            splits[name], odd = _check(origin, (read or {}).get(origin) or read_usable(origin))
        except DataError as error:
            findings.append(Finding("error", str(error).rstrip("."), "nothing else of this file was checked"))
            continue
        findings += odd
    train, *others = origins
    if train in splits:
        findings += find_single_label(splits[train], origins[train])
        findings += _find_rare(splits[train], splits[train], origins[train], "note")
        for name in [name for name in others if name in splits]:
            findings += _compare(splits[train], splits[name], origins[name])
    return Diagnosis(splits, findings)


def read_usable(origin: Origin) -> Usable:
    """Read the pairs of one split, without images that cannot be opened, and what was found.

    Args:
        origin: the files of the split.
    """
    pairs, findings = read_pairs(origin)
    usable, broken = SOURCE_CHECKS[infer_modality(pairs)](pairs, origin)
    return usable, findings + broken


def keep_all(pairs: Pairs, origin: Origin) -> Usable:
    """Return all pairs: a text can always be read.

    Args:
        pairs: pairs whose sources are texts.
        origin: their file, which is not read.
    """
    return pairs, []


SOURCE_CHECKS = {"text": keep_all, "images": drop_unreadable}


def _check(origin: Origin, usable: Usable) -> tuple[Pairs, list[Finding]]:
    """Return the pairs of one split, and what is odd about them alone."""
    pairs, findings = usable
    findings = findings + find_labels_as_sources(pairs, origin) + _find_duplicates(pairs, origin)
    if not infer_labels(pairs):  # a label is shorter than its source
        findings += _find_outliers(pairs, origin)
    if len(_sides(pairs)) == len(SIDES):
        findings += find_swapped_sides(pairs, origin)
    return pairs, findings + find_joined_labels(pairs, origin) + find_labels_alike(pairs, origin)


def _compare(train: Pairs, other: Pairs, origin: Origin) -> list[Finding]:
    """Find what is odd about a held-out split in comparison with the training data."""
    kinds = infer_modality(train), infer_modality(other)
    if kinds[0] != kinds[1]:
        message = f"all data must be of one kind; here are {kinds[1]}, but the training data is {kinds[0]}"
        return [Finding("error", message, "give others", origin.file)]
    leaks = _find_copies(train, other, origin) if kinds[0] == "images" else _find_leaks(train, other, origin)
    if infer_labels(train):
        return leaks + _find_new_labels(train, other, origin)
    return leaks + _find_rare(train, other, origin, "warning") + _find_new_words(train, other, origin)


def _sides(pairs: Pairs) -> Sequence[Side]:
    """Return the sides that are texts."""
    texts = {"text": SIDES, "images": SIDES[1:]}[infer_modality(pairs)]
    return [side for side in texts if side == "source" or not infer_labels(pairs)]


def _find_duplicates(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find pairs that occur twice, and sources with more than one target."""
    seen: dict[str, set[str]] = {}
    twice, torn = [], []
    for source, target, line in zip(pairs.source, pairs.target, pairs.lines, strict=True):
        targets = seen.setdefault(source, set())
        if target in targets:
            twice.append(line)
        elif targets:
            torn.append(line)
        targets.add(target)
    if infer_modality(pairs) == "images" and not infer_labels(pairs):
        torn = []  # many captions for one image are as it should be
    return [
        *_finding("note", "the same pair occurs before", "harmless unless there are many", origin, twice),
        *_finding("note", "the same source has another target before", "no model can learn both", origin, torn),
    ]


def _find_outliers(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Find texts much longer than the rest, and pairs whose lengths do not fit each other."""
    lengths = [np.array([len(text) for text in getattr(pairs, side)]) for side in _sides(pairs)]
    lines = np.array(pairs.lines)
    longest = np.max(lengths, axis=0)
    usual = float(np.median(longest))
    limit = max(10 * usual, 200)
    return [
        *_finding(
            "warning",
            f"over {limit:.0f} characters, where {usual:.0f} are usual",
            "over-long pairs are left out of training and validation (data.max_tokens sets the limit)",
            origin,
            lines[longest > limit].tolist(),
        ),
        *_finding(
            "warning",
            "source and target differ oddly in length",
            "check that the pair is right",
            origin,
            lines[_find_skewed(*lengths)].tolist() if len(lengths) == 2 else [],
        ),
    ]


def _find_skewed(source: Int64[np.ndarray, " n"], target: Int64[np.ndarray, " n"]) -> Bool[np.ndarray, " n"]:
    ratio = np.log((target + 5) / (source + 5))  # a few characters more or less say nothing in short texts
    spread = max(4 * float(np.std(ratio)), np.log(4))
    return np.asarray(np.abs(ratio - np.median(ratio)) > spread)


def _find_copies(train: Pairs, other: Pairs, origin: Origin) -> list[Finding]:
    """Find held-out images that are training images, too, under any name."""
    copies = find_copies(train.source, other.source)
    lines = [line for source, line in zip(other.source, other.lines, strict=True) if source in copies]
    share = f"{len(copies) / len(set(other.source)):.1%} of its images are in the training data too"
    named = "" if not copies else f", such as {min(copies.items())[0]} as {min(copies.items())[1]}"
    return _finding("warning", f"leakage: {share}{named}", "remove them, or the score will flatter", origin, lines)


def _find_new_labels(train: Pairs, other: Pairs, origin: Origin) -> list[Finding]:
    """Find labels that the training data does not have."""
    between = find_separator(train)
    known = {label for target in train.target for label in split_labels(target, between)}
    unknown = [set(split_labels(target, between)) - known for target in other.target]
    new, lines = set().union(*unknown), [line for labels, line in zip(unknown, other.lines, strict=True) if labels]
    message = f"labels ({len(new)}) that the training data does not have, such as {shorten(min(new, default=''))}"
    return _finding("warning", message, "add examples of them to the training data", origin, lines, "target")


def _find_leaks(train: Pairs, other: Pairs, origin: Origin) -> list[Finding]:
    """Find held-out sources that are training sources, too."""
    known = set(train.source)
    leaked = [line for source, line in zip(other.source, other.lines, strict=True) if source in known]
    share = f"{len(leaked) / len(other):.1%} of its sources are in the training data too"
    return _finding("warning", f"leakage: {share}", "remove them, or the score will flatter", origin, leaked)


def _find_rare(train: Pairs, needed: Pairs, origin: Origin, level: Level) -> list[Finding]:
    """Find characters that the training data hardly has or does not have."""
    findings = []
    for side in _sides(train):
        counts = Counter(chain.from_iterable(map(set, getattr(train, side))))
        texts = getattr(needed, side)
        rare = {character for character in set().union(*texts) if counts[character] < MIN_PAIRS_WITH_CHARACTER}
        lines = [line for text, line in zip(texts, needed.lines, strict=True) if not rare.isdisjoint(text)]
        shown = " ".join(repr(character) for character in sorted(rare)[:8])
        few = f"fewer than {MIN_PAIRS_WITH_CHARACTER} training pairs"
        message = f"{side} characters ({len(rare)}) that {few} have, such as {shown}"
        findings += _finding(level, message, "add examples with them to the training data", origin, lines, side)
    return findings


def _find_new_words(train: Pairs, needed: Pairs, origin: Origin) -> list[Finding]:
    """Find how many held-out words the training data does not have."""
    findings = []
    for side in _sides(train):
        if not has_spaces(spread(getattr(train, side))):
            continue  # each letter is a word, and rare ones are found above
        known = {word for text in getattr(train, side) for word in text.split()}
        words = [
            (word, line)
            for text, line in zip(getattr(needed, side), needed.lines, strict=True)
            for word in text.split()
        ]
        new = [line for word, line in words if word not in known]
        message = f"{len(new) / max(len(words), 1):.1%} of the {side} words never occur in the training data"
        remedy = "characters or subwords (tokens: bpe) can spell them, words cannot"
        findings += _finding("note", message, remedy, origin, new, side) if 100 * len(new) > len(words) else []
    return findings


def _finding(
    level: Level, message: str, remedy: str, origin: Origin, lines: list[int], side: Side = "source"
) -> list[Finding]:
    """Make one finding for all lines that share it."""
    first = lines[0] if lines and origin.has_lines else None
    return [Finding(level, message, remedy, origin.holding(side), first, len(lines))] if lines else []
