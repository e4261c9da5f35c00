"""Damage every kind of file of a run and of the data cache, use the run, and count what becomes of it.

python bench/flips.py [--trials 200] [--seed N] [--only NAME]

A trial changes one bit of a file, or cuts the file short, in a copy of a training that was stopped on its way, and then
gives the command again. Either the training ends with the bytes of an undamaged one, or it is refused in one sentence.
What is neither is a failure: other weights or numbers that nobody was told of (silent), or a traceback.

Then the same is done to files of a finished run, which is loaded and predicts: its outputs, its examples, the agreement
of its attention and its metrics must be those of the undamaged one, or be refused, or a warning tells what is left out.
"""

import argparse
import logging
import os
import random
import shutil
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import torch

import seq2see
from seq2see.core.errors import Seq2SeeError
from seq2see.data.storage.cache import CHECKSUMS
from seq2see.runs.folder import RunFolder
from seq2see.runs.held_out_file import read_held_out
from seq2see.runs.metrics_file import Row

UPDATES, STOPPED = 9, 7
TRAIN = {"updates": UPDATES, "batch_tokens": 64, "validate_every": 2, "validation_pairs": 4, "workers": 1}
SIZES = {"size": 8, "embedding_size": 4}
OPTIONS: dict[str, Any] = {
    "preset": "bahdanau2015",
    "model": {"encoder": SIZES, "decoder": SIZES},
    "train": {**TRAIN, "average_checkpoints": 2},
}
INPUTS = ["abc", "fade"]
WEIGHTS = ".safetensors"
COLUMNS = ("recovered", "refused", "silent", "traceback")


class Bench:
    """A training that was stopped, what it becomes when it goes on undamaged, and trials with damage to either."""

    def __init__(self, place: Path, draw: random.Random) -> None:
        self.place, self.draw = place, draw
        self.warnings = Warnings()
        logging.getLogger("seq2see").addHandler(self.warnings)
        logging.getLogger("seq2see").propagate = False
        words = sorted({"".join(draw.choices("abcdef", k=draw.randint(3, 6))) for _ in range(80)})
        self.data = place / "pairs.tsv"
        self.data.write_text("".join(f"{word}\t{word[::-1]}\n" for word in words))
        self.stopped, self.cache = place / "stopped", place / "cache"
        self.use_cache(self.cache)
        for event in seq2see.fit(self.data, out=self.stopped, **OPTIONS):
            if event.update == STOPPED:
                break
        self.whole = place / "whole"
        shutil.copytree(self.stopped, self.whole)
        seq2see.train(self.data, out=self.whole, progress=False, **OPTIONS)
        self.rows = RunFolder(self.whole).read_metrics()

    def use_cache(self, folder: Path) -> None:
        """Let the data be prepared in a folder."""
        os.environ["SEQ2SEE_CACHE"] = str(folder)

    def finish(self, out: Path) -> None:
        """Give the command again, and load the run."""
        training = seq2see.fit(self.data, out=out, **OPTIONS)
        try:
            list(training)
        finally:
            training.close()
        training.load()

    def list_files(self) -> dict[str, Path]:
        """One file of each kind by name, as it is in the stopped training or in its cache."""
        newest, older, *_ = RunFolder(self.stopped).checkpoints()
        files = {"newest checkpoint": newest, "older checkpoint": older}
        for path in sorted(self.stopped.iterdir()):
            if path.is_file():
                files[path.name] = path
        (store,) = [path.parent for path in self.cache.glob(f"*/{CHECKSUMS}")][:1]
        files |= {f"cache: {path.name}": path for path in sorted(store.iterdir())}
        return files

    def damage(self, file: Path) -> None:
        """Change one bit of a file, or cut it short."""
        content = bytearray(file.read_bytes())
        place = self.draw.randrange(len(content))
        if self.draw.random() < 0.5:
            content[place] ^= 1 << self.draw.randrange(8)
        else:
            del content[place:]
        file.write_bytes(content)

    def try_once(self, file: Path) -> str:
        """Damage a copy, go on with it, and return what became of it."""
        run, cache = self.place / "run", self.place / "run-cache"
        shutil.copytree(self.stopped, run)
        shutil.copytree(self.cache, cache)
        self.use_cache(cache)
        self.warnings.count = 0
        in_run = file.is_relative_to(self.stopped)
        damaged = run / file.relative_to(self.stopped) if in_run else cache / file.relative_to(self.cache)
        self.damage(damaged)
        try:
            self.finish(run)
            return "recovered" if self.is_same(run) else "silent"
        except Exception as error:
            return judge(error, file)
        finally:
            shutil.rmtree(run)
            shutil.rmtree(cache)

    def list_finished_files(self) -> dict[str, Path]:
        """The files of the finished training by name, those that people look at left out."""
        files = sorted(path for path in self.whole.iterdir() if path.suffix in (".json", ".jsonl", ".yaml", WEIGHTS))
        return {f"finished: {path.name}": path for path in files}

    def try_finished(self, file: Path) -> str:
        """Damage a copy of the finished run, use it, and return what became of it."""
        run = self.place / "run"
        shutil.copytree(self.whole, run)
        expected, known = describe(self.whole)
        self.warnings.count = 0
        self.damage(run / file.name)
        try:
            found, rows = describe(run)
            told = self.warnings.count > 0 and all(row in known for row in rows)
            return "recovered" if found == expected and (rows == known or told) else "silent"
        except Exception as error:
            return judge(error, file)
        finally:
            shutil.rmtree(run)

    def is_same(self, run: Path) -> bool:
        """Whether a run has the weights of the undamaged one, and numbers that are wrong nowhere, and told if lost."""
        left, right = (RunFolder(each).weights_file.read_bytes() for each in (run, self.whole))
        rows = [strip_clocks(row) for row in RunFolder(run).read_metrics()]
        known = [strip_clocks(row) for row in self.rows]
        return left == right and (rows == known or (self.warnings.count > 0 and all(row in known for row in rows)))


def judge(error: Exception, file: Path) -> str:
    """What an error makes of a trial: refused in one sentence, or a traceback."""
    if isinstance(error, Seq2SeeError) and "\n" not in str(error):
        return "refused"
    print(f"{file.name}: {type(error).__name__}: {error}", file=sys.stderr)
    return "traceback"


def describe(folder: Path) -> tuple[object, list[Row]]:
    """All that is read of a finished run: its outputs and what is known of them, and its metrics."""
    run = seq2see.load(folder)
    outputs = [(one.text, one.score, one.ids) for one in run.predict(INPUTS)]
    return (outputs, run.agreement, read_held_out(run.folder), run.config), run.folder.read_metrics()


class Warnings(logging.Handler):
    """Counts warnings."""

    count = 0

    def emit(self, record: logging.LogRecord) -> None:
        self.count += 1


def strip_clocks(row: Row) -> Row:
    """A row without what differs from one training to the next."""
    return {name: value for name, value in row.items() if name not in ("seconds", "tokens_per_second")}


def main() -> None:
    """Try every kind of file, and print a row for each."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--trials", type=int, default=200, help="for each kind of file")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6), help="of the damage")
    parser.add_argument("--only", default="", help="a part of the names of the kinds to try")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    os.fsync = lambda descriptor: None  # the power stays on
    total: Counter[str] = Counter()
    print(f"seed {arguments.seed}\n| file | trials | {' | '.join(COLUMNS)} |\n|---|{'---|' * 5}")
    with tempfile.TemporaryDirectory(prefix="flips-") as name:
        bench = Bench(Path(name), random.Random(arguments.seed))
        trials = [(kind, file, bench.try_once) for kind, file in bench.list_files().items()]
        trials += [(kind, file, bench.try_finished) for kind, file in bench.list_finished_files().items()]
        for kind, file, do in trials:
            if arguments.only in kind:
                counts = Counter(do(file) for _ in range(arguments.trials))
                total += counts
                numbers = " | ".join(str(counts[column]) for column in COLUMNS)
                print(f"| {kind} | {arguments.trials} | {numbers} |", flush=True)
    print(f"| all | {total.total()} | {' | '.join(str(total[column]) for column in COLUMNS)} |")
    sys.exit(bool(total["silent"] + total["traceback"]))


if __name__ == "__main__":
    main()
