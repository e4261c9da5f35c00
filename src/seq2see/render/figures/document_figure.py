"""A figure of a document for papers and slides: the weight of a sentence is beside it, those of words behind them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties

from seq2see.explain.document_trace import AttendedSentence, DocumentTrace
from seq2see.render.colours import LIGHT, MUTED, WARM_LIGHT, WRONG, mix_colour
from seq2see.render.figures.fonts import Fonts, choose_fonts, explain_missing
from seq2see.render.figures.footnote import wrap_notes
from seq2see.render.figures.notebook_figure import NotebookFigure
from seq2see.render.text_direction import Direction, find_direction, find_directions, find_runs, turn_brackets
from seq2see.render.token_label import UNKNOWN_NOTE, show_text

WIDTH, SIDE, MARGIN = 9.0, 1.15, 0.2  # inches: of the figure, of the column of sentence weights, of each border
ROOM = WIDTH - SIDE - 2 * MARGIN  # inches for a line of text
LINE, SIZE = 0.25, 10.0  # inches from line to line, points of the text
NOTE = 0.14  # inches from line to line of the notes
DPI = 160
LINES = 110  # lines of a figure; of a longer document, the sentences of least weight are left out
FAINT = 0.02  # a word with at most this share of the largest strength stays white
INK = "#1b232e"


@dataclass(frozen=True)
class Placed:
    """A word with its place in the figure.

    Args:
        text: the word as it is drawn, with visible signs for control characters.
        line: the line of its sentence, from 0.
        left: inches from the left border of the text to the word.
        width: the width of the word in inches.
        strength: sqrt(sentence weight) x word weight as a share of the largest one, 0 to 1; None without word weights.
        unknown: whether the vocabulary lacks the word.
    """

    text: str
    line: int
    left: float
    width: float
    strength: float | None
    unknown: bool = False


def draw_document(trace: DocumentTrace) -> Figure:
    """Draw the document with its label; every sentence begins on a new line, and the largest weight is darkest.

    Args:
        trace: the document with its weights and, if they were measured, the probability drops of its sentences.
    """
    fonts = _choose_fonts(trace)
    ruler = _Ruler(fonts)
    sentences = [(sentence, list(_place(sentence, ruler, trace.max_strength))) for sentence in trace.sentences]
    kept = _keep(sentences)
    notes = wrap_notes(WIDTH - 2 * MARGIN, *_explain(trace, len(kept), fonts))
    height = LINE * (sum(_count(words) for _, words in kept) + 2) + 2 * MARGIN + NOTE * len(notes)
    figure = NotebookFigure(figsize=(WIDTH, height))
    _write(figure, fonts, _name(trace), MARGIN, height - MARGIN - LINE / 2, size=SIZE + 1, weight="bold")
    top = height - MARGIN - 1.6 * LINE
    largest = max((sentence.weight or 0.0 for sentence in trace.sentences), default=0.0)
    for sentence, words in kept:
        _draw_sentence(figure, fonts, sentence, words, top=top, largest=largest)
        top -= LINE * _count(words)
    for place, note in enumerate(reversed(notes)):
        _write(figure, fonts, note, MARGIN, MARGIN + NOTE * place, size=7.0, color=MUTED)
    return figure


class _Ruler:
    """Measures how wide texts are, in inches."""

    def __init__(self, fonts: Fonts) -> None:
        self.fonts = fonts
        self._renderer = FigureCanvasAgg(Figure(dpi=DPI)).get_renderer()
        self._font = FontProperties(family=list(fonts.families), size=SIZE)

    def __call__(self, text: str) -> float:
        width, _, _ = self._renderer.get_text_width_height_descent(self.fonts.spell(text), self._font, False)
        return float(width) / DPI


def _place(sentence: AttendedSentence, ruler: _Ruler, strongest: float) -> Iterator[Placed]:
    """Yield the words of a sentence at the places that the direction of their script gives them."""
    placed = list(_place_right(sentence, ruler, strongest))
    main = find_direction("".join(word.text for word in placed)) or "right"
    for line in range(_count(placed)):
        yield from _turn([word for word in placed if word.line == line], main)


def _turn(words: list[Placed], main: Direction) -> Iterator[Placed]:
    """Yield the words of a line, from the right border if the text is written from right to left.

    Neighbours in the other direction, such as English words in a Hebrew text, change their places with each other.
    """
    directions = find_directions([word.text for word in words], main)
    lefts = [max(ROOM - word.left - word.width, 0.0) if main == "left" else word.left for word in words]
    for run in find_runs(directions, main):
        both = min(lefts[place] for place in run) + max(lefts[place] + words[place].width for place in run)
        for place in run:
            lefts[place] = both - lefts[place] - words[place].width
    for word, left, direction in zip(words, lefts, directions, strict=True):
        lone = direction == "left" and find_direction(word.text) is None
        yield replace(word, left=left, text=turn_brackets(word.text) if lone else word.text)


def _place_right(sentence: AttendedSentence, ruler: _Ruler, strongest: float) -> Iterator[Placed]:
    """Yield the words from left to right, on a new line where one is full."""
    space = ruler("a b") - ruler("ab")
    line, left, last = 0, 0.0, sentence.start
    for word, strength in zip(sentence.words, sentence.strengths, strict=True):
        left += space if word.start > last else 0.0
        text = show_text(word.text)
        width = ruler(text)
        if left + width > ROOM and left:
            line, left = line + 1, 0.0
        yield Placed(text, line, left, width, None if strength is None else strength / strongest, word.unknown)
        left, last = left + width, word.end


def _draw_sentence(
    figure: Figure, fonts: Fonts, sentence: AttendedSentence, words: Sequence[Placed], *, top: float, largest: float
) -> None:
    if sentence.weight is not None:
        colour = mix_colour(sentence.weight / (largest or 1.0), stops=WARM_LIGHT)
        _fill(figure, MARGIN, top - LINE * _count(words) + 0.03, 0.14, LINE * _count(words) - 0.06, colour)
        _write(figure, fonts, f"{sentence.weight:.3f}", MARGIN + 0.2, top - LINE / 2, size=8.0, color=MUTED)
    if sentence.drop is not None:
        _write(figure, fonts, f"{-sentence.drop:+.2f}", MARGIN + 0.62, top - LINE / 2, size=8.0, color=MUTED)
    for word in words:
        left, middle = MARGIN + SIDE + word.left, top - LINE * (word.line + 0.5)
        strength = word.strength or 0.0
        if strength > FAINT:
            _fill(figure, left, middle - 0.1, word.width, 0.2, mix_colour(strength, stops=LIGHT))
        ink = "white" if strength > 0.45 else INK
        _write(figure, fonts, word.text, left, middle, color=ink)
        if word.unknown:
            _fill(figure, left, middle - 0.115, word.width, 0.02, WRONG)


def _fill(figure: Figure, left: float, bottom: float, width: float, height: float, colour: str) -> None:
    from matplotlib.patches import Rectangle

    x, y = figure.get_size_inches()
    figure.add_artist(Rectangle((left / x, bottom / y), width / x, height / y, color=colour, lw=0))


def _write(
    figure: Figure,
    fonts: Fonts,
    text: str,
    left: float,
    middle: float,
    *,
    size: float = SIZE,
    color: str = INK,
    weight: str = "normal",
) -> None:
    x, y = figure.get_size_inches()
    written = figure.text(left / x, middle / y, fonts.spell(text), ha="left", va="center_baseline")
    written.set(family=fonts.families, fontsize=size, color=color, fontweight=weight)
    written.set_parse_math(False)  # a price such as $5 is no formula


def _choose_fonts(trace: DocumentTrace) -> Fonts:
    words = "".join(show_text(word.text) for sentence in trace.sentences for word in sentence.words)
    return choose_fonts(words + trace.label + "…×√", base="DejaVu Sans")


def _keep(sentences: list[tuple[AttendedSentence, list[Placed]]]) -> list[tuple[AttendedSentence, list[Placed]]]:
    """Return the sentences of the largest weights that fit into a figure, in the order of the document."""
    order = sorted(range(len(sentences)), key=lambda place: -(sentences[place][0].weight or 0.0))
    kept: list[int] = []
    lines = 0
    for place in order:
        lines += _count(sentences[place][1])
        if lines > LINES and kept:
            break
        kept.append(place)
    return [sentences[place] for place in sorted(kept)]


def _count(words: Sequence[Placed]) -> int:
    return words[-1].line + 1


def _name(trace: DocumentTrace) -> str:
    chance = trace.probabilities.get(trace.label)
    return trace.label if chance is None else f"{trace.label}  {chance:.1%}"


def _explain(trace: DocumentTrace, kept: int, fonts: Fonts) -> list[str]:
    """Return the notes: what the colours and numbers mean, what is left out, and what attention is."""
    notes = ["words: √ of the sentence's attention weight × the word's, darkest where it is largest"]
    notes += ["beside each sentence: its attention weight"] if not trace.is_flat else []
    measured = any(sentence.drop is not None for sentence in trace.sentences)
    notes += ["and how the probability changes without it"] if measured else []
    if kept < len(trace.sentences):
        notes.append(f"{len(trace.sentences) - kept} sentences of small weight are left out")
    if any(word.unknown for sentence in trace.sentences for word in sentence.words):
        notes.append(f"red line: {UNKNOWN_NOTE}")
    missing = explain_missing(fonts)
    notes += [missing] if missing else []
    return ["; ".join(notes), trace.caption]
