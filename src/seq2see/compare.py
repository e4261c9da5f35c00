"""Runs side by side on the same pairs: scores and whether they differ, speed and size, and what they look at."""

import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from seq2see.align import Alignment, align, find_best, give_pairs, rank_choices, read_gold
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.data.pairs import Origin, Pairs
from seq2see.inspect.alignment import Choice, list_choices
from seq2see.inspect.lengths import Lengths
from seq2see.inspect.measures import Measures
from seq2see.metrics.alignment import Agreement, Gold
from seq2see.metrics.length import score_buckets, sort_by_length
from seq2see.metrics.significance import Tested, compare_captions, compare_systems
from seq2see.metrics.text import DEFAULT_TOKENIZER, make_bleu
from seq2see.review import count_minutes, count_parameters, measure_looks
from seq2see.run import Prediction, Run
from seq2see.search.choose import choose_search
from seq2see.search.hypothesis import Search
from seq2see.workers import choose_workers, hire

CHUNK = 400  # sources that each worker decodes between two moves of the bar

Seen = Callable[..., None]
Progress = Callable[[str, int], AbstractContextManager[Seen]]  # what is done, and how many times


@dataclass(frozen=True)
class Aligned:
    """The error of a run's alignments: for the default map, and for the one that agrees best."""

    default: Choice
    best: Choice
    agreements: dict[Choice, Agreement]


@dataclass(frozen=True)
class Contender:
    """One run and everything that was found out about it."""

    name: str
    run: Run
    predictions: Sequence[Prediction]
    tested: Sequence[Tested]
    seconds: float  # that decoding took
    attention: Measures | None
    aligned: Aligned | None

    @property
    def speed(self) -> float:
        """Sentences decoded in a second."""
        return len(self.predictions) / max(self.seconds, 1e-9)

    @property
    def parameters(self) -> int:
        """All numbers that were learned."""
        return count_parameters(self.run)

    @property
    def megabytes(self) -> float:
        """The size of the weights on the disk."""
        return self.run.folder.weights_file.stat().st_size / 1e6

    @property
    def minutes(self) -> float | None:
        """How long it was trained, if its folder says so."""
        return count_minutes(self.run)


@dataclass(frozen=True)
class Comparison:
    """All runs on the same pairs; the first one is the baseline."""

    data: str
    pairs: Pairs
    contenders: Sequence[Contender]
    lengths: Lengths | None  # None for pictures
    workers: int = 1  # processes that decoded together

    @property
    def unit(self) -> str:
        """What a source is."""
        return "picture" if self.lengths is None else "sentence"


def name_runs(paths: Sequence[Path]) -> list[str]:
    """A short name for each run folder, or its path where short names are the same."""
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
    beam: int | None = None,
    bleu_tokenizer: str = DEFAULT_TOKENIZER,
    gold: Path | None = None,
    workers: int = 0,
    watch: Progress = lambda what, total: nullcontext(lambda count=1: None),
) -> Comparison:
    """Decode the pairs with every run, each with as many workers (0: what is worth it), score, measure and align."""
    make_bleu(bleu_tokenizer)  # what cannot be scored is not worth decoding
    pictures = check_runs(runs)
    if gold is not None and pictures:
        raise Seq2SeeError("--gold aligns words with words, but these runs read pictures; leave it out.")
    pairs = pairs if gold is not None else next(iter(runs.values())).task.examine(pairs)
    truth = read_gold(gold, pairs, origin) if gold is not None else None
    searches = {name: choose_search(run.config.search, beam=beam) for name, run in runs.items()}
    workers = workers or max(choose_workers(run, len(pairs), searches[name]) for name, run in runs.items())
    decoded = {name: _decode(name, run, pairs, searches[name], workers, watch) for name, run in runs.items()}
    texts = {name: [prediction.text for prediction in found] for name, (found, _) in decoded.items()}
    with watch("scoring", 1) as seen:
        if pictures:
            tested, lengths = compare_captions(texts, pairs.references), None
        else:
            tested = compare_systems(texts, pairs.references, bleu_tokenizer=bleu_tokenizer)
            lengths = _score_lengths(texts, pairs, bleu_tokenizer)
        seen()
    contenders = []
    for name, run in runs.items():
        predictions, seconds = decoded[name]
        with watch(f"{name}: attention", len(pairs) * (1 if truth is None else 2)) as seen:
            measures = measure_looks(run, predictions, seen=seen)
            aligned = _align(run, pairs, truth, seen) if truth is not None and measures is not None else None
        contenders.append(Contender(name, run, predictions, tested[name], seconds, measures, aligned))
    return Comparison(str(origin), pairs, contenders, lengths, workers)


def check_runs(runs: Mapping[str, Run]) -> bool:
    """Whether they caption pictures; refuse what cannot be compared."""
    for name, run in runs.items():
        if run.config.task != "transduction":
            raise Seq2SeeError(
                f"a comparison is between runs that write texts, but {name} chooses labels; evaluate it."
            )
    seeing = [name for name, run in runs.items() if run.config.reads_pictures]
    reading = [name for name in runs if name not in seeing]
    if seeing and reading:
        raise Seq2SeeError(f"{seeing[0]} reads pictures and {reading[0]} reads texts; compare runs of one kind.")
    return bool(seeing)


def _decode(
    name: str, run: Run, pairs: Pairs, search: Search, workers: int, watch: Progress
) -> tuple[list[Prediction], float]:
    predictions: list[Prediction] = []
    with hire(run, workers) as shared, watch(f"{name}: decoding", len(pairs)) as seen:
        shared.predict(pairs.source[:2], search=search)  # the first call of a program warms up
        began, together = time.perf_counter(), CHUNK * workers
        for start in range(0, len(pairs), together):
            some = pairs.source[start : start + together]
            predictions += shared.predict(some, search=search)
            seen(len(some))
        return predictions, time.perf_counter() - began


def _score_lengths(texts: Mapping[str, Sequence[str]], pairs: Pairs, bleu_tokenizer: str) -> Lengths:
    buckets = sort_by_length(pairs.source)
    scores: dict[str, dict[str, list[float]]] = {}
    for name, outputs in texts.items():
        for row in score_buckets(buckets, outputs, pairs.references, bleu_tokenizer=bleu_tokenizer):
            for metric in row:
                scores.setdefault(metric.name, {}).setdefault(name, []).append(metric.value)
    return Lengths(buckets, scores)


def _align(run: Run, pairs: Pairs, gold: Sequence[Gold], seen: Seen) -> Aligned | None:
    try:
        alignment: Alignment = align(run, give_pairs(run, pairs), choose=list_choices, seen=seen)
    except AttentionError:
        return None
    ranked = rank_choices(alignment, gold)
    return Aligned(alignment.default, find_best(ranked), ranked)
