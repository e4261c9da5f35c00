"""The encodings of text files: UTF-8, the one that is named, or the one that the bytes show."""

import codecs
import re
from pathlib import Path

from seq2see.core.errors import DataError
from seq2see.data.formats.alphabets import guess_latin, list_candidates

UTF8 = "utf-8"
# the first bytes of wide encodings; those of UTF-32 begin with those of UTF-16
BYTE_ORDER_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
CONTROL_BYTES = bytes(byte for byte in range(32) if byte not in b"\t\n\v\f\r\x1a\x1b") + b"\x7f"
MAX_CONTROL_SHARE = 0.01  # of the bytes of a text
MAX_WESTERN_SHARE = 0.3  # of letters behind ASCII in a text of Western Europe
MIN_WIDE_SHARE = 0.01  # of NULs on one side of UTF-16, from spaces, digits and line ends
MIN_LATIN_SHARE = 0.5  # of letters behind ASCII that are of one language
MIN_BYTES_TO_TELL = 10  # letters behind ASCII that can tell whether a text is of Western Europe
HIGH_WORD = re.compile(rb"[\x80-\xff]{3,}")  # no ASCII in it: a word of another script, and hardly one of Latin letters
MAX_HIGH_WORDS = 0.3  # of the letters behind ASCII
# a character of several bytes, as UTF-8 writes it
UTF8_SEQUENCE = re.compile(rb"[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}")

# the first bytes of image files
IMAGE_SIGNATURES = {
    "JPEG": rb"\xff\xd8\xff",
    "PNG": rb"\x89PNG\r\n",
    "GIF": rb"GIF8[79]a",
    "WebP": rb"RIFF....WEBP",
    "TIFF": rb"II\*\0|MM\0\*",
    "BMP": rb"BM....\0\0\0\0",
}


def check_encoding(name: str) -> str:
    """Return the name of an encoding of texts that Python knows.

    Args:
        name: any name, such as latin-1, cp1252, utf-16 or shift_jis.

    Raises:
        DataError: there is no such encoding.
    """
    try:
        b" ".decode(name, "replace")  # refuses what encodes no texts, such as hex
        return codecs.lookup(name).name
    except (LookupError, ValueError):
        raise DataError(
            f"an encoding must be one that Python knows, such as utf-8, cp1252, utf-16 or shift_jis; got {name!r}."
        ) from None


def decode(data: bytes, file: Path | str, encoding: str = UTF8) -> str:
    """Decode text; other bytes are an error that names the line.

    Args:
        data: the bytes of a file, already decompressed.
        file: the path or name that errors give.
        encoding: the encoding of the text.
    """
    if encoding == UTF8:
        _refuse_wide(data, file)
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        refuse_binary(data, file)
        lined = not encoding.startswith(("utf-16", "utf-32"))
        line = data.count(b"\n", 0, error.start) + 1 if lined else None
        bad = " ".join(f"{byte:02x}" for byte in data[error.start : error.end])
        remedy = "save the file as UTF-8 (iconv -f LATIN1 -t UTF-8 may help)"
        raise DataError(
            f"text must be {'UTF-8' if encoding == UTF8 else encoding}; got the bytes {bad}; "
            f"{remedy if encoding == UTF8 else 'name another encoding, or save the file as UTF-8'}.",
            file=file,
            line=line,
        ) from None


def guess_encoding(data: bytes, file: Path | str) -> str:
    """Return the encoding of a text: UTF-8 if it is valid, that of its byte order mark, or one of Latin letters.

    Args:
        data: the bytes of a file, already decompressed.
        file: the path or name that errors give.

    Raises:
        DataError: the bytes are no text, are damaged UTF-8, or are in an encoding that must be named.
    """
    marked = next((name for mark, name in BYTE_ORDER_MARKS.items() if data.startswith(mark)), None)
    if marked is not None:
        refuse_binary(data, file)
        return marked
    try:
        decode(data, file)
        return UTF8
    except DataError:
        refuse_binary(data, file)
        if _resembles_western(data, file):
            return guess_latin(data)[0]
        raise


def _resembles_western(data: bytes, file: Path | str) -> bool:
    """Tell whether bytes that are no UTF-8 may be a text of Western Europe; False if they are damaged UTF-8."""
    controls = len(data) - len(data.translate(None, CONTROL_BYTES))
    if _is_wide(data):
        return False  # of which the error speaks
    if b"\0" in data or controls > MAX_CONTROL_SHARE * len(data):
        raise DataError("text is needed; got binary data; give a file of texts.", file=file)
    letters = len(data.translate(None, bytes(range(128))))
    whole = sum(map(len, UTF8_SEQUENCE.findall(data)))
    if 2 * whole > letters:
        return False
    words = sum(map(len, HIGH_WORD.findall(data)))
    try:
        encoding, share = guess_latin(data)
        data.decode(encoding)
        likely = (share > MIN_LATIN_SHARE and words < MAX_HIGH_WORDS * letters) or letters < MIN_BYTES_TO_TELL
        plausible = likely and letters < max(
            MIN_BYTES_TO_TELL, MAX_WESTERN_SHARE * len(data.translate(None, b" \t\r\n"))
        )
    except UnicodeDecodeError:
        plausible = False
    if not plausible:
        some = list_candidates(data) or ["cp1251", "shift_jis", "gb18030"]
        raise DataError(
            "text must be UTF-8, or its encoding named; got neither UTF-8 nor a text in Latin letters; name its "
            f"encoding (such as --encoding {' or '.join(some)}), or save it as UTF-8.",
            file=file,
        )
    return True


def _refuse_wide(data: bytes, file: Path | str) -> None:
    """Refuse UTF-16 where UTF-8 must be."""
    if data.startswith(tuple(BYTE_ORDER_MARKS)) or _is_wide(data):
        refuse_binary(data, file)
        order = "be" if data[::2].count(0) > data[1::2].count(0) else "le"
        raise DataError(
            "text must be UTF-8; got what looks like UTF-16; save it as UTF-8 (iconv -f UTF-16 -t UTF-8 may help), "
            f"or name its encoding (such as --encoding utf-16-{order}).",
            file=file,
        )


def _is_wide(data: bytes) -> bool:
    """Tell whether bytes are a text in UTF-16 without a byte order mark: every line end has a NUL on the same side."""
    if 3 * data.count(0) > len(data):
        return True
    ends = [data[place::2] for place in (0, 1)]
    sides = [other.count(0) for other in ends]
    return (
        len(data) % 2 == 0
        and max(sides) > MIN_WIDE_SHARE * len(data)
        and min(sides) == 0
        and b"\n" in data
        and ends[sides.index(0)].count(b"\n") == data.count(b"\n")
    )


def refuse_binary(data: bytes, file: Path | str) -> None:
    """Refuse an image or an archive by its first bytes, which tell its format.

    Args:
        data: the bytes of a file.
        file: the path or name that errors give.
    """
    kind = next((kind for kind, first in IMAGE_SIGNATURES.items() if re.match(first, data, re.DOTALL)), None)
    if kind is not None:
        raise DataError(
            f"text must be UTF-8; got an image ({kind}); where images are read, give its path, without @ or <.",
            file=file,
        )
    if data.startswith(b"PK\x03\x04"):
        raise DataError(
            "text must be UTF-8; got a zip archive, as .xlsx and .docx are; unpack it, or save the table as CSV.",
            file=file,
        )
