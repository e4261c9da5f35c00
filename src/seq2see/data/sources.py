"""Sources of any kind: what an encoder is called with, and how it is made from what people bring."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np
from jaxtyping import Bool, Int64
from torch import Tensor

from seq2see.core.errors import ConfigError, TokenError
from seq2see.core.foreign import is_admitted
from seq2see.core.registry import find, is_foreign
from seq2see.data.sequences import Sequences


@runtime_checkable
class Sources(Protocol):
    """All sources of a split, made ready."""

    @property
    def lengths(self) -> Int64[np.ndarray, " _"]: ...  # what each costs the encoder: tokens of a text, 1 for a picture
    def __len__(self) -> int: ...
    def gather(self, rows: Sequence[int]) -> tuple[Tensor, Bool[Tensor, "..."]]: ...  # what an encoder is called with


@runtime_checkable
class Cutter(Protocol):
    """A learned way to cut sources: a tokenizer for texts, or its like for pictures and documents."""

    @property
    def sizes(
        self,
    ) -> Mapping[str, int]: ...  # what an encoder must be told: {"vocabulary": 100}, {"picture_size": 224}
    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: Any = None) -> Sources: ...
    def is_blank(self, source: str) -> bool: ...
    def to_json(self) -> str: ...


def make_ready(sources: Sources, *, training: bool, progress: Callable[[int, int], None] | None = None) -> None:
    """Do at once what would take long later, if the sources have such work; `progress` hears how much is done."""
    fill = getattr(sources, "fill", None)
    if fill is not None:
        fill(training=training, progress=progress)


def vary(sources: Sources, *, seed: int, epoch: int) -> Sources:
    """The sources as one epoch of training sees them: some kinds have twins, and chance decides between them."""
    varied = getattr(sources, "vary", None)
    return sources if varied is None else varied(seed=seed, epoch=epoch)


def identify(sources: Sources) -> Iterable[Any]:
    """Something for each source that is the same for the same text or picture; documents all differ."""
    if isinstance(sources, Sequences):
        return (sources[row].tobytes() for row in range(len(sources)))
    places = getattr(sources, "places", None)  # of a picture among all pictures
    return range(len(sources)) if places is None else places.tolist()


def read_cutter(text: str) -> Any:
    """What `to_json` of a cutter described; a file without a kind is that of a tokenizer."""
    try:
        kind = str(json.loads(text).get("kind", ""))
    except (ValueError, AttributeError) as error:
        raise TokenError(f"this is not a tokenizer file: {error}.") from None
    if is_foreign(kind) and not is_admitted(kind):
        raise ConfigError(f"a tokenizer names code ({kind}) that the configuration of its run does not; do not use it.")
    try:
        factory = find("tokenizer", kind) if kind else None
    except ConfigError as error:
        raise TokenError(f"this is not a tokenizer file: {error}.") from None
    if factory is None:
        from seq2see.data.tokenise import Tokenizer

        return Tokenizer.from_json(text)
    if not hasattr(factory, "from_json"):
        raise TokenError(f"this is not a tokenizer file: {kind} reads none.")
    return factory.from_json(text)
