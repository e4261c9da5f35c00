"""A document in the terminal: its sentences with their weights, and its words in the colours of theirs."""

from rich.style import Style
from rich.table import Table
from rich.text import Text

from seq2see.inspect.colour import DARK, WARM_DARK, mix_colour
from seq2see.inspect.document import DocumentTrace, SeenSentence
from seq2see.inspect.label import show_text
from seq2see.metrics.rank import RankAgreement

BARS = " ▏▎▍▌▋▊▉█"
CELLS = 6  # of the longest bar
HEAVIEST = 8  # words that are named below


def render_document(trace: DocumentTrace, *, width: int | None = None) -> Table:
    """A row for each sentence; what colour says is also said by bars and by the list of the heaviest words."""
    table = Table(show_header=False, box=None, padding=(0, 1, 0, 0), title=_title(trace), title_justify="left")
    table.width = width
    largest = max((sentence.weight or 0.0 for sentence in trace.sentences), default=0.0) or 1.0
    for sentence in trace.sentences:
        side = [] if trace.flat else [_render_weight(sentence, largest)]
        table.add_row(*side, _render_words(sentence, trace.strongest))
    for line in _summarise(trace):
        table.add_row(*([] if trace.flat else [Text("")]), Text(line, style="dim"))
    return table


def _title(trace: DocumentTrace) -> Text:
    shares = ", ".join(f"{name} {chance:.1%}" for name, chance in list(trace.probabilities.items())[:6])
    return Text.assemble((trace.label, "bold"), f"  ({shares})" if shares else "")


def _render_weight(sentence: SeenSentence, largest: float) -> Text:
    text = Text()
    if sentence.weight is not None:
        share = sentence.weight / largest
        colour = mix_colour(share, stops=WARM_DARK)
        text.append(f"{sentence.weight:.3f} ")
        text.append(_draw_bar(share).ljust(CELLS), Style(color=colour))
    if sentence.fall is not None:
        text.append(f" {-sentence.fall:+.2f}", "dim")
    return text


def _draw_bar(share: float) -> str:
    eighths = round(share * CELLS * 8)
    return BARS[-1] * (eighths // 8) + BARS[eighths % 8].strip()


def _render_words(sentence: SeenSentence, strongest: float) -> Text:
    text, last = Text(), sentence.start
    for word, strength in zip(sentence.words, sentence.strengths, strict=True):
        text.append(" " if word.start > last else "")
        share = 0.0 if strength is None else strength / strongest
        style = Style(bgcolor=mix_colour(share, stops=DARK), color="#10151d" if share > 0.6 else None)
        text.append(show_text(word.text), style if share > 0.02 else None)
        last = word.end
    return text


def _summarise(trace: DocumentTrace) -> list[str]:
    pairs = [(s, w.text) for each in trace.sentences for s, w in zip(each.strengths, each.words, strict=True)]
    ranked = sorted([pair for pair in pairs if pair[0]], key=lambda pair: -(pair[0] or 0.0))[:HEAVIEST]
    named = ", ".join(f"{show_text(text)} {strength:.3f}" for strength, text in ranked)
    lines = [f"heaviest words: {named}"] if named else []
    falls = [(word.fall, word.text) for each in trace.sentences for word in each.words if word.fall is not None]
    needed = ", ".join(
        f"{show_text(text)} {-fall:+.2g}" for fall, text in sorted(falls, key=lambda p: -p[0])[:HEAVIEST]
    )
    lines += [f"without them the probability changes most: {needed}"] if needed else []
    agreements = (("sentences", trace.sentence_agreement), ("words", trace.word_agreement))
    return lines + [say_agreement(name, agreement) for name, agreement in agreements if agreement is not None]


def say_agreement(name: str, agreement: RankAgreement) -> str:
    """How far attention and leaving out agree, in a line."""
    numbers = [("Kendall tau", agreement.kendall), ("Spearman", agreement.spearman)]
    said = ", ".join(f"{what} {'undefined' if value is None else f'{value:.2f}'}" for what, value in numbers)
    return f"attention against leaving out, {agreement.count} {name}: {said}"
