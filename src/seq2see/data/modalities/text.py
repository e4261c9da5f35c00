"""The text modality: sources are texts, read as the tokens of a learned vocabulary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

from seq2see.core.box import Box
from seq2see.core.errors import DataError, Seq2SeeError, TokenError
from seq2see.core.registry import shorten
from seq2see.core.token import Token
from seq2see.core.unicode import is_text
from seq2see.core.words import Span, choose_unit, find_words
from seq2see.data.formats.image_paths import IMAGE_ENDINGS
from seq2see.data.modalities.modality import DataKind, Grid, Name, Progress, Sentence, Sources, Target
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store, store_ids
from seq2see.data.storage.packed import Sequences, pack
from seq2see.data.tokenizers import Tokenizer


@dataclass(frozen=True)
class TextModality:
    """Texts as sources.

    Args:
        tokenizer: divides a text into tokens.
    """

    name: ClassVar[Name] = "text"
    reads: ClassVar[DataKind] = "text"
    max_batch: ClassVar[int | None] = None

    tokenizer: Tokenizer

    @property
    def sizes(self) -> Mapping[str, int]:
        """The sizes that an encoder of texts is built with."""
        return {"vocabulary": len(self.tokenizer)}

    def check(self, given: object) -> str:
        """A text as a caller gave it."""
        return check_text(given)

    def accepts(self, file: Path) -> bool:
        """Any file but an image."""
        return not is_image_file(file)

    def is_blank(self, source: str) -> bool:
        """Whether the text has nothing but spaces."""
        return not source.strip()

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """None: a text can always be read."""
        return {}

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> Sequences:
        """The ids of many texts."""
        return pack(self.tokenizer.ids(sources))

    def store(
        self, pairs: Pairs, target: Target, *, fingerprint: str, max_tokens: int, cache: Path, encoder: object = None
    ) -> Store:
        """The ids of both sides, from the cache if they were made before."""
        return store_ids(
            pairs, self.tokenizer, target, fingerprint=fingerprint, max_tokens=max_tokens, folder=cache / fingerprint
        )

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """The tokens of each text."""
        return [len(ids) for ids in self.tokenizer.ids(sources)]

    def cost(self, source: str) -> int:
        """The tokens of one text."""
        return len(self.tokenizer.ids([source])[0])

    def tokens(self, source: str) -> tuple[Token, ...]:
        """The tokens of a text, the end mark last."""
        return self.tokenizer.encode(source).tokens

    def sentences(self, source: str) -> list[Sentence]:
        """The whole text as one sentence, with its end mark."""
        encoding = self.tokenizer.encode(source)
        return [Sentence(encoding.ids, encoding.tokens)]

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """A position is a token."""
        return self.tokens(source)

    def occlusion_units(self, source: str, grid: Grid) -> list[Span]:
        """The words of the text."""
        return find_words(source, choose_unit([source]))

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
        """The text, and then once without each word."""
        return self.prepare([source, *(remove_span(source, span) for span in check_spans(units))])

    def group_references(self, pairs: Pairs) -> Pairs:
        """A text with all targets that its line lists."""
        return pairs.group_lists()

    def to_json(self) -> str:
        """The tokenizer's file."""
        return self.tokenizer.to_json()


def is_image_file(file: Path) -> bool:
    """Whether there is a file of this name, and its ending is that of an image."""
    return file.suffix.lower() in IMAGE_ENDINGS and file.is_file()


def check_text(given: object) -> str:
    """A text that can be written as Unicode; anything else is an error."""
    if not isinstance(given, str):
        raise TokenError(f"predict takes a text, or a list of them; got {type(given).__name__}.")
    if not is_text(given):
        raise TokenError(f"texts must be Unicode that can be written; got {shorten(given)}; fix its bytes.")
    return given


def check_spans(units: Sequence[Span] | Sequence[Box]) -> list[Span]:
    """Units of a text; regions of an image are an error."""
    spans = [unit for unit in units if not isinstance(unit, Box)]
    if len(spans) < len(units):
        raise Seq2SeeError("what is occluded in a text must be spans of it (start, end); got regions of an image.")
    return spans


def remove_span(text: str, span: Span) -> str:
    """The text without a span; a word goes with the space before it, so that a comma behind it follows a word."""
    left, right = text[: span[0]], text[span[1] :]
    return ((left[:-1] if left[-1:].isspace() else left) + right).strip()
