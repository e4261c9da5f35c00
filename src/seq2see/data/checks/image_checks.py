"""Checks of the images of a data set: how many there are, which cannot be opened, which are in two splits."""

import hashlib
import os
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence

from PIL import Image, UnidentifiedImageError

from seq2see.core.errors import DataError
from seq2see.core.plural import say_count
from seq2see.core.words import Unit, find_words, has_spaces
from seq2see.data.checks.infer import infer_labels, infer_modality
from seq2see.data.formats.idx import read_source, split_place
from seq2see.data.formats.image_file import MAX_IMAGE_PIXELS, list_formats, read_image
from seq2see.data.formats.image_paths import list_some
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import Finding, Origin, Pairs

MAX_OPENED_IMAGES = 200_000  # evenly over the data; each takes about 0.2 milliseconds
VERIFIABLE_FORMATS = ("PNG", "WEBP")  # Pillow can tell without decoding them whether they are whole
MAX_BYTES_AFTER_END = 64  # that some cameras write after the end of a JPEG
MIN_WORD_COUNT = 5  # a rarer word will hardly be learned


def describe_pairs(pairs: Pairs) -> str:
    """Describe in a few words how many pairs there are, and of what.

    Args:
        pairs: pairs of texts, images with captions, or sources with labels; at least one.
    """
    kind = infer_modality(pairs)
    if infer_labels(pairs):
        return _describe_classes(pairs, "image" if kind == "images" else "usable text")
    if kind == "text":
        return say_count(len(pairs), "usable pair")
    found = pairs.group()
    counts = [len(captions) for captions in found.references]
    each = f"{counts[0]}" if len(set(counts)) == 1 else f"{min(counts)} to {max(counts)}"
    captions = "one caption each" if set(counts) == {1} else f"{each} captions each ({len(pairs):,} in all)"
    unit: Unit = "words" if has_spaces(pairs.target) else "characters"
    words = Counter(text[start:end] for text in map(str.lower, pairs.target) for start, end in find_words(text, unit))
    often = sum(count >= MIN_WORD_COUNT for count in words.values())
    seen = f"{say_count(len(words), unit.removesuffix('s'))}, {often:,} of them {MIN_WORD_COUNT} times or more"
    return f"{say_count(len(found), 'image')} with {captions}; {seen}"


def _describe_classes(pairs: Pairs, what: str) -> str:
    """Describe how many sources each label has."""
    labels = (label for target in pairs.target for label in split_labels(target, pairs.separator))
    counts = Counter(labels).most_common()
    (most, largest), (least, smallest) = counts[0], counts[-1]
    sizes = f"{largest:,} each" if smallest == largest else f"from {smallest:,} ({least}) to {largest:,} ({most})"
    classes = f"{len(counts):,} classes, {sizes}" if len(counts) > 1 else f"1 class ({most})"
    return f"{say_count(len(pairs), what)} of {classes}"


def drop_unreadable(pairs: Pairs, origin: Origin) -> tuple[Pairs, list[Finding]]:
    """Drop pairs with images that cannot be opened, and report these images.

    Args:
        pairs: pairs whose sources are images; of more than 200,000 images some are not opened.
        origin: their file or folder, which errors name.

    Raises:
        DataError: not one image can be opened.
    """
    sources = list(dict.fromkeys(pairs.source))
    broken = find_unreadable(sources[:: -(-len(sources) // MAX_OPENED_IMAGES)])
    if not broken:
        return pairs, []
    kept = pairs.take([row for row, source in enumerate(pairs.source) if source not in broken])
    if not len(kept):
        raise DataError(f"not one image can be opened, such as {list_some(broken)}; copy them again.", file=origin.file)
    named = [f"{source} ({reason})" for source, reason in broken.items()]
    message = f"an image cannot be opened: {list_some(named, 20)}"
    return kept, [Finding("warning", message, "it is skipped; copy it again", origin.file, count=len(broken))]


def find_unreadable(sources: Iterable[str]) -> dict[str, str]:
    """Return the images that cannot be opened, each with the reason.

    Args:
        sources: paths of images; those inside idx files are skipped, because their reader checks the whole file.
    """
    broken: dict[str, str] = {}
    for source in sources:
        if split_place(source) is None:  # the idx reader has checked its whole file
            reason = _explain_failure(source)
            broken |= {source: reason} if reason is not None else {}
    return broken


def find_copies(train: Sequence[str], other: Sequence[str]) -> dict[str, str]:
    """Return the images of another split that are also training images, byte for byte, each with its training image.

    Args:
        train: the images of the training data.
        other: the images of the other split.
    """
    wanted = {_measure(source) for source in set(other)}
    known = {_digest(source): source for source in set(train) if _measure(source) in wanted}
    sizes = {_measure(source) for source in known.values()}
    found = {source: known.get(_digest(source)) for source in set(other) if _measure(source) in sizes}
    return {source: copy for source, copy in found.items() if copy is not None}


def _explain_failure(source: str) -> str | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of odd metadata
            with Image.open(source, formats=list_formats()) as image:
                kind, pixels = image.format, image.width * image.height
                image.verify()
        whole = kind in VERIFIABLE_FORMATS or (kind in ("JPEG", "MPO") and _is_ended(source))
        if not whole or pixels > MAX_IMAGE_PIXELS:
            read_image(source, least=8)  # a JPEG may be whole with something behind it, and come smaller
    except UnidentifiedImageError:
        return "empty" if not os.path.getsize(source) else "not an image"
    except DataError as error:
        return str(error).removeprefix(f"{source}: ").partition(";")[0]
    except Exception as error:  # decoders raise all kinds of errors, SyntaxError among them
        return str(error).splitlines()[0] if str(error) else type(error).__name__
    return None


def _is_ended(source: str) -> bool:
    """Tell whether a JPEG has its end marker, which Pillow checks only when it decodes."""
    with open(source, "rb") as file:
        file.seek(-min(MAX_BYTES_AFTER_END, os.path.getsize(source)), os.SEEK_END)
        return b"\xff\xd9" in file.read()


def _measure(source: str) -> int:
    """Return the size of a file, by which most images differ without being read; -1 for one inside an idx file."""
    return -1 if split_place(source) is not None else os.path.getsize(source)


def _digest(source: str) -> bytes:
    return hashlib.blake2b(read_source(source)).digest()
