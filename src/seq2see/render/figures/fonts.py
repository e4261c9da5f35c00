"""Fonts for whatever script the tokens are in, from those this computer has."""

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache

from matplotlib.font_manager import FontEntry, FontProperties, findfont, fontManager, weight_dict
from matplotlib.ft2font import FT2Font


@dataclass(frozen=True)
class Fonts:
    """Font families in the order of preference, and the characters that none of them can draw."""

    families: tuple[str, ...]
    missing: frozenset[str]

    def spell(self, text: str) -> str:
        """Return the text with code points such as U+4E2D for characters that no font has, three at most."""
        if not self.missing & set(text):
            return text
        parts = "".join(_spell_code(char) if char in self.missing else char for char in text).split()
        return " ".join(parts[:3]) + (" …" if len(parts) > 3 else "")


def choose_fonts(text: str, *, base: str) -> Fonts:
    """The base family and, for each character it lacks, the first installed font that has it."""
    families, missing = [base], set(text) - _list_characters(findfont(FontProperties(family=base)))
    for entry in _order_fonts() if missing else ():
        found = missing & _list_characters(entry.fname)
        if found:
            families.append(entry.name)
            missing -= found
    return Fonts(tuple(dict.fromkeys(families)), frozenset(missing))


def choose_font(text: str, *, base: str) -> tuple[str, str]:
    """The file of one font that can draw all of a text, and the text; else the base, and what it lacks spelled out."""
    for family in choose_fonts(text, base=base).families:
        file = findfont(FontProperties(family=family))
        if set(text) - {"\n"} <= _list_characters(file):
            return file, text
    file = findfont(FontProperties(family=base))
    missing = frozenset(text) - {"\n"} - _list_characters(file)
    return file, "\n".join(Fonts((base,), missing).spell(line) for line in text.split("\n"))


def explain_missing(fonts: Fonts) -> str:
    """Which characters had to be spelled as code points, if any; joiners and selectors have no shape to miss."""
    codes = [_spell_code(char).strip() for char in sorted(fonts.missing) if _spell_code(char)]
    more = f" and {len(codes) - 6} more" if len(codes) > 6 else ""
    return f"no font here has {', '.join(codes[:6])}{more}; install one that has" if codes else ""


def _spell_code(char: str) -> str:
    invisible = unicodedata.category(char) == "Cf" or "VARIATION SELECTOR" in unicodedata.name(char, "")
    return "" if invisible else f" U+{ord(char):04X} "


def _order_fonts() -> Iterable[FontEntry]:
    """Upright fonts, the regular sans serif ones first: a fallback should not stand out."""
    upright = [entry for entry in fontManager.ttflist if entry.style == "normal"]
    drawn = [e for e in upright if not e.name.startswith("Last Resort")]  # it has a box for every character
    return sorted(drawn, key=lambda e: (_weigh(e) != 400, "Sans" not in e.name, e.name, e.fname))


def _weigh(entry: FontEntry) -> int:
    """The weight as a number: 500 and 350 are what some regular Chinese fonts call themselves."""
    weight = weight_dict.get(entry.weight, 400) if isinstance(entry.weight, str) else int(entry.weight)
    return 400 if 350 <= weight <= 500 else weight


@cache
def _list_characters(path: str) -> frozenset[str]:
    """What a font can draw as outlines; colour bitmap fonts cannot be drawn at all."""
    try:
        font = FT2Font(path)
    except (OSError, RuntimeError):
        return frozenset()
    return frozenset(map(chr, font.get_charmap())) if font.scalable else frozenset()
