"""The fields and columns people give their data, by the names they use for them."""

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from seq2see.data.album import ENDINGS
from seq2see.data.lines import Reading

LANGUAGES = (
    *("en", "de", "fr", "es", "it", "nl", "pt", "ru", "zh", "ja", "ko", "ar", "fa", "hi", "tr", "pl", "cs", "sv", "uk"),
    *("da", "fi", "hu", "ro", "bg", "el", "th", "vi", "ms", "bn", "ta", "te", "ur", "sw", "et", "lt"),
    *("english", "german", "french", "spanish", "italian", "dutch", "portuguese", "russian", "chinese", "japanese"),
    *("korean", "arabic", "persian", "farsi", "hindi", "turkish", "polish", "czech", "swedish", "ukrainian", "danish"),
    *("norwegian", "finnish", "hungarian", "romanian", "bulgarian", "greek", "hebrew", "thai", "vietnamese", "latin"),
    *("indonesian", "malay", "bengali", "tamil", "telugu", "urdu", "swahili", "estonian", "lithuanian", "latvian"),
    *("deutsch", "français", "español", "italiano", "português", "nederlands", "polski", "русский", "中文", "日本語"),
)
# in the order of preference, where a header has several of them
SOURCE_NAMES = (
    *("source", "src", "input", "text", "document", "review", "sentence", "question", "written", "word", "raw", "from"),
    *("content", "body", "comment", "message", "tweet", "article", "abstract", "utterance", "phrase", "spelling", "x"),
)
TARGET_NAMES = (
    *("target", "tgt", "trg", "output", "label", "labels", "answer", "reference", "iso", "pronunciation"),
    *(
        "translation",
        "sentiment",
        "polarity",
        "class",
        "category",
        "topic",
        "intent",
        "genre",
        "to",
        "rating",
        "stars",
        "score",
        "tag",
        "y",
    ),
)
PICTURE_NAMES = ("image", "picture", "photo", "img", "image_name", "image_path")
FILE_NAMES = ("file", "filename", "file_name", "path")  # of a picture, if the first one looks like one
CAPTION_NAMES = ("captions", "caption", "sentences", "sentence", "description", "comment", "text")
LABEL_NAMES = ("label", "class", "category")
# what stands below these is chosen, not written
CHOSEN_NAMES = (
    *("label", "labels", "sentiment", "polarity", "class", "category", "topic", "intent", "genre", "rating", "stars"),
    *("score", "tag"),
)


def find_picture_fields(record: Mapping[str, Any], reading: Reading) -> tuple[str, str] | None:
    """The fields of a picture and of its captions, or else its label, by their usual names."""
    names = {name.lower(): name for name in record}
    target = next((names[name] for name in (*CAPTION_NAMES, *LABEL_NAMES) if name in names), None)
    source = next((names[name] for name in PICTURE_NAMES if name in names), None)
    for name in FILE_NAMES if source is None else ():
        if name in names and str(record[names[name]]).strip().lower().endswith(ENDINGS):
            source = names[name]
    if source is None or target is None:
        return None
    reading.pictures = True
    return source, target


def find_text_columns(header: Sequence[str], below: Sequence[Sequence[str]]) -> tuple[int, int] | None:
    """The columns of source and target by their usual names, by two languages, or because one of two has labels."""
    names = [name.lower() for name in header]
    source, target = (_find_first(names, known) for known in (SOURCE_NAMES, TARGET_NAMES))
    if source is not None and target is not None:
        return source, target
    if len(names) != 2:
        return None
    if all(name in LANGUAGES for name in names) or _heads_labels(header, below, 1) or _heads_numbers(header, below):
        return 0, 1
    return (1, 0) if _heads_labels(header, below, 0) else None


def _find_first(names: Sequence[str], known: Sequence[str]) -> int | None:
    return next((names.index(name) for name in known if names.count(name) == 1), None)


def _heads_labels(header: Sequence[str], below: Sequence[Sequence[str]], column: int) -> bool:
    """Whether a row of two names stands above few labels that all come again, and is none of them."""
    labels = Counter(row[column].strip() for row in below if len(row) > 1)
    again = len(labels) >= 2 and min(labels.values()) >= 2 and 4 * len(labels) <= labels.total()
    return again and header[column] not in labels and all(re.fullmatch(r"\w+([ _-]\w+)?", name) for name in header)


def _heads_numbers(header: Sequence[str], below: Sequence[Sequence[str]]) -> bool:
    """Whether two different words stand above a column where every text has a digit."""
    if len(below) < 10 or header[0] == header[1] or not all(re.fullmatch(r"[^\W\d]+", name) for name in header):
        return False
    return any(all(re.search(r"\d", row[column]) for row in below if len(row) > 1) for column in (0, 1))


def names_pictures(header: Sequence[str]) -> bool:
    """Whether a header begins with a picture and names its captions or its label."""
    names = [name.strip().lower() for name in header]
    return names[0] in PICTURE_NAMES and not {*CAPTION_NAMES, *LABEL_NAMES}.isdisjoint(names)


def tell_labels(target: str, reading: Reading) -> bool | None:
    """Whether the name of the target says that it is a label, or that it is a caption; None if it says neither."""
    name = target.lower()
    if reading.pictures and name in CAPTION_NAMES:
        return False
    return True if name in CHOSEN_NAMES else None


def note_fields(fields: tuple[str, str], file: Path, number: int, reading: Reading) -> None:
    """Say which fields were taken."""
    message = f"source is taken from {fields[0]!r} and target from {fields[1]!r}"
    reading.note(message, "name others with --fields SOURCE,TARGET", file, [number], level="note")


def list_names(names: Sequence[str]) -> str:
    """Names for a message, as many as one can read."""
    shown = [repr(name)[:40] for name in names[:8]]
    return ", ".join([*shown, "..."] if len(names) > 8 else shown) or "none"
