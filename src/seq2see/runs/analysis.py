"""Analyses from Python, on files or objects: check data, evaluate a run, compare several, align words."""

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Unpack

from seq2see.config.load import load_config
from seq2see.data.checks.data_doctor import Diagnosis, examine
from seq2see.data.formats.folders import split_folder
from seq2see.data.formats.in_memory import Fields, collect_pairs, find_memory_splits, find_origin
from seq2see.data.pairs import Finding, Origin, Pairs
from seq2see.data.synthetic.shapes import read_things
from seq2see.metrics.text import DEFAULT_TOKENIZER, make_bleu
from seq2see.runs.comparison import Comparison, check_runs, name_runs
from seq2see.runs.comparison import compare as compare_pairs
from seq2see.runs.data_files import find_unknown_labels, name_fields, origins, read_as_trained
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.evaluation import evaluate as evaluate_pairs
from seq2see.runs.parallel_prediction import choose_workers, start_workers
from seq2see.runs.run import Run, load
from seq2see.runs.word_alignment import Outcome, align_pairs, read_gold
from seq2see.search.factory import read_options
from seq2see.search.options import DecodeKeywords, DecodeOptions

StrPath = str | os.PathLike[str]
CONFIG_ENDINGS = (".yaml", ".yml")


def evaluate(
    run: Run,
    data: object,
    *,
    fields: Fields | None = None,
    bleu_tokenizer: str = DEFAULT_TOKENIZER,
    workers: int = 0,
    decode_options: DecodeOptions | None = None,
) -> Evaluation:
    """Score a run on data; see `Run.evaluate`.

    Args:
        run: the run.
        data: anything that `seq2see.train` takes as data.
        fields: the columns of source and target; None finds them by their names.
        bleu_tokenizer: the tokenizer of sacrebleu for BLEU, such as 13a, intl or zh.
        workers: processes that predict together; 0 chooses as many as make it faster.
        decode_options: changes to how the run decodes; None: as configured.
    """
    make_bleu(bleu_tokenizer)  # refuse an unknown tokenizer before decoding
    with _reading(run, data, fields) as (pairs, origin):
        pairs = run.task.group_references(pairs)
        decoding = run.choose_decoding(decode_options)
        workers = workers or choose_workers(run, len(pairs), decoding.search)
        with start_workers(run, workers) as shared:
            predictions = shared.predict(list(pairs.source), decoding=decoding)
        things, name = read_things(origin.file), "the given pairs" if find_origin(data) is None else str(origin)
        return evaluate_pairs(
            run, pairs, name=name, predictions=predictions, bleu_tokenizer=bleu_tokenizer, things=things
        )


def compare(
    runs: Sequence[Run | StrPath] | Mapping[str, Run | StrPath],
    data: object,
    *,
    fields: Fields | None = None,
    gold: StrPath | None = None,
    bleu_tokenizer: str = DEFAULT_TOKENIZER,
    workers: int = 0,
    **options: Unpack[DecodeKeywords],
) -> Comparison:
    """Decode the same data with several runs: scores and whether they differ, speed, size and attention.

    Args:
        runs: two runs or more, or their folders, by name or in a list; the first one is the baseline.
        data: anything that `seq2see.train` takes as data.
        fields: the columns of source and target; None finds them by their names.
        gold: a file of word alignments made by people, to score the attention with; None: it is not scored.
        bleu_tokenizer: the tokenizer of sacrebleu for BLEU, such as 13a, intl or zh.
        workers: processes that decode together; 0 chooses as many as make it faster.
        options: the fields of `seq2see.DecodeOptions`, such as beam=5, for all runs.
    """
    chosen = read_options(options)
    given = list(runs.values()) if isinstance(runs, Mapping) else list(runs)
    loaded = [each if isinstance(each, Run) else load(Path(each)) for each in given]
    names = name_runs([run.folder.path for run in loaded])
    named = dict(zip(list(runs) if isinstance(runs, Mapping) else names, loaded, strict=True))
    check_runs(named)
    with _reading(loaded[0], data, fields) as (pairs, origin):
        for name, run in named.items():
            find_unknown_labels(run.task, pairs, name=name)
        truth = Path(gold) if gold is not None else None
        return compare_pairs(
            named, pairs, origin, options=chosen, bleu_tokenizer=bleu_tokenizer, gold=truth, workers=workers
        )


def align(
    run: Run | StrPath,
    data: object,
    *,
    fields: Fields | None = None,
    gold: StrPath | None = None,
    map_name: str | None = None,
    head: int | None = None,
    threshold: float = 0.0,
) -> Outcome:
    """Align the words of given pairs by the attention of a run under forced decoding of the given targets.

    Args:
        run: a run or its folder.
        data: anything that `seq2see.train` takes as data.
        fields: the columns of source and target; None finds them by their names.
        gold: a file of alignments made by people (Pharaoh lines), with which every map and head is scored, and the best
            one is taken unless `map_name` or `head` is given; None: nothing is scored.
        map_name: the attention map to take links from; None takes the default map.
        head: the head of the map, from 1; None takes the mean over all heads.
        threshold: links with less attention (0 to 1) are left out.
    """
    loaded = run if isinstance(run, Run) else load(Path(run))
    with _reading(loaded, data, fields) as (pairs, origin):
        truth = read_gold(Path(gold), pairs, origin) if gold is not None else None
        return align_pairs(loaded, pairs, truth, name=map_name, head=head, threshold=threshold)


def doctor(data: object, /, *, valid: object = None, test: object = None, fields: Fields | None = None) -> Diagnosis:
    """Check data before a training: blanks, duplicates, leakage, outliers, unknown characters, unreadable images.

    Args:
        data: anything that `seq2see.train` takes as data: a path, pairs, a data frame, a configuration file ...
        valid: validation data, in the same forms; None: as in `data`.
        test: test data, in the same forms; None: as in `data`.
        fields: the columns of source and target; None finds them by their names.

    Returns:
        The findings, and the pairs of each split; printed, it lists the findings. Python objects are named by their
        split, with the number of the pair as the line.
    """
    splits = _split(data)
    splits |= {name: each for name, each in (("valid", valid), ("test", test)) if each is not None}
    with TemporaryDirectory(prefix="seq2see-") as place:
        named: dict[str, Origin] = {}
        for name, each in splits.items():
            found = each if isinstance(each, Origin) else find_origin(each, fields=fields)
            file = Path(place) / f"{name}.jsonl"
            named[name] = found or Origin(file, fields=_write(each, fields, None, file))
        diagnosis = examine(named)
        written = {Path(place) / f"{name}.jsonl": Path(name) for name in named}
        findings = [_rename(finding, written) for finding in diagnosis.findings]
    return replace(diagnosis, findings=findings)


def _split(data: object) -> dict[str, object]:
    """Return the splits of a configuration, a folder or a dictionary of data sets; anything else is training data."""
    if isinstance(data, str | os.PathLike) and Path(data).suffix in CONFIG_ENDINGS:
        return {**origins(load_config(file=Path(data)).config)}
    if isinstance(data, str | os.PathLike):
        return {**split_folder(Path(data))}
    return dict(find_memory_splits(data) or {"train": data})


def _rename(finding: Finding, names: Mapping[Path, Path]) -> Finding:
    """Return a finding about a temporary file with the name of its split."""
    message = finding.message
    for file, name in names.items():
        message = message.replace(str(file), str(name))
    return replace(finding, message=message, file=finding.file and names.get(finding.file, finding.file))


@contextmanager
def _reading(run: Run, data: object, fields: Fields | None) -> Iterator[tuple[Pairs, Origin]]:
    """Read the pairs of a path or of Python objects; the latter are in a temporary file until the analysis ends."""
    origin = find_origin(data, fields=fields)
    with TemporaryDirectory(prefix="seq2see-") as place:
        if origin is None:
            file = Path(place) / "data.jsonl"
            origin = Origin(file, fields=_write(data, fields, name_fields(run.config), file))
        pairs, _ = read_as_trained(origin, run.config)
        find_unknown_labels(run.task, pairs)
        yield pairs, origin


def _write(data: object, fields: Fields | None, usual: Fields | None, file: Path) -> Fields:
    pairs = collect_pairs(data, fields=fields, usual=usual)
    pairs.save(file, replace=True)
    return pairs.fields
