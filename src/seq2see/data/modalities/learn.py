"""From the `tokens` section of a configuration, or from the files of a run folder, to modalities and targets."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, runtime_checkable

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.registry import KeyPath, find, is_foreign, part
from seq2see.data.modalities.label_set import LabelSet
from seq2see.data.modalities.modality import Modality, Target
from seq2see.data.modalities.text import TextModality
from seq2see.data.tokenizers import Tokenizer
from seq2see.system.foreign_code import is_admitted

Spec = str | dict[str, object] | None


@runtime_checkable
class _Learnable(Protocol):
    def learn(self, texts: Sequence[str]) -> Modality | Tokenizer: ...


@runtime_checkable
class TrainableTokenizer(Protocol):
    """A kind of tokenizer with its options: words, bpe and others."""

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """The tokenizer with the vocabulary of these texts."""


@runtime_checkable
class _LearnsLabels(Protocol):
    def learn(self, targets: Sequence[str]) -> LabelSet: ...


def learn_modality(spec: Spec, sources: Sequence[str], *, path: KeyPath) -> Modality:
    """The modality that a configuration names, with what it learns from the sources of the training data."""
    kind: _Learnable = part("tokenizer", spec, path=path)()
    return as_modality(kind.learn(sources))


def learn_tokenizer(spec: Spec, texts: Sequence[str], *, path: KeyPath) -> Tokenizer:
    """The tokenizer that a configuration names, learned from texts."""
    kind: TrainableTokenizer = part("tokenizer", spec, path=path)()
    return kind.learn(texts)


def learn_labels(spec: Spec, targets: Sequence[str], *, path: KeyPath) -> LabelSet:
    """The labels of the training data, as a configuration says that they are written."""
    kind: _LearnsLabels = part("tokenizer", spec or "labels", path=path)()
    return kind.learn(targets)


def as_modality(learned: Modality | Tokenizer) -> Modality:
    """A modality as it is; a tokenizer reads texts."""
    return TextModality(learned) if isinstance(learned, Tokenizer) else learned


def read_modality(file: str) -> Modality:
    """The modality that `to_json` described; a file without a kind is that of a tokenizer."""
    found: Modality | Tokenizer = _find_class(file).from_json(file)
    return as_modality(found)


def read_target(file: str) -> Target:
    """The target that `to_json` described."""
    found: Target = _find_class(file).from_json(file)
    return found


def _find_class(file: str) -> Any:
    """The class whose `to_json` wrote a file; what somebody's own class is cannot be known."""
    try:
        kind = str(json.loads(file).get("kind", ""))
    except (ValueError, AttributeError) as error:
        raise TokenError(f"this is not a tokenizer file: {error}.") from None
    if is_foreign(kind) and not is_admitted(kind):
        raise ConfigError(f"a tokenizer names code ({kind}) that the configuration of its run does not; do not use it.")
    try:
        factory = find("tokenizer", kind) if kind else Tokenizer
    except ConfigError as error:
        raise TokenError(f"this is not a tokenizer file: {error}.") from None
    if not hasattr(factory, "from_json"):
        raise TokenError(f"this is not a tokenizer file: {kind} reads none.")
    return factory
