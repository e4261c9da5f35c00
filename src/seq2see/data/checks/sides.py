"""Whether images may be mirrored: not where left and right could mean something, by names, captions and pixels."""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import median

import numpy as np
import regex
from jaxtyping import Float
from PIL import Image

from seq2see.core.errors import DataError
from seq2see.core.registry import shorten
from seq2see.core.words import GRAPHEME, has_spaces
from seq2see.data.checks.infer import infer_labels, spread
from seq2see.data.checks.symbols import looks_like_symbol
from seq2see.data.formats.image_file import measure_image, read_image
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import Pairs

MAX_SHARE_OF_SIDED_CAPTIONS = 0.01  # 0.4 % of Flickr8k's say left or right, in any sense
MAX_SHARE_OF_CODES = 0.5  # of class names or captions
MAX_WIDTH = 3.0  # times the height; a line of writing is wider
MAX_SIDEDNESS = 0.05  # of a class: photographs have about 0, written characters 0.1 and more
MIN_IMAGES_OF_CLASS, MAX_IMAGES_OF_CLASS, MAX_CLASSES = 12, 24, 20  # that are looked at
PIXELS = 16  # of a side, when images are compared

# whole words, of scripts with spaces and words that do not change much
SIDE_WORDS = (
    "left|lefts|leftward|leftwards|lefthand|leftmost|right|rights|rightward|rightwards|righthand|rightmost|lhs|rhs|"
    "clockwise|counterclockwise|anticlockwise|arrow|arrows|mirrored|starboard|"
    "links?|linke[nrs]?|rechts?|rechte[nrs]?|linkerhand|rechterhand|pfeil|pfeile|uhrzeigersinn|pijl|"
    "gauche|droite|flèche|flèches|izquierd[ao]s?|derech[ao]s?|flechas?|esquerd[ao]s?|direit[ao]s?|seta|"
    "sinistr[aoei]|destr[aoei]|frecci?[ae]|stâng[aă]|dreapt[aă]|esquerre|esquerra|"
    "vänster|vänstra|höger|högra|venstre|højre|høyre|vinstri|hægri|vasen|vasemm\\w+|oikea|oikea\\w+|"
    "solda|solunda|soldaki|sağ|sağda|sağa|sağında|sağdaki|balra|jobbra|baloldal\\w*|jobboldal\\w*|"
    "lew(?:a|o|y|ej|ą)|praw(?:a|o|y|ej|ą)|vlevo|vpravo|lev[áéý]\\w{0,3}|prav[áéý]\\w{0,3}|doleva|doprava|lijevo|desno|levo|"
    "kiri|kanan|kaliwa|kushoto|kulia|"
    "лев(?:ый|ая|ое|ые|ого|ой|ом|ую|ее)|прав(?:ый|ая|ое|ого|ой|ом|ую|ее)|слева|справа|налево|направо|влево|вправо|"
    "лів\\w{1,3}|ліворуч|праворуч|зліва|ляво|дясно|стрелк[аи]|αριστερ\\w+|δεξι\\w+"
)
# anywhere in a text, of scripts without spaces or with what is joined to words
SIDE_PARTS = (
    "左|右|왼쪽|오른쪽|왼편|오른편|يسار|يمين|چپ|راست|שמאל|ימין|ซ้าย|ทางขวา|ด้านขวา|ขวามือ|बाएँ|बाएं|बाईं|दाएँ|दाएं|दाईं|বাম|ডান|"
    "bên trái|bên phải"
)
SIDES = regex.compile(rf"\b(?:{SIDE_WORDS})\b|{SIDE_PARTS}", regex.IGNORECASE)
WRITING = regex.compile(
    r"\b(?:letters?|digits?|numbers?|numerals?|characters?|glyphs?|alphabet|uppercase|lowercase|kanji|kana|hiragana|"
    r"katakana|hangul|hanzi|buchstaben?|ziffern?|zahl|lettres?|chiffres?|letras?|dígitos?|cifr[ae]|letter[ae]|букв[аы]|"
    r"цифр[аы])\b|字|文字|数字|글자",
    regex.IGNORECASE,
)
NAME_OF_CHARACTER = regex.compile(
    "zero|one|two|three|four|five|six|seven|eight|nine|ten|null|eins|zwei|drei|vier|fünf|sechs|sieben|acht|neun|"
    "zehn|zéro|un|deux|trois|quatre|cinq|sept|huit|neuf|dix|cero|uno|dos|tres|cuatro|cinco|seis|siete|ocho|nueve|"
    "diez|um|dois|três|quatro|sete|oito|nove|due|tre|quattro|cinque|sei|sette|otto|een|twee|drie|vijf|zes|zeven|"
    "negen|ноль|один|два|три|четыре|пять|шесть|семь|восемь|девять|sıfır|bir|iki|üç|dört|beş|altı|yedi|sekiz|"
    "dokuz|alpha|beta|gamma|delta|epsilon|zeta|eta|theta|iota|kappa|lambda|mu|nu|xi|omicron|pi|rho|sigma|tau|"
    "upsilon|phi|chi|psi|omega|aleph|alef|bet|beth|gimel|dalet|he|vav|zayin|het|tet|yod|kaf|lamed|mem|nun|samekh|"
    "ayin|pe|tsadi|qof|resh|shin|tav|alif|ba|ta|tha|jim|ha|kha|dal|dhal|ra|zay|sin|sad|dad|za|ghayn|fa|qaf|lam|"
    "mim|waw|ya",
    regex.IGNORECASE,
)
CAMEL = regex.compile(r"(?<=\p{Ll})(?=\p{Lu})|(?<=\p{L})(?=\p{N})|(?<=\p{N})(?=\p{L})|_")
NUMBERED = regex.compile(
    r"[\W_]*(?:(?<!\p{N})\p{N}{1,5}|(?<!\p{L})\p{L})$"
)  # what class_7, sample012 and letter_b end in
SHORT = regex.compile(r"[\p{Lu}\p{Ll}]{1,2}")  # ka; but two letters of Chinese are a word
CODE = regex.compile(r"\p{N}+|U\+[0-9A-F]+|(?:0x)?(?:[0-9][0-9a-f]|[a-f][0-9])", regex.IGNORECASE)


@dataclass(frozen=True)
class Mirroring:
    """Whether training may show images as in a mirror, and why.

    Args:
        allowed: whether it may.
        reason: what says so.
    """

    allowed: bool
    reason: str

    def __str__(self) -> str:
        return f"mirror images: {'yes' if self.allowed else 'no'}, because {self.reason}"


def decide_mirroring(pairs: Pairs) -> Mirroring:
    """Decide whether images may be mirrored; in doubt, they may not.

    Args:
        pairs: images with labels or captions.
    """
    if not infer_labels(pairs):
        against = _object_to_captions(pairs)
        return Mirroring(against is None, against or "hardly a caption speaks of left or right")
    targets = [split_labels(target, pairs.separator) for target in pairs.target]
    names = sorted({name for labels in targets for name in labels})
    against = _object_to_names(names) or _object_to_pixels(pairs, targets)
    return Mirroring(against is None, against or "neither names nor images of the classes have a left and a right")


def _object_to_names(names: Sequence[str]) -> str | None:
    """Say what in the names of classes forbids a mirror, if anything."""
    codes = [name for name in names if CODE.fullmatch(name)]
    if codes:
        digits = all(len(code) == 1 for code in codes)
        return "class names are digits" if digits else f"class names are numbers, such as {shorten(min(codes))}"
    letters = [name for name in names if len(GRAPHEME.findall(name)) == 1]
    if letters:
        return f"class names are single characters, such as {shorten(min(letters))}"
    divided = {name: CAMEL.sub(" ", name) for name in names}
    sided = next((name for name in names if SIDES.search(divided[name])), None)
    if sided is not None:
        return f"class names speak of sides, such as {shorten(sided)}"
    numbered = len(names) > 1 and len({NUMBERED.sub("", name) for name in names}) == 1
    written = [name for name in names if _is_writing(divided[name])]
    if numbered or len(written) > MAX_SHARE_OF_CODES * len(names):
        return f"class names such as {shorten(min(written or names))} may be those of letters or digits"
    return None


def _is_writing(name: str) -> bool:
    """Tell whether a class may be a written character: its name says so, names one, or has two letters."""
    return (
        SHORT.fullmatch(name) is not None
        or NAME_OF_CHARACTER.fullmatch(name) is not None
        or WRITING.search(name) is not None
    )


def _object_to_captions(pairs: Pairs) -> str | None:
    """Say what in captions forbids a mirror, if anything."""
    captions = [target for targets in pairs.references for target in targets]
    sided = [text for text in captions if SIDES.search(text)]
    if len(sided) > MAX_SHARE_OF_SIDED_CAPTIONS * len(captions):
        example = shorten(min(sided, key=len))
        return f"{len(sided) / len(captions):.1%} of the captions speak of sides, such as {example}"
    some = spread(captions)
    words = [text.split() for text in some]
    codes = sum(all(map(looks_like_symbol, each)) or any(char.isdecimal() for char in "".join(each)) for each in words)
    single = sum(len(each) <= 1 for each in words) if has_spaces(some) else 0
    if max(codes, single) > MAX_SHARE_OF_CODES * len(some):
        return f"captions such as {shorten(min(some, key=len))} may be what is written in the images"
    sizes = [measure_image(source) for source in spread(pairs.source, 20)]
    if median(width / max(height, 1) for width, height in sizes) > MAX_WIDTH:
        return "the images are as wide as lines of writing"
    return None


def _object_to_pixels(pairs: Pairs, targets: Sequence[Sequence[str]]) -> str | None:
    """Say which class has images that all face one way, if any."""
    sources: dict[str, list[str]] = {}
    for source, labels in zip(pairs.source, targets, strict=True):
        for label in labels:
            sources.setdefault(label, []).append(source)
    for label in spread(sorted(sources), MAX_CLASSES):
        files = spread(sources[label], MAX_IMAGES_OF_CLASS)
        if len(files) >= MIN_IMAGES_OF_CLASS and measure_sidedness(files) > MAX_SIDEDNESS:
            return f"the images of class {shorten(label)} face one way"
    return None


def measure_sidedness(files: Sequence[str]) -> float:
    """Return which share of what differs within images is the same in all of them, and its negative in a mirror.

    With the odd part a_i = (x_i - mirrored x_i) / 2 of image x_i, which has a mean of 0, it is the mean of a_i . a_j
    over all i != j, divided by the mean of x_i . x_i: 0 is expected of images that face either way as often.

    Args:
        files: the paths of images; those that cannot be read are left out.
    """
    seen = [pixels for pixels in map(_read_small, files) if pixels is not None]
    if len(seen) < 2:
        return 0.0
    images = np.stack(seen)
    odd = (images - images[:, :, ::-1]).reshape(len(images), -1) / 2
    same = (np.square(odd.sum(axis=0)).sum() - np.square(odd).sum()) / (len(odd) * (len(odd) - 1))
    return float(same / max(np.square(images).sum(axis=(1, 2)).mean(), 1e-9))


def _read_small(file: str) -> Float[np.ndarray, "y x"] | None:
    try:
        image = read_image(file, least=2 * PIXELS).convert("L").resize((PIXELS, PIXELS), Image.Resampling.BOX)
    except DataError:
        return None
    pixels = np.asarray(image, dtype=np.float64)
    return pixels - pixels.mean()
