"""Looks at the held-out data: what is measured, which look is best, and what follows from it."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from reversal import configure, start, write_reversals

from seq2see.core.plural import say_count
from seq2see.data.batch import collate
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training.events import Stepped, Validated


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_reversals(tmp_path_factory.mktemp("data") / "reversed.tsv")


def run(
    data: Path,
    out: Path,
    looks: Sequence[dict[str, float]],
    stop: Callable[[int], bool] = lambda update: False,
    **options: Any,
) -> list[Any]:
    """A training of one update after the other, whose looks find what they are told to."""
    loop = start(configure(data, **options), out).loop
    found = iter(looks)
    loop.evaluate = lambda share: next(found)
    return list(loop.run(lambda: stop(loop.state.update)))


def losses(*values: float) -> list[dict[str, float]]:
    return [{"valid_loss": value} for value in values]


@pytest.mark.parametrize(
    ("patience", "found", "last"),
    [
        (1, (5.0, 4.0, 4.5), 3),
        (2, (5.0, 4.0, 4.5, 4.2), 4),
        (2, (5.0, 5.5, 4.0, 4.5, 3.0, 3.0, 3.0), 7),  # a better look ends the wait; what is equal is no better
        (3, (5.0, float("nan"), 6.0, 7.0), 4),
        (0, (5.0, *[6.0] * 7), 8),
    ],
)
def test_patience_ends_with_so_many_looks_that_are_no_better(
    data: Path, tmp_path: Path, patience: int, found: tuple[float, ...], last: int
) -> None:
    more = losses(*found, *[9.0] * 8)
    events = run(data, tmp_path / "run", more, updates=16, validate_every=2, patience=patience)
    assert len([event for event in events if isinstance(event, Validated)]) == last
    assert events[-1].update == 2 * last
    assert events[-1].complete
    assert events[-1].reason == (
        f"early stopping: no improvement in {say_count(patience, 'validation')}" if patience else "all updates made"
    )


@pytest.mark.parametrize(
    ("monitor", "values", "best"),
    [
        ("valid_loss", (3.0, 2.0, 2.5), 2),
        ("cer", (50.0, 20.0, 30.0), 2),
        ("exact_match", (10.0, 30.0, 20.0), 2),
        ("bleu", (30.0, 20.0, 10.0), 1),
        ("chrf", (10.0, 20.0, 30.0), 3),
    ],
)
def test_the_best_look_is_the_one_whose_weights_are_kept(
    data: Path, tmp_path: Path, monitor: str, values: tuple[float, ...], best: int
) -> None:
    """Errors are best when low, all else when high, whatever the loss does meanwhile."""
    others = (3.0, 4.0, 1.0) if best == 2 else (3.0, 2.0, 2.5)
    looks = [{"valid_loss": other, monitor: value} for other, value in zip(others, values, strict=True)]
    events = run(data, tmp_path / "run", looks, updates=3, validate_every=1, monitor=monitor)
    seen = [event.best for event in events if isinstance(event, Validated)]
    assert [number for number, found in enumerate(seen, 1) if found][-1] == best
    folder, again = RunFolder(tmp_path / "run"), tmp_path / "again"
    run(data, again, looks, lambda update: update == best, updates=3, validate_every=1, monitor=monitor)
    wanted = read_checkpoint(RunFolder(again).checkpoints()[0]).tensors  # as it stood after that very update
    kept = read_checkpoint(folder.weights_file).tensors
    assert all(torch.equal(wanted[f"model.{name}"], tensor) for name, tensor in kept.items())


def test_a_plateau_is_remembered_over_a_stop(data: Path, tmp_path: Path) -> None:
    """Each second look without a lower loss halves the rate; one stop is just before, one just after it."""
    schedule = {"kind": "plateau", "shrink": 0.5, "patience": 2}
    options = {"schedule": schedule, "updates": 8, "validate_every": 1, "learning_rate": 0.08, "monitor": "bleu"}
    looks = losses(3.0, 4.0, 5.0, 3.5, 3.2, 2.0, 2.5, 2.6)
    looks = [{**look, "bleu": float(number)} for number, look in enumerate(looks)]  # always better, but no loss
    rates = []
    for begin, end in ((0, 2), (2, 5), (5, 8)):
        events = run(data, tmp_path / "run", looks[begin:end], lambda update, end=end: update == end, **options)
        rates += [event.learning_rate for event in events if isinstance(event, Stepped)]
    assert rates == pytest.approx([0.08, 0.08, 0.08, 0.04, 0.04, 0.02, 0.02, 0.02])


def test_a_look_measures_the_averaged_weights_that_it_keeps(data: Path, tmp_path: Path) -> None:
    """The mean cross-entropy of all targets, by torch's own loss and the average by its equation."""
    loop = start(configure(data, ema=0.9, learning_rate=0.02, updates=6, validate_every=3), tmp_path / "run").loop
    mean: dict[str, torch.Tensor] = {}
    losses = []
    batch = collate(loop.store, np.arange(64))
    for event in loop.run():
        if isinstance(event, Stepped):
            now = {name: parameter.detach().clone() for name, parameter in loop.model.named_parameters()}
            kept = min(0.9, (1 + event.update) / (10 + event.update))
            mean = {name: kept * mean[name] + (1 - kept) * now[name] if mean else now[name] for name in now}
        if isinstance(event, Validated):
            losses.append(event.metrics["valid_loss"])
            said = torch.func.functional_call(loop.model.eval(), mean, (batch.source, batch.source_mask, batch.inputs))[
                batch.target_mask
            ]
            expected = F.cross_entropy(said, batch.targets[batch.target_mask]).item()
            assert losses[-1] == pytest.approx(expected, rel=1e-5)
            assert event.metrics["perplexity"] == pytest.approx(np.exp(expected), rel=1e-4)
    assert len(losses) == 2
    weights = read_checkpoint(RunFolder(tmp_path / "run").weights_file).tensors
    for name, tensor in mean.items():
        torch.testing.assert_close(weights[name], tensor, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("count", [1, 2])
def test_the_newest_looks_are_averaged(data: Path, tmp_path: Path, count: int) -> None:
    states = []
    loop = start(configure(data, average_checkpoints=count, updates=5, validate_every=1), tmp_path / "run").loop
    loop.evaluate = lambda share: {"valid_loss": 1.0}
    for event in loop.run():
        if isinstance(event, Stepped):
            states.append({name: tensor.detach().clone() for name, tensor in loop.model.state_dict().items()})
    for name, tensor in read_checkpoint(RunFolder(tmp_path / "run").weights_file).tensors.items():
        expected = torch.stack([state[name] for state in states[-count:]]).mean(dim=0)
        torch.testing.assert_close(tensor, expected, rtol=1e-6, atol=1e-7)


def test_looks_tell_of_all_updates_since_the_last_one_and_come_at_the_end(data: Path, tmp_path: Path) -> None:
    """Five updates with a look at every second: the last one is looked at, too."""
    schedule = {"kind": "constant", "warmup": 4}
    options = {"updates": 5, "validate_every": 2, "schedule": schedule, "learning_rate": 0.04, "batch_tokens": 40}
    events = run(data, tmp_path / "run", losses(3.0, 2.0, 1.0), **options)
    steps = [event for event in events if isinstance(event, Stepped)]
    assert [step.learning_rate for step in steps] == pytest.approx([0.01, 0.02, 0.03, 0.04, 0.04])
    assert len({step.tokens for step in steps}) > 1
    rows = RunFolder(tmp_path / "run").read_metrics()
    assert [(row["update"], row["valid_loss"]) for row in rows] == [(2, 3.0), (4, 2.0), (5, 1.0)]
    assert [row["learning_rate"] for row in rows] == pytest.approx([0.02, 0.04, 0.04])
    for row, some in zip(rows, (steps[:2], steps[2:4], steps[4:]), strict=True):
        tokens, seconds = sum(step.tokens for step in some), sum(step.seconds for step in some)
        assert row["loss"] == pytest.approx(sum(step.loss * step.tokens for step in some) / tokens)
        assert row["tokens_per_second"] == pytest.approx(tokens / seconds)


def test_so_many_of_the_first_held_out_pairs_are_decoded(data: Path, tmp_path: Path) -> None:
    loop = start(configure(data, validation_pairs=5), tmp_path / "run").loop
    decoded: list[str] = []

    def share(do: Any, things: Any) -> list[Any]:
        given = list(things)
        decoded.extend(text for thing in given if isinstance(thing, list) for text in thing)
        return [do(loop.task, loop.model, thing) for thing in given]

    loop.evaluate(share)
    assert sorted(decoded) == [line.split("\t")[0] for line in data.read_text().splitlines()[:5]]
