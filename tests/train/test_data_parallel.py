"""Several processes train as one does: the same sums, the same bits after a crash, and nobody left behind."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from reversal import SMALL, configure, start, write_reversals
from torch import nn

from seq2see.config.schema import Config, Train
from seq2see.core.errors import Seq2SeeError
from seq2see.data.batch import collate
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.training import process_group
from seq2see.training.events import Stepped, Validated
from seq2see.training.parallel_plan import ParallelPlan, cut, plan_workers, restore_plan
from seq2see.training.training_state import SavedPlan

# every source sees the softmax, so nothing is random; but rewards move the average that is kept in a buffer
SOFT = {"kind": "before", "score": "additive", "normalise": {"kind": "hard", "soft_share": 1.0}}
MODEL = {half: {**options, "dropout": 0.0} for half, options in SMALL.items()}
MODEL["decoder"] = {**MODEL["decoder"], "reader": SOFT}


def price(rows: Any, source: Any, target: Any) -> int:
    return len(rows) * int(source[rows].max() + target[rows].max()) if len(rows) else 0


def test_a_batch_is_cut_evenly_by_what_its_pieces_cost() -> None:
    source, target = np.array([9, 3, 3, 3, 3, 3, 3]), np.array([11, 2, 2, 2, 2, 2, 2])
    assert [piece.tolist() for piece in cut(np.arange(7), source, target, 2)] == [[0], [1, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize("pieces", [2, 3, 5])
def test_the_costliest_piece_is_as_cheap_as_can_be(pieces: int) -> None:
    draw = np.random.default_rng(pieces)
    source, target = draw.integers(1, 30, 40), draw.integers(1, 30, 40)
    rows = draw.permutation(40)[: 4 * pieces - 3]
    parts = cut(rows, source, target, pieces)
    assert len(parts) == pieces
    assert np.concatenate(parts).tolist() == rows.tolist()
    best = [0, *[10**9] * len(rows)]  # of the first rows, cut into at most so many pieces
    for _ in range(pieces):
        best = [
            min([best[end], *(max(best[s], price(rows[s:end], source, target)) for s in range(end))])
            for end in range(len(rows) + 1)
        ]
    assert max(price(part, source, target) for part in parts) == best[-1]


def test_fewer_rows_than_pieces_leave_some_empty() -> None:
    assert sorted(len(part) for part in cut(np.array([1, 0]), np.array([3, 3]), np.array([2, 2]), 4)) == [0, 0, 1, 1]


def test_processes_and_threads_follow_from_model_cores_and_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch, "get_num_threads", lambda: 8)
    small, large = nn.Linear(9, 9), nn.Linear(1000, 1000)
    assert plan_workers(Train(), small) == ParallelPlan(1, 1)
    assert plan_workers(Train(), large) == ParallelPlan(4, 2)  # a share of 4096 tokens must be worth a process
    assert plan_workers(Train(accumulate=2), large) == ParallelPlan(8, 1)
    assert plan_workers(Train(threads=3), large) == ParallelPlan(1, 3)
    assert plan_workers(Train(workers=3), large) == ParallelPlan(3, 2)
    assert plan_workers(Train(workers=16), large) == ParallelPlan(16, 1)
    seeing = nn.Module()
    seeing.encoder = nn.Linear(2, 3)
    seeing.encoder.image_size = 32  # type: ignore[assignment]
    assert plan_workers(Train(batch_tokens=128), seeing) == ParallelPlan(2, 4)  # however small: an image is many cells
    assert restore_plan(Train(), large, SavedPlan(workers=16, threads=2)) == ParallelPlan(16, 2)
    assert restore_plan(Train(), large, None) == ParallelPlan(1, 8)


def test_random_numbers_follow_from_update_and_rank(tmp_path: Path) -> None:
    loop = start(configure(write_reversals(tmp_path / "reversed.tsv")), tmp_path / "run").loop
    batch = collate(loop.store, np.arange(8))
    losses = [
        loop.learner.accumulate_gradients(update, [batch], rank=rank).loss
        for update, rank in [(1, 0), (1, 1), (2, 0)] * 2
    ]
    assert losses[:3] == losses[3:]
    assert len(set(losses)) == 3
    torch.manual_seed(loop.config.seed * 1_000_003 + 2)
    assert loop.task.loss(loop.model, batch).total.item() == losses[2]


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Config, Path, list[Any]]:
    """A training by two processes: its configuration, folder and events."""
    folder = tmp_path_factory.mktemp("distributed")
    config = make(write_reversals(folder / "reversed.tsv"), workers=2)
    job = start(config, folder / "two")
    job.estimate()
    return config, folder, list(job.loop.run())


def make(data: Path, **options: Any) -> Config:
    """Batches so small that many have one pair only, and nothing for the second process."""
    fixed = {
        "batch_tokens": 12,
        "accumulate": 2,
        "weight_decay": 0.01,
        "label_smoothing": 0.1,
        "clip_gradient": 0.0,
        "ema": 0.8,
    }
    return configure(data, model=MODEL, **fixed, **options)


def final(folder: Path) -> Any:
    return read_checkpoint(RunFolder(folder).checkpoints()[0])


@pytest.mark.slow
def test_two_processes_are_one_with_the_same_batch(made: tuple[Config, Path, list[Any]]) -> None:
    _, folder, events = made
    alone = list(start(make(folder / "reversed.tsv", workers=1), folder / "one").loop.run())
    for left, right in zip(alone, events, strict=True):
        assert type(left) is type(right)
        if isinstance(left, Stepped):
            assert (left.tokens, left.learning_rate) == (right.tokens, right.learning_rate)
            assert left.loss == pytest.approx(right.loss, rel=1e-5)
        if isinstance(left, Validated):
            assert left.metrics == pytest.approx(right.metrics, rel=1e-5)
    one, two = final(folder / "one"), final(folder / "two")
    assert one.facts["state"]["batch"] == two.facts["state"]["batch"]
    assert one.tensors["model.decoder.reader.attend.normalise.total"] != 0
    for name, tensor in one.tensors.items():
        torch.testing.assert_close(two.tensors[name], tensor, rtol=1e-4, atol=1e-5)


@pytest.mark.slow
def test_muon_moves_two_processes_as_one(tmp_path: Path) -> None:
    """What makes a matrix orthogonal lifts small singular values, and rounding with them: alike, but not to the bit."""
    data = write_reversals(tmp_path / "reversed.tsv")
    one, two = (
        [
            event.loss
            for event in start(make(data, workers=n, optimizer="muon"), tmp_path / str(n)).loop.run()
            if isinstance(event, Stepped)
        ]
        for n in (1, 2)
    )
    assert one == pytest.approx(two, rel=1e-3)
    left, right = final(tmp_path / "1").tensors, final(tmp_path / "2").tensors
    assert any("momentum." in name for name in left)
    for name in (name for name in left if name.startswith("model.")):
        torch.testing.assert_close(right[name], left[name], rtol=0, atol=1e-3)


@pytest.mark.slow
def test_a_process_that_is_killed_is_one_sentence_and_running_again_changes_no_bit(
    made: tuple[Config, Path, list[Any]],
) -> None:
    config, folder, _ = made
    job = start(config, folder / "killed")
    events = job.loop.run()
    while not isinstance(event := next(events), Stepped) or event.update < 6:
        pass
    os.kill(find_worker(job), signal.SIGKILL)
    with pytest.raises(Seq2SeeError, match=r"ended early \(signal 9\).* the same command again"):
        list(events)
    assert [path.stem for path in RunFolder(folder / "killed").checkpoints()] == ["update-000000004"]
    list(start(config, folder / "killed").loop.run())
    left, right = final(folder / "two"), final(folder / "killed")
    assert left.facts == right.facts
    assert all(torch.equal(left.tensors[name], right.tensors[name]) for name in left.tensors)


@pytest.mark.slow
@pytest.mark.parametrize("update", [4, 6], ids=["validating", "training"])
def test_a_process_that_was_stopped_is_one_sentence_and_signals_are_heard_meanwhile(
    made: tuple[Config, Path, list[Any]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch, update: int
) -> None:
    config, _, _ = made
    job = start(config, tmp_path / "run")
    events = job.loop.run()
    while not isinstance(event := next(events), Stepped) or event.update < update:
        pass
    os.kill(find_worker(job), signal.SIGSTOP)
    monkeypatch.setattr(process_group, "MIN_PATIENCE_SECONDS", 2.0)
    before = signal.signal(signal.SIGALRM, lambda *_: heard.append(time.monotonic()))
    heard, began = [], time.monotonic()
    signal.setitimer(signal.ITIMER_REAL, 1.0)
    try:
        with pytest.raises(Seq2SeeError, match=r"has not answered for minutes.* the same command again"):
            list(events)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert heard[0] - began < 1.9
    assert time.monotonic() - began < 30


@pytest.mark.slow
def test_the_error_of_a_worker_is_told(tmp_path: Path) -> None:
    config = make(write_reversals(tmp_path / "reversed.tsv"), workers=2)
    job = start(config, tmp_path / "run")
    for file in (tmp_path / "run").glob("*.json"):
        file.write_text("[")
    with pytest.raises(Seq2SeeError, match=r"run.*json"):
        next(job.loop.run())


@pytest.mark.slow
@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="processes are looked up in /proc")
def test_workers_ignore_ctrl_c_and_end_with_the_main_process(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to all of them, and the main one alone decides; nobody outlives it, even if killed."""
    data, out = write_reversals(tmp_path / "reversed.tsv"), RunFolder(tmp_path / "run")
    settings = ["train.workers=2", "train.updates=100000", "train.validate_every=5", "train.validation_pairs=4"]
    settings += ["model.encoder.size=8", "model.decoder.size=8", "--out", str(out.path)]
    command = [sys.executable, "-m", "seq2see", "train", str(data), *settings]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        wait_until(lambda: out.checkpoints() or process.poll() is not None)
        workers = {pid for pid in list_processes() if read_stat(pid)[1:] == [str(process.pid)]}
        assert workers, process.communicate()
        for pid in workers:
            os.kill(pid, signal.SIGINT)
        newest = out.checkpoints()[0]
        wait_until(lambda: out.checkpoints()[0] != newest or process.poll() is not None)
        assert process.poll() is None
        process.kill()
        said = process.communicate()[1]
    assert "in 2 processes" in said
    assert "Traceback" not in said
    wait_until(lambda: all(read_stat(pid)[:1] in ([], ["Z"]) for pid in workers))


def find_worker(job: Any) -> int:
    """The process id of the first worker."""
    return int(job.loop.workers._local.processes[0].pid)


def wait_until(done: Callable[[], Any]) -> None:
    until = time.monotonic() + 120
    while not done():
        assert time.monotonic() < until
        time.sleep(0.02)


def list_processes() -> list[int]:
    return [int(path.name) for path in Path("/proc").glob("[0-9]*")]


def read_stat(pid: int) -> list[str]:
    """State and parent of a process, or nothing if there is none."""
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[:2]
    return []
