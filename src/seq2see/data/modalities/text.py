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
from seq2see.data.modalities.modality import DataKind, Grid, Name, Progress, Sentence, Sources
from seq2see.data.modalities.target import Target
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store, store_ids
from seq2see.data.storage.packed import Sequences, pack
from seq2see.data.tokenizers import Tokenizer


@dataclass(frozen=True)
class TextModality:
    """Texts as sources.

    Args:
        tokenizer: the tokenizer that divides a text into tokens.
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
        """Return a text as a caller gave it.

        Args:
            given: any object; what is no text, or no valid Unicode, is an error.
        """
        return check_text(given)

    def accepts(self, file: Path) -> bool:
        """Return True for any file but an image.

        Args:
            file: a path, whose file need not exist.
        """
        return not is_image_file(file)

    def is_blank(self, source: str) -> bool:
        """Tell whether the text has nothing but spaces.

        Args:
            source: a raw text.
        """
        return not source.strip()

    def find_broken(self, sources: Iterable[str], *, progress: Progress | None = None) -> dict[str, DataError]:
        """Return nothing: a text can always be read.

        Args:
            sources: raw texts, which are not read.
            progress: never called.
        """
        return {}

    def prepare(self, sources: Sequence[str], *, cache: Path | None = None, encoder: object = None) -> Sequences:
        """Return the ids of many texts, each with the end mark last.

        Args:
            sources: raw texts.
            cache: ignored; `store` uses the cache.
            encoder: ignored; texts have no features computed beforehand.
        """
        return pack(self.tokenizer.ids(sources))

    def store(
        self, pairs: Pairs, target: Target, *, fingerprint: str, max_tokens: int, cache: Path, encoder: object = None
    ) -> Store:
        """Return the ids of both sides, from the cache if they were made before.

        Args:
            pairs: the pairs of a split.
            target: the vocabulary or labels of the targets.
            fingerprint: the name of the content, and of its folder in the cache.
            max_tokens: the largest number of ids of a side, the end mark included; longer pairs are left out.
            cache: the folder of prepared data.
            encoder: ignored; texts have no features computed beforehand.
        """
        return store_ids(
            pairs, self.tokenizer, target, fingerprint=fingerprint, max_tokens=max_tokens, folder=cache / fingerprint
        )

    def count_tokens(self, sources: Sequence[str]) -> Sequence[int]:
        """Count the tokens of each text, the end mark included.

        Args:
            sources: raw texts.
        """
        return [len(ids) for ids in self.tokenizer.ids(sources)]

    def cost(self, source: str) -> int:
        """Count the tokens of one text, the end mark included.

        Args:
            source: a raw text.
        """
        return len(self.tokenizer.ids([source])[0])

    def tokens(self, source: str) -> tuple[Token, ...]:
        """Return the tokens of a text with offsets into it, the end mark last.

        Args:
            source: a raw text.
        """
        return self.tokenizer.encode(source).tokens

    def sentences(self, source: str) -> list[Sentence]:
        """Return the whole text as one sentence, with its end mark.

        Args:
            source: a raw text.
        """
        encoding = self.tokenizer.encode(source)
        return [Sentence(encoding.ids, encoding.tokens)]

    def positions(self, source: str, grid: Grid | None) -> tuple[Token, ...]:
        """Return the token of each position, the end mark last.

        Args:
            source: a raw text.
            grid: ignored; a text has no cells.
        """
        return self.tokens(source)

    def occlusion_units(self, source: str, grid: Grid) -> list[Span]:
        """Return where the words of the text are; in scripts without spaces, its characters.

        Args:
            source: a raw text.
            grid: ignored; a text has no regions.
        """
        return find_words(source, choose_unit([source]))

    def occlude(self, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
        """Return the ids of the text, and then of the text without each unit.

        Args:
            source: a raw text.
            units: spans of the text; regions of an image are an error.
        """
        return self.prepare([source, *(remove_span(source, span) for span in check_spans(units))])

    def group_references(self, pairs: Pairs) -> Pairs:
        """Return each text with all targets that its line lists.

        Args:
            pairs: the pairs of a split.
        """
        return pairs.group_lists()

    def to_json(self) -> str:
        """Return the tokenizer's file."""
        return self.tokenizer.to_json()


def is_image_file(file: Path) -> bool:
    """Tell whether there is a file of this name, and its ending is that of an image.

    Args:
        file: a path.
    """
    return file.suffix.lower() in IMAGE_ENDINGS and file.is_file()


def check_text(given: object) -> str:
    """Return a text that can be written as Unicode; anything else is an error.

    Args:
        given: any object.

    Raises:
        TokenError: the object is no text, or has half a character (a lone surrogate).
    """
    if not isinstance(given, str):
        raise TokenError(f"predict takes a text, or a list of them; got {type(given).__name__}.")
    if not is_text(given):
        raise TokenError(f"texts must be Unicode that can be written; got {shorten(given)}; fix its bytes.")
    return given


def check_spans(units: Sequence[Span] | Sequence[Box]) -> list[Span]:
    """Return the units of a text; regions of an image are an error.

    Args:
        units: spans (start, end) of a text.
    """
    spans = [unit for unit in units if not isinstance(unit, Box)]
    if len(spans) < len(units):
        raise Seq2SeeError("what is occluded in a text must be spans of it (start, end); got regions of an image.")
    return spans


def remove_span(text: str, span: Span) -> str:
    """Return the text without a span; a word goes with the space before it, so that a comma behind it follows a word.

    Args:
        text: a raw text.
        span: start and end of what is removed.
    """
    left, right = text[: span[0]], text[span[1] :]
    return ((left[:-1] if left[-1:].isspace() else left) + right).strip()
