"""Kill trainings at random moments, run them again, and compare the weights they end with, bit for bit.

python bench/kill_storm.py [--kills 100] [--seed N] [--workers 1 2]

For each number of workers, a training is killed (SIGKILL) at random moments of each stage until it has been killed so
often: while it prepares data, in the loop, while it saves, and while it reports. A training that ends is compared with
one that was never killed, and another one begins. Every run must end, with the same weights, and leave no drafts.
"""

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import torch

from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.folder import RunFolder

SETTINGS = ["train.updates=60", "train.validate_every=5", "train.validation_pairs=4", "train.batch_tokens=128"]
SETTINGS += ["model.encoder.size=16", "model.decoder.size=16", "data.held_out=0.05", "train.average_checkpoints=2"]
STAGES = ("preparing", "loop", "saving", "reporting")
POLL_SECONDS = 0.001
MAX_SECONDS = 300  # of a training that is not killed


@dataclass
class Storm:
    """One series: a training command, where it runs, and what happened."""

    workers: int
    place: Path
    draw: random.Random
    kills: Counter[str] = field(default_factory=Counter)
    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: dict[str, float] = field(default_factory=dict)

    def start(self, out: Path) -> "subprocess.Popen[bytes]":
        """The training in a folder, begun or gone on with."""
        command = [sys.executable, "-m", "seq2see", "train", str(self.place / "pairs.tsv"), *SETTINGS]
        command += [f"train.workers={self.workers}", "--out", str(out)]
        cache = self.place / f"cache-{out.name}"
        environment = {**os.environ, "SEQ2SEE_CACHE": str(cache), "OMP_NUM_THREADS": "1"}
        log = open(self.place / f"{out.name}.log", "wb")  # noqa: SIM115 (the process needs it for longer)
        with log:
            return subprocess.Popen(command, stdout=log, stderr=log, env=environment)

    def run(self, wanted: int) -> None:
        """Kill until it was enough, always some of each stage; the last training is let through to its end."""
        straight = self.place / "straight"
        self.measure(straight)
        number = 0
        while self.kills.total() < wanted:
            number += 1
            out = self.place / f"killed-{number}"
            stages = iter(STAGES * wanted)
            while self.kills.total() < wanted and self.kill(out, next(stages)):
                pass
            self.finish(out, straight)
            shutil.rmtree(out)
            shutil.rmtree(self.place / f"cache-{out.name}", ignore_errors=True)

    def measure(self, out: Path) -> None:
        """Train without a kill, and note when each stage began, so that kills can be aimed."""
        began = time.monotonic()
        process, folder = self.start(out), RunFolder(out)
        while process.poll() is None:
            now = time.monotonic() - began
            if folder.config_file.is_file():
                self.seconds.setdefault("preparing", now)
            if folder.checkpoints():
                self.seconds.setdefault("first checkpoint", now)
            if folder.weights_file.is_file() and folder.checkpoint_file(60).is_file():
                self.seconds.setdefault("trained", now)
            time.sleep(POLL_SECONDS)
        self.seconds["end"] = time.monotonic() - began
        if process.returncode:
            raise SystemExit((self.place / f"{out.name}.log").read_text())

    def kill(self, out: Path, stage: str) -> bool:
        """Go on with a training and kill it at a stage; False if it ended before."""
        process, folder, began = self.start(out), RunFolder(out), time.monotonic()
        newest = folder.checkpoints()[:1]
        if stage == "preparing":
            self.wait(process, began + self.draw.uniform(0.3, 1.0) * self.seconds["preparing"])
        elif stage == "loop":
            while process.poll() is None and folder.checkpoints()[:1] == newest:
                time.sleep(POLL_SECONDS)
            self.wait(process, time.monotonic() + self.draw.uniform(0, 0.3))
        elif stage == "saving":
            skipped = self.draw.randint(0, 4)
            while process.poll() is None:
                skipped -= any(out.rglob("*.draft"))
                if skipped < 0:
                    break
        else:
            while process.poll() is None and not folder.checkpoint_file(60).is_file():
                time.sleep(POLL_SECONDS)
            self.wait(process, time.monotonic() + self.draw.uniform(0, 1.2) * self.report_seconds)
        if process.poll() is not None:
            return False
        process.kill()
        process.wait()
        self.kills[stage] += 1
        return stage != "reporting" or self.draw.random() < 0.3

    @property
    def report_seconds(self) -> float:
        """How long the report takes that follows a training."""
        return self.seconds["end"] - self.seconds["trained"]

    def wait(self, process: "subprocess.Popen[bytes]", until: float) -> None:
        """Wait for a moment, or the end of the process."""
        while process.poll() is None and time.monotonic() < until:
            time.sleep(POLL_SECONDS)

    def finish(self, out: Path, straight: Path) -> None:
        """Let a training end, and compare it."""
        try:
            code = self.start(out).wait(MAX_SECONDS)
        except subprocess.TimeoutExpired:
            raise SystemExit(f"{out} did not end in {MAX_SECONDS} seconds") from None
        said = (self.place / f"{out.name}.log").read_text(errors="replace")
        self.outcomes["trainings"] += 1
        self.outcomes["errors"] += code != 0
        self.outcomes["tracebacks"] += "Traceback" in said
        if code:
            print(said[-2000:])
            return
        self.outcomes["other weights"] += not self.is_same(RunFolder(out), RunFolder(straight))
        updates = [[row["update"] for row in RunFolder(each).read_metrics()] for each in (out, straight)]
        self.outcomes["other metrics"] += updates[0] != updates[1]
        drafts = [*out.rglob("*.draft"), *(self.place / f"cache-{out.name}").rglob("*.draft")]
        self.outcomes["drafts"] += len(drafts)

    def is_same(self, left: RunFolder, right: RunFolder) -> bool:
        """Whether two runs have the same bytes of weights, and the same tensors to go on from."""
        if left.weights_file.read_bytes() != right.weights_file.read_bytes():
            return False
        mine, other = (read_checkpoint(each.checkpoints()[0]) for each in (left, right))
        return mine.facts == other.facts and all(torch.equal(t, other.tensors[n]) for n, t in mine.tensors.items())


def main() -> None:
    """Run the series, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=100, help="SIGKILLs of each series")
    parser.add_argument("--workers", type=int, nargs="+", default=[1, 2], help="a series for each number of workers")
    parser.add_argument("--seed", type=int, default=None, help="of the moments; each run draws its own by default")
    arguments = parser.parse_args()
    seed = arguments.seed if arguments.seed is not None else random.randrange(10**6)
    failed = False
    for workers in arguments.workers:
        with tempfile.TemporaryDirectory(prefix="kill-storm-") as name:
            draw = random.Random(f"{seed} {workers}")
            words = sorted({"".join(draw.choices("abcdefgh", k=draw.randint(3, 7))) for _ in range(300)})
            (Path(name) / "pairs.tsv").write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
            storm = Storm(workers, Path(name), draw)
            began = time.monotonic()
            storm.run(arguments.kills)
        stages = ", ".join(f"{storm.kills[stage]} {stage}" for stage in STAGES)
        outcomes = ", ".join(f"{count} {what}" for what, count in storm.outcomes.items())
        print(f"workers {workers}: {storm.kills.total()} kills ({stages}); {outcomes}; seed {seed}, ", end="")
        print(f"{time.monotonic() - began:.0f} seconds", flush=True)
        failed |= any(count for what, count in storm.outcomes.items() if what != "trainings")
    sys.exit(failed)


if __name__ == "__main__":
    main()
