"""Word alignments of a run, by its attention: of pairs that are given, or of its own outputs."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2see.core.errors import AttentionError, DataError, Seq2SeeError
from seq2see.core.words import find_words
from seq2see.data.formats.encodings import decode
from seq2see.data.formats.file_bytes import read_bytes
from seq2see.data.formats.lines import ReadReport, read_text, split_lines
from seq2see.data.pairs import Origin, Pairs
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.cross_attention import trace_cross_attention
from seq2see.explain.forced_output import ForcedOutput
from seq2see.explain.head_alignment import (
    HeadSelection,
    Units,
    choose_units,
    default_head,
    find_head,
    link_trace,
    list_heads,
)
from seq2see.metrics.alignment import Agreement, Gold, Links, check_links, measure_agreement, read_links, write_links
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.system.files import write_atomic

SelectHeads = Callable[[AttentionTrace], list[HeadSelection]]


@dataclass(frozen=True)
class Alignment:
    """The links of all pairs, for each selected head.

    Args:
        units: whether source and target are counted in words or characters.
        default: the head that is taken unless another is asked for.
        links: for each head, the links of each pair.
    """

    units: Units
    default: HeadSelection
    links: dict[HeadSelection, list[Links]]


@dataclass(frozen=True)
class Outcome:
    """The links of one head, and how all heads that were tried agree with the gold alignments.

    Args:
        alignment: the links of every head that was tried.
        chosen: the head whose links are taken.
        why: why it was chosen, in words.
        ranked: how well each head agrees with the gold alignments; None without them.
    """

    alignment: Alignment
    chosen: HeadSelection
    why: str
    ranked: dict[HeadSelection, Agreement] | None = None

    @property
    def links(self) -> list[Links]:
        """Return the links of the chosen head, one set for each pair."""
        return self.alignment.links[self.chosen]


def align_pairs(
    run: Run,
    pairs: Pairs,
    gold: Sequence[Gold] | None = None,
    *,
    name: str | None = None,
    head: int | None = None,
    threshold: float = 0.0,
    progress: Callable[[], None] = lambda: None,
) -> Outcome:
    """Link given pairs by the named map and head; else by the best by gold; else by the default.

    Args:
        run: a run that reads and writes texts.
        pairs: the pairs to align.
        gold: links made by people, for each pair; None without them.
        name: the attention map to take links from; None takes the default map.
        head: the head of the map, from 1; None takes the mean over all heads.
        threshold: links with less attention (0 to 1) are left out.
        progress: called after each pair.
    """
    asked = name is not None or head is not None
    every = gold is not None and not asked

    def select(trace: AttentionTrace) -> list[HeadSelection]:
        return list_heads(trace) if every else [find_head(trace, name, head)]

    alignment = align(run, force_pairs(run, pairs), select=select, threshold=threshold, progress=progress)
    ranked = score_heads(alignment, gold) if gold is not None else None
    if ranked is not None and every:
        return Outcome(alignment, find_best_head(ranked), "the best by AER", ranked)
    return Outcome(alignment, next(iter(alignment.links)), "as asked" if asked else "the default", ranked)


def select_default(trace: AttentionTrace) -> list[HeadSelection]:
    """Return only the default head.

    Args:
        trace: the attention of any pair.
    """
    return [default_head(trace)]


def force_pairs(run: Run, pairs: Pairs) -> list[ForcedOutput]:
    """Return pairs as outputs for forced decoding.

    Args:
        run: a run that reads and writes texts.
        pairs: the pairs, whose targets the model is made to write.
    """
    _need_texts(run)
    task, _ = run.transduction
    return [ForcedOutput.from_target(task, *pair) for pair in zip(pairs.source, pairs.target, strict=True)]


def align(
    run: Run,
    outputs: Sequence[ForcedOutput],
    *,
    select: SelectHeads = select_default,
    threshold: float = 0.0,
    progress: Callable[[], None] = lambda: None,
) -> Alignment:
    """Link the words of every output by the attention under forced decoding.

    Args:
        run: a run that reads and writes texts.
        outputs: the sources with the outputs that the model is made to write.
        select: returns the heads to link by, given the attention of the first output.
        threshold: links with less attention (0 to 1) are left out.
        progress: called after each output.
    """
    units = choose_units([each.source for each in outputs], [each.target for each in outputs])
    selections = list[HeadSelection]()
    default, links = None, dict[HeadSelection, list[Links]]()
    for place, trace in trace_cross_attention(*run.transduction, outputs):
        if default is None:
            default, selections = default_head(trace), select(trace)
            links = {selection: [frozenset()] * len(outputs) for selection in selections}
        for selection, found in zip(selections, link_trace(trace, selections, units, threshold=threshold), strict=True):
            links[selection][place] = found
        progress()
    if default is None:
        raise AttentionError("there is nothing to align.")
    return Alignment(units, default, links)


def score_heads(alignment: Alignment, gold: Sequence[Gold]) -> dict[HeadSelection, Agreement]:
    """Return how well each head agrees with the gold alignments, in the order of maps and heads.

    Args:
        alignment: the links of each head.
        gold: the links made by people, for each pair.
    """
    return {selection: measure_agreement(links, gold) for selection, links in alignment.links.items()}


def find_best_head(ranked: dict[HeadSelection, Agreement]) -> HeadSelection:
    """Return the head with the lowest alignment error rate; the first of equal ones.

    Args:
        ranked: what `score_heads` returned.
    """
    return min(ranked, key=lambda selection: ranked[selection].aer)


def read_gold(file: Path, pairs: Pairs, origin: Origin) -> list[Gold]:
    """Read the gold links of each pair, and check them against its words.

    Args:
        file: Pharaoh lines (`0-0 1-2`), one for each pair, or one for each line of the files of the origin.
        pairs: the pairs that were read.
        origin: the files that they come from.
    """
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
    """Return how many lines the files of an origin have, and which of them, from 0, each pair is.

    Blank lines of parallel files count too.

    Args:
        pairs: the pairs that were read.
        origin: the files that they come from.
    """
    if origin.target_file is None or not pairs.lines:
        return len(pairs), list(range(len(pairs)))
    lines = len(split_lines(read_text(origin.file, ReadReport(origin.encoding))))
    return max(lines, pairs.lines[-1]), [line - 1 for line in pairs.lines]  # a pipe is empty the second time


def write_alignment(links: Sequence[Links], pairs: Pairs, origin: Origin) -> list[str]:
    """Return Pharaoh lines (`0-0 1-2`) in the order of the file, blank for a pair that was left out.

    Args:
        links: the links of each pair.
        pairs: the pairs that were read.
        origin: the files that they come from.
    """
    total, places = place_pairs(pairs, origin)
    lines = [""] * total
    for place, found in zip(places, links, strict=True):
        lines[place] = write_links(found)
    return lines


def check_attention(run: Run) -> None:
    """Refuse a run without attention before any time is spent.

    Args:
        run: the run.

    Raises:
        AttentionError: the model has no attention.
        Seq2SeeError: the run chooses labels or reads images.
    """
    _need_texts(run)
    task, model = run.transduction
    next(trace_cross_attention(task, model, [ForcedOutput.from_target(task, "a", "a")]))


def record_alignments(run: Run, predictions: Iterator[Prediction], file: Path | None) -> Iterator[Prediction]:
    """Pass predictions on, and write the alignments of all of them to a file after the last one.

    Args:
        run: the run that predicted.
        predictions: its predictions.
        file: the file of Pharaoh lines, one for each prediction; None writes nothing.
    """
    kept = []
    if file is not None:
        check_attention(run)
    for prediction in predictions:
        if file is not None:
            kept.append(ForcedOutput.from_output(prediction))
        yield prediction
    if file is not None:
        places = [place for place, output in enumerate(kept) if output.ids]
        lines = [""] * len(kept)
        if places:
            alignment = align(run, [kept[place] for place in places])
            for place, links in zip(places, alignment.links[alignment.default], strict=True):
                lines[place] = write_links(links)
        write_atomic(file, "".join(f"{line}\n" for line in lines))


def _need_texts(run: Run) -> None:
    if not run.task.writes_text:
        raise Seq2SeeError(f"words are aligned between two texts, but {run.folder.path} chooses labels; inspect it.")
    if run.task.source.tokenizer is None:
        raise Seq2SeeError(f"words are aligned between two texts, but {run.folder.path} reads images; inspect it.")
