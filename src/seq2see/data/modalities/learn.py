"""From the `tokens` section of a configuration, or from the files of a run folder, to modalities and targets."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Protocol, runtime_checkable

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.json_text import read_json
from seq2see.core.part_table import TABLE
from seq2see.core.registry import KeyPath, find, is_trusted, names, part, shorten
from seq2see.data.modalities.label_set import LabelSet
from seq2see.data.modalities.modality import Modality
from seq2see.data.modalities.target import Target
from seq2see.data.modalities.text import TextModality
from seq2see.data.tokenizers import Tokenizer
from seq2see.system.foreign_code import foreign_kinds

Spec = str | dict[str, object] | None


@runtime_checkable
class _Learnable(Protocol):
    def learn(self, texts: Sequence[str]) -> Modality | Tokenizer: ...


@runtime_checkable
class TrainableTokenizer(Protocol):
    """A kind of tokenizer with its options: words, bpe and others."""

    def learn(self, texts: Iterable[str]) -> Tokenizer:
        """Return the tokenizer with the vocabulary of these texts.

        Args:
            texts: the raw training texts.
        """


@runtime_checkable
class _LearnsLabels(Protocol):
    def learn(self, targets: Sequence[str]) -> LabelSet: ...


def learn_modality(spec: Spec, sources: Sequence[str], *, path: KeyPath) -> Modality:
    """Return the modality that a configuration names, with what it learns from the sources of the training data.

    Args:
        spec: a tokenizer, `images` or `documents`: a name, or {kind: name, option: value}.
        sources: raw texts, or paths of images.
        path: the keys of the configuration that say so, for errors.
    """
    kind: _Learnable = part("tokenizer", spec, path=path)()
    return as_modality(kind.learn(sources))


def learn_tokenizer(spec: Spec, texts: Sequence[str], *, path: KeyPath) -> Tokenizer:
    """Return the tokenizer that a configuration names, learned from texts.

    Args:
        spec: a name, or {kind: name, option: value}.
        texts: the raw training texts.
        path: the keys of the configuration that say so, for errors.
    """
    kind: TrainableTokenizer = part("tokenizer", spec, path=path)()
    return kind.learn(texts)


def learn_labels(spec: Spec, targets: Sequence[str], *, path: KeyPath) -> LabelSet:
    """Return the labels of the training data, divided as a configuration says.

    Args:
        spec: `labels`, or {kind: labels, separator: text}; None means one label for each source.
        targets: the target of each source of the training data.
        path: the keys of the configuration that say so, for errors.
    """
    kind: _LearnsLabels = part("tokenizer", spec or "labels", path=path)()
    return kind.learn(targets)


def as_modality(learned: Modality | Tokenizer) -> Modality:
    """Return a modality as it is, and for a tokenizer the modality of texts.

    Args:
        learned: what `learn` returned.
    """
    return TextModality(learned) if isinstance(learned, Tokenizer) else learned


def read_modality(file: str) -> Modality:
    """Return the modality that `to_json` described; a file without a kind is that of a tokenizer.

    Args:
        file: the content of the file.

    Raises:
        TokenError: it is no such file.
        ConfigError: it names foreign code that the configuration of its run does not name.
    """
    found: Modality | Tokenizer = _find_class(file).from_json(file)
    if not hasattr(as_modality(found), "reads"):
        raise TokenError("this is a file of labels; it must say how sources are read.")
    return as_modality(found)


def read_target(file: str) -> Target:
    """Return the target that `to_json` described.

    Args:
        file: the content of the file.

    Raises:
        TokenError: it is no such file.
        ConfigError: it names foreign code that the configuration of its run does not name.
    """
    found: Target = _find_class(file).from_json(file)
    if not hasattr(found, "form"):
        raise TokenError("this file says how sources are read; it must be that of a text's tokenizer, or of labels.")
    return found


def names_plugin(tokens: object) -> bool:
    """Tell whether the tokens of a configuration name a tokenizer of a plug-in, whose file may have parts of its own.

    Args:
        tokens: section `tokens` as dicts, lists and plain values.
    """
    installed = set(names("tokenizer")) - TABLE["tokenizer"].keys()
    return bool(foreign_kinds(tokens)) or any(kind in installed for kind in _list_texts(tokens))


def _list_texts(tree: object) -> list[str]:
    branches = tree.values() if isinstance(tree, Mapping) else tree if isinstance(tree, list | tuple) else ()
    return [tree] if isinstance(tree, str) else [text for branch in branches for text in _list_texts(branch)]


def _find_class(file: str) -> Any:
    """Return the class whose `to_json` wrote a file; a class of the user's own is found by the kind in its file."""
    try:
        kind = read_json(file).get("kind", "")
    except (ValueError, AttributeError) as error:
        raise TokenError(f"this is not a tokenizer file: {shorten(str(error))[1:-1]}.") from None
    if not isinstance(kind, str):
        raise TokenError(f"this is not a tokenizer file: its kind must be a name; got {shorten(kind)}.")
    if not is_trusted(kind):
        raise ConfigError(
            f"a tokenizer names code ({shorten(kind)[1:-1]}) that the configuration of its run does not; do not use it."
        )
    try:
        factory = find("tokenizer", kind) if kind else Tokenizer
    except ConfigError as error:
        raise TokenError(f"this is not a tokenizer file: {error}.") from None
    if not hasattr(factory, "from_json"):
        raise TokenError(f"this is not a tokenizer file: {kind} reads none.")
    return factory
