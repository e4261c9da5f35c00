"""Word alignments of a run: of pairs it is given, or of outputs it found itself."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2see.core.errors import AttentionError, DataError, Seq2SeeError
from seq2see.core.files import write_atomic
from seq2see.core.word import find_words
from seq2see.data.lines import decode, read_bytes, split_lines
from seq2see.data.pairs import Origin, Pairs
from seq2see.inspect.alignment import Choice, Units, choose_units, default_choice, find_choice, link_trace, list_choices
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.replay import Given, give_output, give_target, replay
from seq2see.metrics.alignment import Agreement, Gold, Links, check_links, measure_agreement, read_links, write_links
from seq2see.run import Prediction, Run

Choose = Callable[[AttentionTrace], list[Choice]]


@dataclass(frozen=True)
class Alignment:
    """The links of all pairs, for each choice of map and head."""

    units: Units
    default: Choice
    links: dict[Choice, list[Links]]


@dataclass(frozen=True)
class Outcome:
    """The links of one choice, why it was chosen, and how all that were tried agree with gold, if there is any."""

    alignment: Alignment
    chosen: Choice
    why: str
    ranked: dict[Choice, Agreement] | None = None

    @property
    def links(self) -> list[Links]:
        """The links of the choice."""
        return self.alignment.links[self.chosen]


def align_pairs(
    run: Run,
    pairs: Pairs,
    gold: Sequence[Gold] | None = None,
    *,
    name: str | None = None,
    head: int | None = None,
    threshold: float = 0.0,
    seen: Callable[[], None] = lambda: None,
) -> Outcome:
    """Link given pairs by the map and head that are asked for; else by the best by gold; else by the default."""
    asked = name is not None or head is not None
    every = gold is not None and not asked

    def choose(trace: AttentionTrace) -> list[Choice]:
        return list_choices(trace) if every else [find_choice(trace, name, head)]

    alignment = align(run, give_pairs(run, pairs), choose=choose, threshold=threshold, seen=seen)
    ranked = rank_choices(alignment, gold) if gold is not None else None
    if ranked is not None and every:
        return Outcome(alignment, find_best(ranked), "the best by AER", ranked)
    return Outcome(alignment, next(iter(alignment.links)), "as asked" if asked else "the default", ranked)


def choose_default(trace: AttentionTrace) -> list[Choice]:
    """Only the map that is taken if nobody says otherwise."""
    return [default_choice(trace)]


def give_pairs(run: Run, pairs: Pairs) -> list[Given]:
    """Pairs as targets to write."""
    _need_texts(run)
    return [give_target(run.task, *pair) for pair in zip(pairs.source, pairs.target, strict=True)]


def align(
    run: Run,
    given: Sequence[Given],
    *,
    choose: Choose = choose_default,
    threshold: float = 0.0,
    seen: Callable[[], None] = lambda: None,
) -> Alignment:
    """Link the words of every pair by the attention while its target is written; `seen` is called after each."""
    units = choose_units([each.source for each in given], [each.target for each in given])
    choices = list[Choice]()
    default, links = None, dict[Choice, list[Links]]()
    for place, trace in replay(run.task, run.model, given):
        if default is None:
            default, choices = default_choice(trace), choose(trace)
            links = {choice: [frozenset()] * len(given) for choice in choices}
        for choice, found in zip(choices, link_trace(trace, choices, units, threshold=threshold), strict=True):
            links[choice][place] = found
        seen()
    if default is None:
        raise AttentionError("there is nothing to align.")
    return Alignment(units, default, links)


def rank_choices(alignment: Alignment, gold: Sequence[Gold]) -> dict[Choice, Agreement]:
    """How well each choice agrees with gold, in the order of maps and heads."""
    return {choice: measure_agreement(links, gold) for choice, links in alignment.links.items()}


def find_best(ranked: dict[Choice, Agreement]) -> Choice:
    """The choice with the lowest error; the first of equal ones."""
    return min(ranked, key=lambda choice: ranked[choice].aer)


def read_gold(file: Path, pairs: Pairs, origin: Origin) -> list[Gold]:
    """The gold links of each pair, checked against its words."""
    units = choose_units(pairs.source, pairs.target)
    lines = split_lines(decode(read_bytes(file), file))
    total, places = place_pairs(pairs, origin)
    if len(lines) not in (total, len(pairs)):
        raise DataError(f"gold must have a line for each pair; got {len(lines)} lines for {total} pairs.", file=file)
    numbers = places if len(lines) == total else range(len(pairs))
    gold = [read_links(lines[number], file=file, line=number + 1) for number in numbers]
    for each, number, source, target in zip(gold, numbers, pairs.source, pairs.target, strict=True):
        counts = {"source": len(find_words(source, units[0])), "target": len(find_words(target, units[1]))}
        check_links(each, **counts, file=file, line=number + 1)
    return gold


def place_pairs(pairs: Pairs, origin: Origin) -> tuple[int, list[int]]:
    """How many lines belong to an origin, and which of them each pair is: blank lines of parallel files count too."""
    if origin.target_file is None or not pairs.lines:
        return len(pairs), list(range(len(pairs)))
    lines = len(split_lines(decode(read_bytes(origin.file), origin.file)))
    return max(lines, pairs.lines[-1]), [line - 1 for line in pairs.lines]  # a pipe is empty the second time


def write_alignment(links: Sequence[Links], pairs: Pairs, origin: Origin) -> list[str]:
    """Pharaoh lines in the order of the file, blank for a pair that was skipped."""
    total, places = place_pairs(pairs, origin)
    lines = [""] * total
    for place, found in zip(places, links, strict=True):
        lines[place] = write_links(found)
    return lines


def check_attention(run: Run) -> None:
    """Refuse a run without attention before any time is spent."""
    _need_texts(run)
    next(replay(run.task, run.model, [give_target(run.task, "a", "a")]))


def record_alignments(run: Run, predictions: Iterator[Prediction], file: Path | None) -> Iterator[Prediction]:
    """Pass predictions on; when the last one is gone, write the alignments of all to the file, if there is one."""
    kept = []
    if file is not None:
        check_attention(run)
    for prediction in predictions:
        if file is not None:
            kept.append(give_output(prediction))
        yield prediction
    if file is not None:
        places = [place for place, given in enumerate(kept) if given.ids]
        lines = [""] * len(kept)
        if places:
            alignment = align(run, [kept[place] for place in places])
            for place, links in zip(places, alignment.links[alignment.default], strict=True):
                lines[place] = write_links(links)
        write_atomic(file, "".join(f"{line}\n" for line in lines))


def _need_texts(run: Run) -> None:
    if run.config.task != "transduction":
        raise Seq2SeeError(f"words are aligned between two texts, but {run.folder.path} chooses labels; inspect it.")
    if run.config.reads_pictures:
        raise Seq2SeeError(f"words are aligned between two texts, but {run.folder.path} reads pictures; inspect it.")
