"""A document in the terminal: sentences with their attention weights beside them, words coloured by their weights."""

from collections.abc import Sequence

from rich.style import Style
from rich.table import Table
from rich.text import Text

from seq2see.core.token import Token
from seq2see.explain.document_trace import AttendedSentence, DocumentTrace
from seq2see.metrics.rank import RankAgreement
from seq2see.render.colours import DARK, WARM_DARK, mix_colour
from seq2see.render.token_label import UNKNOWN_MARK, list_unknown, show_text

BARS = " ▏▎▍▌▋▊▉█"
CELLS = 6  # terminal cells of the longest bar
LEAVE_ONE_OUT = "Leave-one-out: what the output needs"
ATTENTION = "Attention: where the model attended"
HEAVIEST = 8  # the number of words in a list of the largest weights or drops


def render_document(trace: DocumentTrace, *, width: int | None = None) -> Table:
    """Return a table with a row for each sentence; bars and a list of words repeat what the colours show.

    Args:
        trace: the document with its weights and, if they were measured, its probability drops.
        width: the terminal cells of a line; None takes what the table needs, at most the width of the terminal.
    """
    table = Table(show_header=False, box=None, padding=(0, 1, 0, 0), title=_title(trace), title_justify="left")
    table.width = width
    empty = [] if trace.is_flat else [Text("")]
    if trace.drops_first:
        table.add_row(*empty, Text(f"{trace.caption}\n\n{LEAVE_ONE_OUT}"))
        most = max((word.drop or 0.0 for each in trace.sentences for word in each.words), default=0.0) or 1.0
        for sentence in trace.sentences:
            shares = [max(word.drop or 0.0, 0.0) / most for word in sentence.words]
            side = [] if trace.is_flat else [_render_drop(sentence)]
            table.add_row(*side, _render_words(sentence, shares, stops=WARM_DARK))
        table.add_row(*empty, Text(f"\n{ATTENTION}"))
    largest = max((sentence.weight or 0.0 for sentence in trace.sentences), default=0.0) or 1.0
    for sentence in trace.sentences:
        side = [] if trace.is_flat else [_render_weight(sentence, largest)]
        shares = [(strength or 0.0) / trace.max_strength for strength in sentence.strengths]
        table.add_row(*side, _render_words(sentence, shares, stops=DARK))
    for line in [*_summarise(trace), *([] if trace.drops_first else [trace.caption])]:
        table.add_row(*empty, Text(line, style="dim"))
    return table


def _title(trace: DocumentTrace) -> Text:
    shares = ", ".join(f"{name} {chance:.1%}" for name, chance in list(trace.probabilities.items())[:6])
    return Text.assemble((trace.label, "bold"), f"  ({shares})" if shares else "")


def _render_weight(sentence: AttendedSentence, largest: float) -> Text:
    text = Text()
    if sentence.weight is not None:
        share = sentence.weight / largest
        colour = mix_colour(share, stops=WARM_DARK)
        text.append(f"{sentence.weight:.3f} ")
        text.append(draw_bar(share).ljust(CELLS), Style(color=colour))
    if sentence.drop is not None:
        text.append(f" {-sentence.drop:+.2f}", "dim")
    return text


def _render_drop(sentence: AttendedSentence) -> Text:
    return Text("" if sentence.drop is None else f"{-sentence.drop:+.2f}")


def draw_bar(share: float) -> str:
    """Return a bar of block characters.

    Args:
        share: the length as a share of the longest bar, 0 to 1.
    """
    eighths = round(share * CELLS * 8)
    return BARS[-1] * (eighths // 8) + BARS[eighths % 8].strip()


def _render_words(sentence: AttendedSentence, shares: Sequence[float], *, stops: tuple[str, ...]) -> Text:
    text, last = Text(), sentence.start
    for word, share in zip(sentence.words, shares, strict=True):
        text.append(" " if word.start > last else "")
        style = Style(bgcolor=mix_colour(share, stops=stops), color="#10151d" if share > 0.6 else None)
        text.append(UNKNOWN_MARK if word.unknown else "")
        text.append(show_text(word.text), style if share > 0.02 else None)
        last = word.end
    return text


def _summarise(trace: DocumentTrace) -> list[str]:
    pairs = [(s, w.text) for each in trace.sentences for s, w in zip(each.strengths, each.words, strict=True)]
    ranked = sorted([pair for pair in pairs if pair[0]], key=lambda pair: -(pair[0] or 0.0))[:HEAVIEST]
    named = ", ".join(f"{show_text(text)} {strength:.3f}" for strength, text in ranked)
    lines = [f"words with the most attention: {named}"] if named else []
    drops = [(word.drop, word.text) for each in trace.sentences for word in each.words if word.drop is not None]
    largest = sorted(drops, key=lambda pair: -pair[0])[:HEAVIEST]
    needed = ", ".join(f"{show_text(text)} {-drop:+.2g}" for drop, text in largest)
    lines += [f"largest probability drops, word by word left out: {needed}"] if needed else []
    unknown = list_unknown(Token(w.text, w.start, w.end, unknown=w.unknown) for s in trace.sentences for w in s.words)
    lines = [f"{UNKNOWN_MARK} {unknown}", *lines] if unknown else lines
    agreements = (("sentences", trace.sentence_agreement), ("words", trace.word_agreement))
    return lines + [say_agreement(name, agreement) for name, agreement in agreements if agreement is not None]


def say_agreement(name: str, agreement: RankAgreement) -> str:
    """Return a line with the rank correlations of attention weights with probability drops.

    Args:
        name: what was compared, in the plural, such as words.
        agreement: the correlations; one that is None is called undefined.
    """
    numbers = [("Kendall tau", agreement.kendall), ("Spearman", agreement.spearman)]
    said = ", ".join(f"{what} {'undefined' if value is None else f'{value:.2f}'}" for what, value in numbers)
    return f"rank agreement of attention with occlusion, {agreement.count} {name}: {said}"
