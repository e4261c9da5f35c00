"""What a training is going to do, in sentences: data, model, what came from other runs, what looks wrong, and time."""

from collections.abc import Iterator, Sequence

from seq2see.core.plural import say_count
from seq2see.data.pairs import Finding
from seq2see.system.devices import describe_device
from seq2see.training.job import Job
from seq2see.training.plan import MIN_PAIRS

MAX_UNKNOWN_TARGETS = 0.1  # of all target tokens; of Flickr8k's captions, 3 % come less than five times
MIN_LEARNING_RATE = 1e-4  # less is meant by nobody who begins with a schedule such as noam
MAX_FINDINGS = 12


def describe_job(job: Job) -> Iterator[str]:
    """Yield what is going to happen; the last sentence, how long it will take, is measured when it is asked for.

    Args:
        job: the prepared training; one that goes on with a run gets no estimate of the time.
    """
    yield from (f"decided: {remark}" for remark in job.remarks.values())
    yield f"device: {describe_device(job.loop.model.device)}"
    yield from _describe_data(job)
    loop = job.loop
    parameters = sum(parameter.numel() for parameter in loop.model.parameters())
    yield f"model: {loop.config.preset or 'your own'}, {parameters:,} parameters, {loop.task.describe()}"
    yield from (f"init: {sentence}" for sentence in job.taken)
    yield from (f"warning: {sentence}" for sentence in find_risks(job))
    if job.going_on:
        yield job.going_on
    if not job.again:
        updates, workers = loop.config.train.updates, loop.team.workers
        place = "on this machine" if loop.group is None else "that torchrun started"
        where = f"in {workers} processes {place}" if workers > 1 else place
        yield f"time: about {say_time(job.estimate())} for {say_count(updates, 'update')} {where}"


def describe_findings(findings: Sequence[Finding]) -> Iterator[str]:
    """Yield what the data doctor found, errors before warnings; notes are left to `seq2see doctor`.

    Args:
        findings: what was found, of any level; at most 12 are described.
    """
    order = {"error": 0, "warning": 1}
    ranked = sorted((each for each in findings if each.level in order), key=lambda finding: order[finding.level])
    yield from (f"{finding.level}: {finding}" for finding in ranked[:MAX_FINDINGS])
    if len(ranked) > MAX_FINDINGS:
        yield f"and {len(ranked) - MAX_FINDINGS} more; see them all with: seq2see doctor"


def find_risks(job: Job) -> Iterator[str]:
    """Yield what will hurt this training, and what to do about it.

    Args:
        job: the prepared training; its data, its vocabulary and its learning-rate schedule are checked.
    """
    config, schedule = job.loop.config, job.loop.schedule
    train, pairs = config.train, len(job.train) + (0 if config.data.valid else len(job.valid))
    if pairs < MIN_PAIRS and config.init is None:
        yield (
            f"{say_count(pairs, 'pair')} cannot teach a model anything but themselves, and scores on so few mean "
            "nothing; add data, some thousand pairs if you can"
        )
    if job.unknown > MAX_UNKNOWN_TARGETS:
        yield (
            f"{job.unknown:.0%} of all target tokens are not in the vocabulary, and cannot be written; lower the "
            "min_count of tokens.target, or add data"
        )
    reached = max(schedule.factor(update) for update in range(1, train.updates + 1))
    if reached < 0.5 * schedule.peak:
        yield (
            f"in {train.updates:,} updates the schedule never reaches more than "
            f"{reached / schedule.peak:.1%} of its highest rate; shorten its warmup"
        )
    highest = schedule.peak * train.learning_rate
    if schedule.peak < 1 and highest < MIN_LEARNING_RATE:
        yield (
            f"with this schedule the learning rate is never above {highest:.1g}; it wants a train.learning_rate of "
            "about 1"
        )


def _describe_data(job: Job) -> Iterator[str]:
    config, store = job.loop.config, job.loop.store
    share = len(job.valid) / (len(job.train) + len(job.valid))
    where = "given" if config.data.valid else f"held out, {share:.0%}"
    yield f"data: {say_count(len(job.train), 'pair')} to learn from, {len(job.valid):,} to check on ({where})"
    yield from (f"data: {remark}" for remark in getattr(store.source, "remarks", ()))
    if store.left_out:
        yield f"data: left out: {say_count(store.left_out, 'pair')} of over {config.data.max_tokens} tokens"


def say_time(seconds: float) -> str:
    """Return a length of time in seconds, minutes or hours, whichever people would use.

    Args:
        seconds: the time in seconds.
    """
    if seconds < 90:
        return f"{seconds:.0f} seconds"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"
