"""The data doctor: what will hurt a training, found before any time is spent."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from seq2see.core.errors import DataError
from seq2see.data.pairs import Finding, Origin, Pairs
from seq2see.data.readers import read_pairs

RARE = 5  # a character seen less often than this in training will hardly be learned


@dataclass(frozen=True)
class Diagnosis:
    """The pairs of each split that could be read, and everything found."""

    splits: Mapping[str, Pairs]
    findings: Sequence[Finding]

    @property
    def errors(self) -> list[Finding]:
        """What must be mended before training."""
        return [finding for finding in self.findings if finding.level == "error"]


def examine(origins: Mapping[str, Origin]) -> Diagnosis:
    """Read every split (the first is the training data) and look for all that could be wrong."""
    splits: dict[str, Pairs] = {}
    findings: list[Finding] = []
    for name, origin in origins.items():
        try:
            splits[name], odd = read_pairs(origin)
        except DataError as error:
            findings.append(Finding("error", str(error).rstrip("."), "nothing else of this file was looked at"))
            continue
        findings += odd + _find_duplicates(splits[name], origin) + _find_outliers(splits[name], origin)
    train, *others = origins
    if train in splits:
        for name in others:
            if name in splits:
                findings += _find_leaks(splits[train], splits[name], origins[name])
                findings += _find_unseen(splits[train], splits[name], origins[name])
    return Diagnosis(splits, findings)


def _find_duplicates(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Pairs that stand there twice, and sources with more than one target."""
    seen: dict[str, set[str]] = {}
    twice, torn = [], []
    for source, target, line in zip(pairs.source, pairs.target, pairs.lines, strict=True):
        targets = seen.setdefault(source, set())
        if target in targets:
            twice.append(line)
        elif targets:
            torn.append(line)
        targets.add(target)
    return [
        *_finding("note", "the same pair stands there before", "harmless unless there are many", origin, twice),
        *_finding("note", "the same source has another target before", "no model can learn both", origin, torn),
    ]


def _find_outliers(pairs: Pairs, origin: Origin) -> list[Finding]:
    """Texts much longer than the rest, and pairs whose lengths do not fit each other."""
    source = np.array([len(text) for text in pairs.source])
    target = np.array([len(text) for text in pairs.target])
    lines = np.array(pairs.lines)
    longest = np.maximum(source, target)
    limit = max(10 * float(np.median(longest)), 200)
    ratio = np.log((target + 5) / (source + 5))  # a few characters more or less say nothing in short texts
    spread = max(4 * float(np.std(ratio)), np.log(4))
    skewed = np.abs(ratio - np.median(ratio)) > spread
    return [
        *_finding(
            "warning",
            f"over {limit:.0f} characters, ten times the usual",
            "over-long pairs are left out of training (data.max_tokens sets the limit)",
            origin,
            lines[longest > limit].tolist(),
        ),
        *_finding(
            "warning", "source and target differ oddly in length", "is the pair right?", origin, lines[skewed].tolist()
        ),
    ]


def _find_leaks(train: Pairs, other: Pairs, origin: Origin) -> list[Finding]:
    """Held-out sources that the model will have seen."""
    known = set(train.source)
    leaked = [line for source, line in zip(other.source, other.lines, strict=True) if source in known]
    share = f"{len(leaked) / len(other):.1%} of its sources stand in the training data too"
    return _finding("warning", f"leakage: {share}", "remove them, or the score will flatter", origin, leaked)


def _find_unseen(train: Pairs, other: Pairs, origin: Origin) -> list[Finding]:
    """Held-out characters that training never or hardly showed."""
    findings = []
    for side, learned, needed in (("source", train.source, other.source), ("target", train.target, other.target)):
        counts = Counter(character for text in learned for character in set(text))
        lines: list[int] = []
        strange: Counter[str] = Counter()
        for text, line in zip(needed, other.lines, strict=True):
            rare = {character for character in text if counts[character] < RARE}
            strange.update(rare)
            lines += [line] if rare else []
        shown = " ".join(f"{c!r}" for c, _ in strange.most_common(8))
        message = f"{side} characters that fewer than {RARE} training pairs have: {shown}"
        findings += _finding("warning", message, "add examples with them to the training data", origin, lines)
        findings += _find_new_words(side, learned, needed, origin)
    return findings


def _find_new_words(side: str, learned: Sequence[str], needed: Sequence[str], origin: Origin) -> list[Finding]:
    """How much of the held-out text consists of words that training never showed."""
    known = {word for text in learned for word in text.split()}
    words = [word for text in needed for word in text.split()]
    new = sum(word not in known for word in words) / max(len(words), 1)
    message = f"{new:.1%} of the {side} words never occur in the training data"
    remedy = "characters or subwords (tokens: bpe) can spell them, words cannot"
    return [Finding("note", message, remedy, origin.file)] if new > 0.01 else []


def _finding(level: str, message: str, remedy: str, origin: Origin, lines: list[int]) -> list[Finding]:
    if not lines:
        return []
    assert level in ("warning", "note")
    return [Finding("warning" if level == "warning" else "note", message, remedy, origin.file, lines[0], len(lines))]
