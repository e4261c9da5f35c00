"""A training as people see it: what was found and decided, a live bar, a score, and what to do next."""

import shlex
import signal
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Column, Table
from rich.text import Text

import seq2see
from seq2see.cli.data import show_findings
from seq2see.cli.progress import show_progress, showing_preparation
from seq2see.config.decide import decide
from seq2see.config.load import Loaded, load_config, parse_setting, read_preset
from seq2see.config.origins import origins
from seq2see.config.schema import Init
from seq2see.config.write import write_config
from seq2see.core.errors import DataError
from seq2see.core.number import say_count
from seq2see.core.registry import shorten
from seq2see.data.album import is_picture
from seq2see.data.doctor import examine
from seq2see.data.pairs import Origin
from seq2see.data.readers import read_pairs
from seq2see.data.shapes import read_things
from seq2see.inspect.terminal import render_terminal
from seq2see.metrics.text import Metric
from seq2see.review import Review, review, show_attention, write_pictures, write_reliability, write_report
from seq2see.search.choose import choose_search
from seq2see.train.event import Finished
from seq2see.train.folder import RunFolder
from seq2see.train.job import Job, holds_run, open_folder, prepare_job
from seq2see.train.pretrained import inherit_tokens, read_pretrained
from seq2see.workers import choose_workers, hire

RARE = 0.1  # of all target tokens; of Flickr8k's captions, 3 % come less than five times
FAINT = 1e-4  # a learning rate that nobody means who begins with a schedule such as noam
console = Console(stderr=True, highlight=False, markup=False)


def decide_config(
    origin: Origin, extra: Mapping[str, str], settings: list[str], out: Path
) -> tuple[Loaded, dict[str, str]]:
    """A configuration for data alone, with the reasons."""
    early = read_early(settings)
    names = early.get("data.fields")
    fields = (str(names[0]), str(names[1])) if isinstance(names, list) and len(names) == 2 else None
    pairs, _ = read_pairs(Origin(origin.file, origin.target_file, fields))
    decision = decide(pairs, preset=early.get("preset"), task=early.get("task"))
    base, remarks = dict(decision.base), dict(decision.remarks)
    written = read_preset(base["preset"])[0]
    if written.get("task") != "classification" and asks_of_tokens(early, written["tokens"]):
        base.pop("tokens", None)
    init = read_init(early)
    if init != Init():
        runs = dict.fromkeys(path for path in (init.encoder, init.decoder) if path is not None)
        remarks["tokens"] = f"tokens as in {' and '.join(runs)}"
        base["tokens"] = decide_tokens(base.get("tokens") or written["tokens"], init, out)
    both = {"source": str(origin.file), "target": str(origin.target_file)}
    train: Any = both if origin.target_file is not None else str(origin.file)
    loaded = load_config(base={**base, "data": {"train": train, **extra}}, settings=settings)
    changed = {setting.partition("=")[0].partition(".")[0] for setting in settings}
    return loaded, {key: text for key, text in remarks.items() if key not in changed}


def decide_tokens(tokens: Mapping[str, Any], init: Init, out: Path) -> dict[str, Any]:
    """The tokens of the runs that parts are taken from; a run that has begun knows them without those others."""
    folder = RunFolder(out)
    if folder.config_file.is_file():
        return folder.read_config().tokens.model_dump(exclude_none=True)
    return inherit_tokens(tokens, read_pretrained(init))


def asks_of_tokens(early: Mapping[str, Any], written: Mapping[str, Any]) -> bool:
    """Whether a setting changes an option that a preset gives its tokens, which then are to be the preset's."""
    options = {f"tokens.{side}.{name}" for side, spec in written.items() if isinstance(spec, Mapping) for name in spec}
    return bool(early.keys() & options - {f"tokens.{side}.kind" for side in written})


def read_early(settings: list[str]) -> dict[str, Any]:
    """The settings that matter before there is a configuration, by their dotted keys."""
    early = {}
    for setting in settings:
        tree: Any
        tree, places = parse_setting(setting)
        (path,) = places
        for name in path:
            tree = tree[name]
        early[".".join(path)] = tree
    return early


def read_init(early: Mapping[str, Any]) -> Init:
    """The other runs that early settings name; what is wrong with them is told when all settings are known."""
    named = early.get("init")
    given = dict(named) if isinstance(named, Mapping) else {}
    given |= {part: early[f"init.{part}"] for part in ("encoder", "decoder") if f"init.{part}" in early}
    paths = {part: str(Path(path).expanduser()) for part, path in given.items() if isinstance(path, str)}
    return Init(encoder=paths.get("encoder"), decoder=paths.get("decoder"))


def run_training(
    loaded: Loaded, out: Path, *, near: Path, remarks: Mapping[str, str] | None = None, examples: int = 2
) -> None:
    """Check, train, score, report."""
    config, folder = loaded.config, RunFolder(out)
    diagnosis = examine(origins(config))
    for finding in diagnosis.errors:
        raise DataError(finding.message + ".")
    with loaded.naming_places():
        again = holds_run(folder, config)
        with showing_preparation(console) as progress:
            job = prepare_job(config, folder, diagnosis, near=[near], progress=progress)
    if not (again and folder.has_task):
        heading = (
            f"written by seq2see {seq2see.__version__}; to change it, edit a copy: seq2see train COPY.yaml --out DIR"
        )
        open_folder(job, write_config(config, heading=heading, remarks=remarks))
    if not again:
        show_findings([finding for finding in diagnosis.findings if finding.level != "note"])
    with closing(job.fit):
        describe(job, remarks or {}, again=again)
        finished = train_visibly(job)
    if not finished.complete:
        console.print(f"Stopped at update {finished.update:,}; everything is saved in {out}.")
        console.print("Run the same command again to go on.")
        raise SystemExit(130)
    show_result(job, out, finished, examples=examples)


def describe(job: Job, remarks: Mapping[str, str], *, again: bool) -> None:
    """Say what is going to happen and how long it will take."""
    fit = job.fit
    config = fit.config
    for remark in remarks.values():
        console.print(f"decided: {remark}")
    share = len(job.valid) / (len(job.train) + len(job.valid))
    where = "given" if config.data.valid else f"held out, {share:.0%}"
    console.print(f"data: {say_count(len(job.train), 'pair')} to learn from, {len(job.valid):,} to check on ({where})")
    for remark in getattr(fit.store.source, "remarks", ()):
        console.print(f"data: {remark}")
    if fit.store.left_out:
        console.print(
            f"data: left out: {say_count(fit.store.left_out, 'pair')} of over {config.data.max_tokens} tokens"
        )
    parameters = sum(parameter.numel() for parameter in fit.model.parameters())
    console.print(f"model: {config.preset or 'your own'}, {parameters:,} parameters, {fit.task.describe()}")
    for sentence in job.taken:
        console.print(f"init: {sentence}")
    lost = job.unknown
    if lost > RARE:
        console.print(
            f"warning: {lost:.0%} of all target tokens are not in the vocabulary, and cannot be written; lower the "
            "min_count of tokens.target, or add data"
        )
    reached = max(fit.schedule.factor(update) for update in range(1, config.train.updates + 1))
    if reached < 0.5 * fit.schedule.peak:
        console.print(
            f"warning: in {config.train.updates:,} updates the schedule never reaches more than "
            f"{reached / fit.schedule.peak:.1%} of its highest rate; shorten its warmup"
        )
    highest = fit.schedule.peak * config.train.learning_rate
    if fit.schedule.peak < 1 and highest < FAINT:
        console.print(
            f"warning: with this schedule the learning rate is never above {highest:.1g}; it wants a "
            "train.learning_rate of about 1"
        )
    if not again:
        where = f"in {fit.team.workers} processes on this machine" if fit.team.workers > 1 else "on this machine"
        console.print(f"time: about {say_time(job.estimate())} for {say_count(config.train.updates, 'update')} {where}")


def train_visibly(job: Job) -> Finished:
    """Train under a live bar; Ctrl-C saves first."""
    with stopping_gently() as asked:
        fit = job.fit
        events = fit.run(stop=lambda: bool(asked))
        return show_progress(events, console, total=fit.config.train.updates, unit=fit.task.unit)


@contextmanager
def stopping_gently() -> Iterator[list[int]]:
    """Turn the first Ctrl-C (or a request to end) into a wish; the second one stops at once."""
    asked: list[int] = []

    def note(number: int, _: object) -> None:
        if asked:
            raise KeyboardInterrupt
        asked.append(number)
        console.print("stopping after this update; once more stops at once without saving")

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield asked
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def show_result(job: Job, out: Path, finished: Finished, *, examples: int) -> None:
    """Score the run on data it has not seen, show examples, write the report, and say what to do next."""
    run = seq2see.load(out, trust=True)
    pairs, name = (job.test, "test data") if job.test is not None else (job.valid, "held-out data")
    files = origins(run.config)
    origin = files.get("test" if job.test is not None else "valid", files["train"])
    with hire(run, choose_workers(run, len(pairs), choose_search(run.config.search))) as shared:
        result = review(shared, pairs, name=name, things=read_things(origin.file))
    console.print(f"\n{finished.reason}: {say_count(finished.update, 'update')}")
    console.print(metric_table(result.metrics, f"{say_count(len(pairs), 'pair')} of {name}"))
    show_examples(result, examples)
    report = write_report(run, result)
    pictures = write_pictures(run, result.predictions[:4])
    reliability = write_reliability(run, result)
    console.print(f"\nreport:   {report}")
    if pictures:
        console.print(f"pictures: {pictures[0].parent}")
    if reliability is not None:
        console.print(f"how far its probabilities can be trusted: {reliability}")
    shown = min((prediction.source for prediction in result.predictions[:20]), key=len)
    source, run_folder = shlex.quote(shown), shlex.quote(str(out)) + " --trust" * bool(job.code)
    given = is_picture(shown)
    command = f"{'' if given else f'echo {source} | '}seq2see predict {run_folder}{f' {source}' * given}"
    console.print(f"try it:   {command}", soft_wrap=True)  # whoever copies a command wants it on one line
    if pictures:
        console.print(f"look:     seq2see inspect {run_folder} {source}", soft_wrap=True)


def show_examples(result: Review, count: int) -> None:
    """A few predictions with what the model looked at."""
    wanted = "references such as" if any(result.more) else "should be"
    for row, prediction in enumerate(result.predictions[:count]):
        right = "right" if result.is_right(row) else f"{wanted} {result.references[row]}"
        console.print(f"\n{shorten(prediction.source)} -> {prediction.text!r} ({right})")
        trace = show_attention(prediction)
        if trace is not None:
            console.print(render_terminal(trace, width=console.width))


def metric_table(metrics: Any, title: str) -> Table:
    """Metrics with their signatures."""
    table = Table("metric", "value", Column("signature", overflow="fold"), title=Text(title), title_justify="left")
    for metric in metrics:
        assert isinstance(metric, Metric)
        table.add_row(metric.name, f"{metric.value:.2f}", metric.signature)
    return table


def say_time(seconds: float) -> str:
    """A length of time as people say it."""
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
