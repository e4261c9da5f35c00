"""What is seen of a page in a browser, and tokens to make traces of."""

from collections.abc import Callable

import numpy as np

from browser import Browser
from seq2see.core.token import Token
from seq2see.render.colours import LIGHT, mix_colour

Show = Callable[..., Browser]
READ_GRID = """[...document.querySelectorAll('.grid tbody tr')]
    .map((row) => [...row.querySelectorAll('td')].map((cell) => Number(cell.title)))"""
# the colour that is seen behind an element, or behind its label where that is slanted
READ_COLOURS = """((all) => [...document.querySelectorAll(all)].map((node) => [node, node.querySelector('.label')]
    .filter(Boolean).map((each) => getComputedStyle(each).backgroundColor).find((c) => c !== 'rgba(0, 0, 0, 0)')))"""


def name_colour(weight: float, stops: tuple[str, ...] = LIGHT) -> str:
    """The colour of a weight as a browser names it."""
    mixed = mix_colour(float(weight), stops=stops)
    return f"rgb({', '.join(str(int(mixed[start : start + 2], 16)) for start in (1, 3, 5))})"


def read_colours(browser: Browser, selector: str) -> list[str | None]:
    return list(browser.run(f"{READ_COLOURS}({selector!r})"))


def read_texts(browser: Browser, selector: str) -> list[str]:
    return list(browser.run(f"[...document.querySelectorAll({selector!r})].map((node) => node.textContent)"))


def read_told(browser: Browser) -> str:
    return str(browser.run("document.querySelector('.readout').textContent"))


def click_switch(browser: Browser, text: str) -> None:
    browser.run(f"[...document.querySelectorAll('label')].find((l) => l.textContent === {text!r}).click()")


def make_tokens(parts: list[str], *, sure: bool) -> tuple[Token, ...]:
    """Tokens that stand one after the other, joined by nothing."""
    ends = np.cumsum([len(part) for part in parts]).tolist()
    confidence = 0.97 if sure else None
    return tuple(Token(p, end - len(p), end, confidence) for p, end in zip(parts, ends, strict=True))
