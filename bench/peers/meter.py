"""What every driver shares: its job, the clock of a training, the clock of a decoding, and the report it leaves.

It runs in the environment of each peer, so it needs nothing but the standard library and, where it says so, torch.
"""

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from multiprocessing import active_children
from pathlib import Path
from typing import Any

MARKS = ("<pad>", "<s>", "</s>", "<unk>")
PAD, START, END, UNKNOWN = range(4)
WARM = 4  # updates that are not timed
LEAST = 3  # updates that are timed, however slow they are
TRIAL = 128  # sentences on which sizes of batches are tried

Ids = list[int]


def read_job() -> dict[str, Any]:
    """The job named on the command line."""
    return json.loads(Path(sys.argv[1]).read_text())


def read_ids(file: str) -> list[Ids]:
    """Lines of pieces as numbers; a piece is written as p and its number, so that no peer cuts it any further."""
    return [[int(piece[1:]) for piece in line.split()] for line in Path(file).read_text().splitlines()]


def report(job: dict[str, Any], **facts: Any) -> None:
    """Leave the result and end at once: what a peer does after its last update is not measured."""
    workers = active_children()
    peak = sum(_peak(process) for process in ("self", *(str(worker.pid) for worker in workers)))
    Path(job["result"]).write_text(json.dumps({**facts, "peak": peak}))
    for worker in workers:
        worker.kill()
    os._exit(0)


class Meter:
    """Target tokens a second between two ends of an update, seen from torch's own hook behind every optimizer step."""

    def __init__(self, job: dict[str, Any]) -> None:
        from torch.optim.optimizer import register_optimizer_step_post_hook

        self.job, self.tokens, self.updates, self.began, self.first = job, 0, 0, 0.0, 0.0
        register_optimizer_step_post_hook(lambda *_: self._step())

    def count(self, tokens: int) -> None:
        """So many target tokens, end marks included and padding not, are in the update that is being made."""
        self.tokens += tokens

    def _step(self) -> None:
        now, self.updates = time.monotonic(), self.updates + 1
        if self.updates == 1:
            self.first = now - self.job["spawned"]  # from the start of the process
        if self.updates == WARM:
            self.began, self.tokens = now, 0
        made, seconds = self.updates - WARM, now - self.began
        if made >= self.job["updates"] or (made >= LEAST and seconds > self.job["seconds"]):
            report(self.job, speed=self.tokens / seconds, first=self.first, batch=self.tokens / made)


def time_decoding(
    job: dict[str, Any], decode: Callable[[Sequence[Ids], int, int], list[Ids]], sizes: Sequence[int] = (0,)
) -> None:
    """Sentences a second for every width of beam, from ids to ids: decode(sentences, width, size of a batch).

    The model is loaded and warm, and of several sizes that one is taken which is quickest on the first sentences.
    """
    sentences, speeds, chosen = read_ids(job["test"])[: job["sentences"]], {}, {}
    for width in job["widths"]:
        decode(sentences[:TRIAL], width, sizes[0])  # enough to wake every worker

        def clock(size: int, some: Sequence[Ids] = sentences[:TRIAL], width: int = width) -> float:
            began = time.monotonic()
            keep_outputs(job, width, decode(some, width, size))
            return time.monotonic() - began

        size = min(sizes, key=clock) if len(sizes) > 1 else sizes[0]
        speeds[str(width)], chosen[str(width)] = len(sentences) / clock(size, sentences), size
    report(job, speeds=speeds, sizes=chosen)


def keep_outputs(job: dict[str, Any], width: int, outputs: Sequence[Ids]) -> None:
    """Write what was decoded, without marks, so that peers can be compared."""
    kept = [[number for number in row if number >= len(MARKS)] for row in outputs]
    Path(job["outputs"], f"{job['peer']}.{width}.json").write_text(json.dumps(kept))


def batches_by_length(sentences: Sequence[Ids], budget: int) -> list[list[int]]:
    """Rows of batches of neighbours in length, longest first, within a budget of tokens."""
    order = sorted(range(len(sentences)), key=lambda row: -len(sentences[row]))
    batches: list[list[int]] = []
    for row in order:
        if not batches or (len(batches[-1]) + 1) * len(sentences[batches[-1][0]]) > budget:
            batches.append([])
        batches[-1].append(row)
    return batches


def check_logits(job: dict[str, Any], compute: Callable[[Any, Any], Any]) -> None:
    """The converted model must compute what seq2see computes: compute(source, inputs) -> logits [b t v]."""
    from safetensors.torch import load_file

    known = load_file(job["reference"])
    logits = compute(known["source"], known["inputs"])
    difference = (logits - known["logits"])[known["inputs"] != PAD].abs().max().item()
    if not difference < 1e-4:
        raise SystemExit(f"the converted weights give other logits: they differ by {difference:.1g}")


def _peak(process: str) -> float:
    """MiB at the highest (not from getrusage, which remembers the parent), less what it shares with other processes.

    A page that two processes map, such as one of torch's libraries, counts half for each of them.
    """
    highest = _read_size(f"/proc/{process}/status", "VmHWM")
    now = f"/proc/{process}/smaps_rollup"
    return highest - (_read_size(now, "Rss") - _read_size(now, "Pss"))


def _read_size(file: str, name: str) -> float:
    """One of the sizes that Linux tells of a process, in MiB."""
    return int(Path(file).read_text().partition(f"\n{name}:")[2].split()[0]) / 1024
