"""Sentences of a document, in whatever script, as places in its raw text."""

import re
from collections.abc import Sequence
from functools import partial

from seq2see.core.words import Span

# the mark between sentences that the data has divided; a noncharacter of Unicode, as tokenizers.SPACE is
CUT = "\ufdd1"
BREAK = re.compile(r"[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]|<(?:br\s*/?|/?p(?:\s[^<>]*)?)>", re.IGNORECASE)
# marks that end a sentence wherever they are: Chinese and Japanese, Devanagari and its sisters, Arabic, Urdu,
# Ethiopic, Armenian, Burmese, Khmer, Tibetan
ALWAYS = "。｡！？।॥؟۔።፧፨։။។៕༎"
MARK = re.compile(rf"[{ALWAYS}.!?…‼⁇⁈⁉]+[\"'”’»›)\]}}」』）】》〉]*")
SURE = re.compile(rf"[^{ALWAYS}]*[{ALWAYS}]")
GLUED = re.compile(r"(?<=[a-zß-ÿ]{2})[.!?](?=[A-ZÀ-Þ][a-zß-ÿ ])")  # without a space, but it can only be a new sentence
ENUMERATION = re.compile(r"[(\[]?(?:\d{1,3}|[a-zA-Z]|[ivxIVX]{1,5})[.)\]]?")
MONTHS = (
    "Januar|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember|Jahrhundert|"
    "января|февраля|марта|апреля|мая|июня|июля|августа|сентября|октября|ноября|декабря"
)
ORDINAL = re.compile(rf"\d{{1,2}}\.\s+(?:{MONTHS})")
NEAR = 48  # characters around a mark that are read, so that no text takes more than its length
# what comes before names and numbers; those that may end a sentence (etc., usw., Inc.) need no entry, because the
# next letter tells
SHORT = {
    "English": "mr mrs ms dr prof st rev gen col capt cpt lt maj sgt hon sen rep gov pres mt ft fig figs eq eqs vol ch "
    "sec art pp vs cf viz approx dept est al e.g i.e ph.d b.a m.a d.c u.s u.k",
    "German": "hr hrn fr frl nr str abb bd bzw ca evtl ggf inkl jhdt mio mrd sog vgl dipl z.b d.h u.a o.ä i.d.r z.t",
    "French": "mm mme mlle mgr env av",
    "Spanish, Italian": "sr sra srta dra ud uds sig dott avv arch",
    "Dutch": "dhr mevr mw drs bijv o.a m.b.t",
    "Polish, Swedish, Danish, Turkish": "np tzn hab św ul pl bl.a t.ex s.k m.fl dvs f.eks örn bkz vb",
    "Russian": "г гг ул им проф акад т.е т.к т.н напр см стр рис др",
}
ABBREVIATIONS = frozenset(word for words in SHORT.values() for word in words.split())


def split_sentences(text: str) -> list[Span]:
    """Return where each sentence begins and ends, without the spaces around it.

    Args:
        text: a document in any script; one that `join_sentences` made is divided at its marks alone.
    """
    if CUT in text:
        return _trim_all(text, _pieces(text, re.compile(CUT)))
    lines = _pieces(text, BREAK)
    return _trim_all(text, [span for start, end in lines for span in _split_line(text, start, end)])


def join_sentences(sentences: Sequence[str]) -> str:
    """Join sentences into one document that `split_sentences` divides at the same places.

    Args:
        sentences: the texts of the sentences.
    """
    return CUT.join([*sentences, ""])


def show_sentences(text: str) -> str:
    """Return a document for display: joined sentences are on lines of their own, and all offsets stay the same.

    Args:
        text: a document, which `join_sentences` may have made.
    """
    return text.replace(CUT, "\n")


def _pieces(text: str, between: re.Pattern[str]) -> list[Span]:
    """Return what is between the matches of a pattern."""
    breaks = [match.span() for match in between.finditer(text)]
    starts = [0, *(end for _, end in breaks)]
    return list(zip(starts, [*(start for start, _ in breaks), len(text)], strict=True))


def _split_line(text: str, start: int, end: int) -> list[Span]:
    spans = []
    for mark in MARK.finditer(text, start, end):
        if _ends(text, start, mark, end):
            spans.append((start, mark.end()))
            start = mark.end()
    return [*spans, (start, end)]


def _ends(text: str, start: int, mark: re.Match[str], end: int) -> bool:
    """Tell whether a mark ends the sentence that began at `start`; in doubt, what comes next decides."""
    if SURE.match(mark[0]):
        return True
    rest = text[mark.end() : min(mark.end() + NEAR, end)]
    if rest and not rest[0].isspace():
        return GLUED.match(text, mark.start(), end) is not None
    after = rest.lstrip().lstrip("\"'“‘«‹([¿¡„‚-–—")
    if not after or after[0].islower():
        return not after
    return mark[0] != "." or not _is_inside(text, start, mark.start(), after)


def _is_inside(text: str, start: int, place: int, after: str) -> bool:
    """Tell whether a full stop belongs to an abbreviation, an initial, an ordinal or the number of an item."""
    before = text[max(start, place - NEAR) : place].split()
    word = before[-1].lstrip("\"'“‘«‹([„‚-–—") if before else ""
    if len(before) == 1 and place - start < NEAR and ENUMERATION.fullmatch(word):
        return True
    if word.lower() in ABBREVIATIONS or (word.lower() in ("no", "p") and after[0].isdigit()):
        return True
    if word.isdigit() and ORDINAL.match(f"{word}. {after}"):
        return True
    return len(word) == 1 and word.isalpha() and word.isupper() and word != "I"


def _trim_all(text: str, spans: Sequence[Span]) -> list[Span]:
    trimmed = map(partial(_trim, text), spans)
    return [(start, end) for start, end in trimmed if start < end]


def _trim(text: str, span: Span) -> Span:
    piece = text[slice(*span)]
    start = span[0] + len(piece) - len(piece.lstrip())
    return start, max(start, span[1] - (len(piece) - len(piece.rstrip())))
