"""The choice of fonts that can draw the script of the tokens, among the installed ones."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from matplotlib.font_manager import FontEntry, FontProperties, findfont, fontManager, weight_dict
from matplotlib.ft2font import FT2Font


@dataclass(frozen=True)
class Fonts:
    """The fonts of one figure.

    Args:
        families: the names of font families, the preferred one first; each draws what those before it cannot.
        missing: the characters of the text that no installed font can draw.
    """

    families: tuple[str, ...]
    missing: frozenset[str]

    def spell(self, text: str) -> str:
        """Return the text with a code point such as U+4E2D in place of each character that no font has.

        Args:
            text: one line; if a character is missing, only the first three words or code points are kept, then …
        """
        if not self.missing & set(text):
            return text
        parts = "".join(_spell_code(char) if char in self.missing else char for char in text).split()
        return " ".join(parts[:3]) + (" …" if len(parts) > 3 else "")


def choose_fonts(text: str, *, base: str) -> Fonts:
    """Choose the base family and, for each character that it lacks, the first installed font that has it.

    Args:
        text: all text of a figure.
        base: the preferred font family, such as `DejaVu Sans`.
    """
    families, missing = [base], set(text) - _list_characters(findfont(FontProperties(family=base)))
    for entry in _order_fonts() if missing else ():
        found = missing & _list_characters(entry.fname)
        if found:
            families.append(entry.name)
            missing -= found
    return Fonts(tuple(dict.fromkeys(families)), frozenset(missing))


def choose_font(text: str, *, base: str) -> tuple[str, str]:
    """Choose one font for a whole text, for a program that cannot combine fonts.

    Args:
        text: the text, in one line or several.
        base: the preferred font family, such as `DejaVu Sans`.

    Returns:
        The file of the font, and the text to draw. If no font has all characters, the file is that of the base, and in
        the text a code point such as U+4E2D replaces each character that it lacks.
    """
    for family in choose_fonts(text, base=base).families:
        file = findfont(FontProperties(family=family))
        if set(text) - {"\n"} <= _list_characters(file):
            return file, text
    file = findfont(FontProperties(family=base))
    missing = frozenset(text) - {"\n"} - _list_characters(file)
    return file, "\n".join(Fonts((base,), missing).spell(line) for line in text.split("\n"))


def explain_missing(fonts: Fonts) -> str:
    """Return a sentence that names up to six characters which no font has; empty if there are none.

    Args:
        fonts: the fonts of a figure; missing joiners and variation selectors are not named, because they are invisible.
    """
    codes = [_spell_code(char).strip() for char in sorted(fonts.missing) if _spell_code(char)]
    more = f" and {len(codes) - 6} more" if len(codes) > 6 else ""
    return f"no font here has {', '.join(codes[:6])}{more}; install one that has" if codes else ""


def _spell_code(char: str) -> str:
    invisible = unicodedata.category(char) == "Cf" or "VARIATION SELECTOR" in unicodedata.name(char, "")
    return "" if invisible else f" U+{ord(char):04X} "


def _order_fonts() -> Iterable[FontEntry]:
    """Return the upright fonts, regular sans serif ones first, because they are most like the base family."""
    upright = [entry for entry in fontManager.ttflist if entry.style == "normal"]
    drawn = [e for e in upright if not e.name.startswith("Last Resort")]  # it has a box for every character
    return sorted(drawn, key=lambda e: (_weigh(e) != 400, "Sans" not in e.name, e.name, e.fname))


def _weigh(entry: FontEntry) -> int:
    """Return the weight as a number; 350 to 500 become 400, because some regular Chinese fonts call themselves so."""
    weight = weight_dict.get(entry.weight, 400) if isinstance(entry.weight, str) else int(entry.weight)
    return 400 if 350 <= weight <= 500 else weight


@cache
def _list_characters(path: str) -> frozenset[str]:
    """Return the characters that a font has as outlines; of a colour bitmap font matplotlib can draw none."""
    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):
        return frozenset()
    return frozenset(map(chr, font.get_charmap())) if font.scalable else frozenset()
