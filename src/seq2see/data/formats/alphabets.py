"""The alphabets of languages, by which the encoding of a text that is not UTF-8 is told."""

from collections import Counter
from collections.abc import Mapping
from functools import cache

# letters behind ASCII of languages, by the encodings that hold them; in the order of preference
LATIN = {
    "cp1252": (
        *("àâæçéèêëîïôùûüÿœ", "äöüß", "áéíóúüñªº", "àáâãçéêíóôõúü", "àèéìíîòóù", "áèéëêíïóöôüû", "åäöæøé", "åäöšž"),
        *("áðéíóúýþæö", "àçèéíïòóúü"),
    ),
    "cp1250": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"),
    "iso8859-2": ("ąćęłńóśźż", "áčďéěíňóřšťúůýž", "áäčďéíĺľňóôŕšťúýž", "áéíóöőúüű", "čćđšž", "ăâîşţ"),
    "cp1254": ("çğıiöşüâîû",),
}
SIGNS = frozenset("‘’‚“”„–—…«»‹›€°§©®™£•·×½¼¾\xa0¡¿²")  # of no language alone
# encodings of other scripts, with the first and last of the letters that most texts there have most
KANA = ("ぁ", "ヺ")  # half of a Japanese text
SCRIPTS = {
    "shift_jis": KANA,
    "euc_jp": KANA,
    "cp1251": ("а", "я"),
    "koi8-r": ("а", "я"),
    "cp1253": ("ά", "ώ"),
    "euc_kr": ("가", "힣"),
    "cp1255": ("א", "ת"),
    "cp1256": ("ء", "ي"),
    "gb18030": ("一", "\u9fff"),
    "big5": ("一", "\u9fff"),
}
MIN_SHARE = 0.4  # of the letters behind ASCII that are of the script
MIN_MARGIN = 0.02  # by which another alphabet must fit better than those of Western Europe
MAX_BYTES = 200_000  # of a text that tell its encoding
MAX_CANDIDATES = 3


def guess_latin(data: bytes) -> tuple[str, float]:
    """Return the encoding whose alphabets fit a text in Latin letters best; cp1252 if others fit no better.

    The share of the letters behind ASCII that one language has is computed for each encoding; the largest is chosen.

    Args:
        data: the bytes of a text that is not UTF-8.

    Returns:
        The encoding, and the share.
    """
    counts = Counter(data)
    capitals = sum(counts[byte] for byte in range(65, 91)) > sum(counts[byte] for byte in range(97, 123))
    beyond = {byte: count for byte, count in counts.items() if byte > 127}
    shares = {name: max(_cover(beyond, name, alphabet, capitals) for alphabet in LATIN[name]) for name in LATIN}
    best = max(shares, key=lambda name: shares[name])
    chosen = best if shares[best] > shares["cp1252"] + MIN_MARGIN else "cp1252"
    return chosen, shares[chosen]


def list_candidates(data: bytes) -> list[str]:
    """Return the encodings of other scripts that a text may have, the likeliest first; three at most.

    Args:
        data: the bytes of a text that is not UTF-8.
    """
    shares = {name: _measure(data[:MAX_BYTES], name) for name in SCRIPTS}
    ranked = sorted((name for name in shares if shares[name] > MIN_SHARE), key=lambda name: -shares[name])
    return ranked[:MAX_CANDIDATES]


@cache
def _decode_byte(name: str, byte: int) -> str:
    return bytes([byte]).decode(name, "replace")


def _cover(counts: Mapping[int, int], name: str, alphabet: str, capitals: bool) -> float:
    """Return the share of letters that an alphabet has among all bytes that are no common sign.

    Capitals of a text that is not written in them count as often as small letters: other scripts read as so many.
    """
    letters = {byte: count for byte, count in counts.items() if _decode_byte(name, byte) not in SIGNS}
    small = sum(count for byte, count in letters.items() if _decode_byte(name, byte) in alphabet)
    large = sum(count for byte, count in letters.items() if _decode_byte(name, byte) in alphabet.upper())
    return (small + (large if capitals else min(large, small))) / sum(letters.values()) if letters else 1.0


def _measure(data: bytes, name: str) -> float:
    """Return the share of the letters of a script among the characters behind ASCII; 0 if it is no such text."""
    try:
        text = data.decode(name, "strict" if len(data) < MAX_BYTES else "ignore")
    except UnicodeDecodeError:
        return 0.0
    first, last = SCRIPTS[name]
    beyond = [char for char in text if char > "\x7f"]
    share = sum(first <= char <= last for char in beyond) / max(len(beyond), 1)
    return 2 * share if SCRIPTS[name] == KANA else share
