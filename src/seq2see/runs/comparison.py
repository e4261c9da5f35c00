"""Runs side by side on the same pairs: scores and whether they differ, speed, size and attention."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.core.plural import say_count
from seq2see.core.registry import find
from seq2see.data.pairs import Origin, Pairs
from seq2see.data.sentence_splitter import show_sentences
from seq2see.explain.head_alignment import list_heads
from seq2see.explain.statistics import AttentionStatistics
from seq2see.metrics.alignment import Gold
from seq2see.metrics.label_significance import compare_classifiers
from seq2see.metrics.length import LengthScores, score_buckets, sort_by_length
from seq2see.metrics.significance import Tested, compare_captions, compare_systems
from seq2see.metrics.text import DEFAULT_TOKENIZER, make_bleu
from seq2see.runs.compared_run import AlignmentScores, ComparedRun
from seq2see.runs.decoding import Decoding
from seq2see.runs.evaluation import measure_attention
from seq2see.runs.parallel_prediction import choose_workers, start_workers
from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run
from seq2see.runs.word_alignment import Alignment, align, find_best_head, force_pairs, read_gold, score_heads
from seq2see.search.options import DecodeOptions

if TYPE_CHECKING:
    from pydantic import JsonValue

CHUNK = 400  # sources that each worker decodes between two moves of the bar

Advance = Callable[..., None]
Progress = Callable[[str, int], AbstractContextManager[Advance]]  # what is done, and how many times


@runtime_checkable
class ComparisonRenderer(Protocol):
    """Draws a comparison; the registry knows it as the renderer `comparison`."""

    def to_text(self, comparison: "Comparison") -> str:
        """Return the tables of a comparison as text.

        Args:
            comparison: the comparison to show.
        """
        ...

    def save(self, comparison: "Comparison", path: Path, *, examples: int) -> Path:
        """Write a comparison as a page, and return its path.

        Args:
            comparison: the comparison to write.
            path: the file, which must end in .html.
            examples: the sources whose attention is shown.
        """
        ...


@dataclass(frozen=True)
class Comparison:
    """All runs on the same pairs; the first one is the baseline.

    Args:
        data: the name of the data.
        pairs: the sources with their references.
        runs: each run with what was measured of it.
        lengths: the scores by the length of the source; None for images.
        workers: the processes that decoded together.
    """

    data: str
    pairs: Pairs
    runs: Sequence[ComparedRun]
    lengths: LengthScores | None
    workers: int = 1

    def __repr__(self) -> str:
        names = " and ".join(each.name for each in self.runs)
        return f"Comparison({names} on {say_count(len(self.pairs), self.unit)}; see table() and save(PATH))"

    @property
    def renderer(self) -> "ComparisonRenderer":
        """Return what draws this comparison."""
        renderer: ComparisonRenderer = find("renderer", "comparison")()
        return renderer

    def table(self) -> str:
        """Return the tables of the command `seq2see compare` as text."""
        return self.renderer.to_text(self)

    def save(self, path: Path | str, *, examples: int = 4) -> Path:
        """Write the comparison as a page with the heatmaps of all runs side by side, and return its path.

        Args:
            path: the file to write, which must end in .html.
            examples: the sources whose attention is shown.
        """
        return self.renderer.save(self, Path(path), examples=examples)

    @property
    def unit(self) -> str:
        """Return what a source is called: image, sentence, or text if it gets a label."""
        return "image" if self.lengths is None else "text" if self.of_labels else "sentence"

    @property
    def of_labels(self) -> bool:
        """Tell whether the runs choose labels; else they write texts."""
        return _chooses_labels(self.runs[0].run)

    def to_dict(self) -> "dict[str, JsonValue]":
        """Return everything that was measured, for programs."""
        return {
            "data": self.data,
            "pairs": len(self.pairs),
            "workers": self.workers,
            "runs": [each.to_dict() for each in self.runs],
            "lengths": None if self.lengths is None else self.lengths.to_dict(),
        }


def name_runs(paths: Sequence[Path]) -> list[str]:
    """Return a short name for each run folder, or its path where short names are the same.

    Args:
        paths: the run folders, at least two, each given once.
    """
    if len(paths) < 2:
        raise Seq2SeeError(f"a comparison needs at least two run folders; got {len(paths)}.")
    places = [path.resolve() for path in paths]
    for place, path in zip(places, paths, strict=True):
        if places.count(place) > 1:
            raise Seq2SeeError(f"{path} is given twice; name each run folder once.")
    names = [place.name for place in places]
    return names if len(set(names)) == len(names) else [str(path) for path in paths]


def compare(
    runs: Mapping[str, Run],
    pairs: Pairs,
    origin: Origin,
    *,
    options: DecodeOptions | None = None,
    bleu_tokenizer: str = DEFAULT_TOKENIZER,
    gold: Path | None = None,
    workers: int = 0,
    progress: Progress = lambda what, total: nullcontext(lambda count=1: None),
) -> Comparison:
    """Decode the pairs with every run, then score, measure and align.

    Args:
        runs: the runs by their names, the baseline first.
        pairs: sources with their references.
        origin: the files that the pairs come from.
        options: changes to how all runs decode; None: each as it is configured.
        bleu_tokenizer: the tokenizer of sacrebleu for BLEU, such as 13a, intl or zh.
        gold: a file of alignments made by people, a line for each pair; None: attention is not scored.
        workers: processes that decode together; 0 chooses as many as make it faster.
        progress: opens a progress bar, given what is done and how many steps it has; what it opens returns a function
            that is called with the number of steps done, by default 1.
    """
    make_bleu(bleu_tokenizer)  # refuse an unknown tokenizer before decoding
    images, first = check_runs(runs), next(iter(runs.values()))
    labels = _chooses_labels(first)
    if gold is not None and (images or labels):
        does = "read images" if images else "choose labels"
        raise Seq2SeeError(f"--gold aligns words with words, but these runs {does}; leave it out.")
    pairs = pairs if gold is not None else first.task.group_references(pairs)
    truth = read_gold(gold, pairs, origin) if gold is not None else None
    decoding = {name: run.choose_decoding(options) for name, run in runs.items()}
    workers = workers or max(choose_workers(run, len(pairs), decoding[name].search) for name, run in runs.items())
    decoded = {name: _decode(name, run, pairs, decoding[name], workers, progress) for name, run in runs.items()}
    texts = {name: [prediction.text for prediction in found] for name, (found, _) in decoded.items()}
    with progress("scoring", 1) as advance:
        if labels:
            tested, lengths = _score_labels(runs, texts, pairs, lengths=not images)
        elif images:
            tested, lengths = compare_captions(texts, pairs.references), None
        else:
            tested = compare_systems(texts, pairs.references, bleu_tokenizer=bleu_tokenizer)
            lengths = _score_lengths(texts, pairs, bleu_tokenizer)
        advance()
    compared = []
    for name, run in runs.items():
        predictions, seconds = decoded[name]
        outcome = (None, None) if labels else _measure(name, run, predictions, pairs, truth, progress)
        compared.append(ComparedRun(name, run, predictions, tested[name], seconds, *outcome))
    return Comparison(str(origin), pairs, compared, lengths, workers)


def check_runs(runs: Mapping[str, Run]) -> bool:
    """Return whether the runs read images; refuse runs that cannot be compared.

    Args:
        runs: the runs by their names.

    Raises:
        Seq2SeeError: some choose labels and others write texts, some choose one label and others several, or some read
            images and others texts.
    """
    _refuse_two_kinds(runs, _chooses_labels, ("chooses labels", "writes texts"))
    several = ("chooses several labels of a source", "chooses one")
    _refuse_two_kinds(runs, _chooses_several, several)
    return _refuse_two_kinds(runs, lambda run: run.task.source.tokenizer is None, ("reads images", "reads texts"))


def _refuse_two_kinds(runs: Mapping[str, Run], tell: Callable[[Run], bool], does: tuple[str, str]) -> bool:
    """Return what is the same of all runs; `does` says what a run does if it is so, and if it is not."""
    kinds = {name: tell(run) for name, run in runs.items()}
    first, second = (next((name for name, kind in kinds.items() if kind is wanted), None) for wanted in (True, False))
    if first is not None and second is not None:
        raise Seq2SeeError(f"{first} {does[0]} and {second} {does[1]}; compare runs of one kind.")
    return first is not None


def _chooses_labels(run: Run) -> bool:
    return not run.task.writes_text


def _chooses_several(run: Run) -> bool:
    labels = run.task.target.label_set
    return labels is not None and labels.many


def _decode(
    name: str, run: Run, pairs: Pairs, decoding: Decoding, workers: int, progress: Progress
) -> tuple[list[Prediction], float]:
    predictions: list[Prediction] = []
    with start_workers(run, workers) as shared, progress(f"{name}: decoding", len(pairs)) as advance:
        shared.predict(pairs.source[:2], decoding=decoding)  # the first call of a program warms up
        began, together = time.perf_counter(), CHUNK * workers
        for start in range(0, len(pairs), together):
            some = pairs.source[start : start + together]
            predictions += shared.predict(some, decoding=decoding)
            advance(len(some))
        return predictions, time.perf_counter() - began


def _score_lengths(texts: Mapping[str, Sequence[str]], pairs: Pairs, bleu_tokenizer: str) -> LengthScores:
    buckets = sort_by_length(pairs.source)
    scores: dict[str, dict[str, list[float]]] = {}
    for name, outputs in texts.items():
        for row in score_buckets(buckets, outputs, pairs.references, bleu_tokenizer=bleu_tokenizer):
            for metric in row:
                scores.setdefault(metric.name, {}).setdefault(name, []).append(metric.value)
    return LengthScores(buckets, scores)


def _score_labels(
    runs: Mapping[str, Run], texts: Mapping[str, Sequence[str]], pairs: Pairs, *, lengths: bool
) -> tuple[dict[str, list[Tested]], LengthScores | None]:
    """Return the tested metrics of each run and, if `lengths` says so, its accuracy by the length of the source."""
    cut = {name: [run.task.target.labels(text) for text in texts[name]] for name, run in runs.items()}
    first = next(iter(runs.values()))
    right = [first.task.target.labels(target) for target in pairs.target]
    tested = compare_classifiers(cut, right, many=_chooses_several(first))
    if not lengths:
        return tested, None
    buckets = sort_by_length([show_sentences(source) for source in pairs.source])
    correct = {name: [set(o) == set(r) for o, r in zip(each, right, strict=True)] for name, each in cut.items()}
    shares = {
        name: [100 * sum(hits[row] for row in bucket.rows) / len(bucket.rows) for bucket in buckets.buckets]
        for name, hits in correct.items()
    }
    return tested, LengthScores(buckets, {"accuracy": shares}, counted="texts")


def _measure(
    name: str,
    run: Run,
    predictions: Sequence[Prediction],
    pairs: Pairs,
    gold: Sequence[Gold] | None,
    progress: Progress,
) -> tuple[AttentionStatistics | None, AlignmentScores | None]:
    """Return statistics of the attention of a run, and with gold alignments its error rates."""
    with progress(f"{name}: attention", len(pairs) * (1 if gold is None else 2)) as advance:
        statistics = measure_attention(run, predictions, progress=advance)
        return statistics, _align(run, pairs, gold, advance) if gold is not None and statistics is not None else None


def _align(run: Run, pairs: Pairs, gold: Sequence[Gold], advance: Advance) -> AlignmentScores | None:
    try:
        alignment: Alignment = align(run, force_pairs(run, pairs), select=list_heads, progress=advance)
    except AttentionError:
        return None
    ranked = score_heads(alignment, gold)
    return AlignmentScores(alignment.default, find_best_head(ranked), ranked)
