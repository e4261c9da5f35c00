"""Load malicious run folders, and count what happens: python bench/hostile_runs.py [--only WORDS] [--flips N]

Each folder is loaded by `seq2see.load`, with a prediction, and by `seq2see predict`, in a process of its own with 4 GB
of address space. It must be refused with one sentence, or do no harm, within 10 seconds of computing and 1 GB of
memory; what takes a minute by the clock is a hang. Then random bytes of every file are changed, and every file is cut
at random places: no output may change without an error.

Linux only: processes are forked from one that has imported torch already.
"""

import argparse
import contextlib
import io
import os
import random
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}

import torch  # noqa: F401 (imported once, before the forks)
from hostile_cases import list_cases
from hostile_folders import CANARY, FILES, copy_base, make_bases

import seq2see
from seq2see.cli import predict  # noqa: F401
from seq2see.cli.app import main as run_command
from seq2see.core.errors import Seq2SeeError
from seq2see.models.decoders import ntm_decoder, rnn_decoder, transformer_decoder  # noqa: F401
from seq2see.models.encoders import han_encoder, ntm_encoder, rnn_encoder, transformer_encoder  # noqa: F401
from seq2see.runs import parallel_prediction, run, word_alignment  # noqa: F401

ADDRESSES = 4 * 2**30
SECONDS, MEGABYTES, PATIENCE = 10, 1024, 60
INPUT = "a t\nb b b"


def predict_by_command(folder: Path) -> None:
    """Run `seq2see predict`."""
    source = folder.parent / "input.txt"
    source.write_text(INPUT)
    sys.argv = ["seq2see", "predict", str(folder), str(source)]
    run_command()


def predict_by_call(folder: Path) -> None:
    """Load and predict as a Python program does, with an error as the command shows it."""
    try:
        for prediction in seq2see.load(folder).predict(INPUT.splitlines()):
            print(prediction.text.encode()[:1000])
    except Seq2SeeError as error:
        print(f"seq2see: {error}", file=sys.stderr)
        sys.exit(2)


def run_apart(do: Callable[[Path], None], folder: Path, log: Path) -> tuple[str, float, float]:
    """Return what happens in a process of its own, its seconds and its megabytes."""
    begin, child = time.perf_counter(), os.fork()
    if not child:
        _run_limited(do, folder, log)
    while time.perf_counter() - begin < PATIENCE:
        done, status, usage = os.wait4(child, os.WNOHANG)
        if done:
            seconds, megabytes = usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024
            return _judge(status, log, seconds, megabytes), seconds, megabytes
        time.sleep(0.02)
    os.kill(child, signal.SIGKILL)
    os.wait4(child, 0)
    return "hang", PATIENCE, 0.0


def _run_limited(do: Callable[[Path], None], folder: Path, log: Path) -> None:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(os.fdopen(1, "wb", 0)),
            io.TextIOWrapper(os.fdopen(2, "wb", 0), write_through=True),
        )
        do(folder)
        code = 0
    except SystemExit as stop:
        code = stop.code if isinstance(stop.code, int) else 1
    except BaseException as error:
        os.write(2, f"Traceback: {type(error).__name__}: {str(error)[:500]}\n".encode(errors="replace"))
    finally:
        with contextlib.suppress(BaseException):
            sys.stdout.flush()
        os._exit(code)


def _judge(status: int, log: Path, seconds: float, megabytes: float) -> str:
    text = log.read_bytes().decode(errors="replace")
    if os.WIFSIGNALED(status):
        return "death"
    if "Traceback" in text or os.WEXITSTATUS(status) not in (0, 2):
        return "traceback"
    if seconds > SECONDS or megabytes > MEGABYTES:
        return "slow or large"
    if os.WEXITSTATUS(status) == 0:
        return "loaded harmlessly"
    lines = text.strip().splitlines()
    return "refused" if len(lines) == 1 and lines[0].startswith("seq2see: ") and len(lines[0]) < 1500 else "no sentence"


def run_cases(bases: dict[str, Path], scratch: Path, only: str, *, verbose: bool) -> Counter[str]:
    """Run every case by call and by command, and print those that went wrong."""
    counts: Counter[str] = Counter()
    for number, (name, base, change) in enumerate(list_cases()):
        if only not in name:
            continue
        place = scratch / f"case-{number}"
        change_apart(bases[base], place / "run", change)
        for do in (predict_by_call, predict_by_command):
            log = place / f"{do.__name__}.log"
            result, seconds, megabytes = run_apart(do, place / "run", log)
            if list(place.rglob(CANARY)):
                result = "FOREIGN CODE RAN"
            counts[result] += 1
            text = log.read_bytes().decode(errors="replace").strip()[-300:] if log.exists() else ""
            if verbose or result not in ("refused", "loaded harmlessly"):
                print(f"{result:18} {seconds:5.1f} s {megabytes:5.0f} MB  {name}: {text!r}", flush=True)
        shutil.rmtree(place)
    return counts


def change_apart(base: Path, target: Path, change: Callable[..., object]) -> None:
    """Make a folder in a process of its own, so that this one stays small."""
    child = os.fork()
    if not child:
        try:
            change(copy_base(base, target))
            os._exit(0)
        except BaseException as error:
            print(f"not made: {target}: {type(error).__name__}: {str(error)[:200]}", flush=True)
            os._exit(1)
    os.waitpid(child, 0)


def flip(bases: dict[str, Path], scratch: Path, times: int) -> Counter[str]:
    """Change bytes and cut files at random, and count whether predictions stay the same or are refused."""
    counts: Counter[str] = Counter()
    rng = random.Random(1)
    for base, path in bases.items():
        expected = _predict(path)
        for name in (*FILES, "metrics.jsonl"):
            copy = copy_base(path, scratch / "flips" / base / name).path
            honest = (copy / name).read_bytes()
            for _ in range(times):
                place, cut = rng.randrange(len(honest)), rng.random() < 0.3
                changed = honest[:place] if cut else honest[:place] + bytes([rng.randrange(256)]) + honest[place + 1 :]
                (copy / name).write_bytes(changed)
                try:
                    result = "same" if _predict(copy) == expected else "CHANGED"
                except Seq2SeeError:
                    result = "refused"
                except BaseException as error:
                    result = f"traceback of {type(error).__name__}"
                if result not in ("same", "refused"):
                    print(f"{result}: {base}/{name} {'cut' if cut else 'flipped'} at {place}", flush=True)
                counts[result] += 1
    return counts


def _predict(folder: Path) -> list[tuple[str, float]]:
    return [(each.text, each.score) for each in seq2see.load(folder).predict(INPUT.splitlines())]


def main() -> None:
    """Run all cases, then all flips."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose names have this")
    parser.add_argument("--flips", type=int, default=200, help="random changes of each file")
    parser.add_argument("--bases", type=Path, help="where honest runs are kept; else they are trained each time")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch, kept = Path(temporary), arguments.bases or Path(temporary) / "bases"
        child = os.fork()
        if not child:
            make_bases(kept)
            os._exit(0)
        os.waitpid(child, 0)
        bases = {path.name: path for path in sorted(kept.iterdir())}
        bases["bpe target"] = bases["text"]
        begin = time.perf_counter()
        counts = run_cases(bases, scratch, arguments.only, verbose=arguments.verbose)
        print(f"{counts.total()} loads in {time.perf_counter() - begin:.0f} s: {dict(counts)}")
        if arguments.flips:
            del bases["bpe target"]
            print(f"flips and cuts: {dict(flip(bases, scratch, arguments.flips))}")


if __name__ == "__main__":
    main()
