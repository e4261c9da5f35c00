"""Open malicious run folders, and count what happens: python bench/hostile_runs.py [--only WORDS]

Each folder is opened by `seq2see.load`, with a prediction, or by one of the commands that open runs, in turn, or as
`--doors` says. Each has a process of its own with 4 GB of address space. The folder must be refused with one
sentence, or do no harm, within 10 seconds of computing and 1 GB of memory; what takes a minute by the clock is a hang.
What is printed must be bounded, and without control codes. `bench/flips.py` damages files instead.

Linux only: processes are forked from one that has imported torch already.
"""

import argparse
import contextlib
import io
import math
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

os.environ |= {"TOKENIZERS_PARALLELISM": "false", "OMP_NUM_THREADS": "1"}

import torch  # noqa: F401 (imported once, before the forks)
from hostile_cases import Case, list_cases
from hostile_doors import DOORS, Door, sandbox, write_data
from hostile_folders import CANARY, copy_base, make_bases
from hostile_products import list_beside_cases, list_product_cases
from hostile_values import list_value_cases

from seq2see.cli import predict  # noqa: F401
from seq2see.models.decoders import ntm_decoder, rnn_decoder, transformer_decoder  # noqa: F401
from seq2see.models.encoders import han_encoder, ntm_encoder, rnn_encoder, transformer_encoder  # noqa: F401
from seq2see.runs import parallel_prediction, run, word_alignment  # noqa: F401

ADDRESSES = 4 * 2**30
SECONDS, MEGABYTES, PATIENCE = 10, 1024, 60
RAW = ("call", "predict", "ensemble", "sandbox")  # outputs of a model are data, which no command changes
MAX_PRINTED, MAX_SENTENCE = 200_000, 2_100  # characters
CODES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")  # of terminals, and of directions

Results = dict[str, Counter[str]]


def run_apart(do: Door, folder: Path, log: Path) -> tuple[str, float, float]:
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


def _run_limited(do: Door, folder: Path, log: Path) -> None:
    code = 1
    try:
        resource.setrlimit(resource.RLIMIT_AS, (ADDRESSES, ADDRESSES))
        with log.open("w") as file:
            os.dup2(file.fileno(), 1)
            os.dup2(file.fileno(), 2)
        sys.stdout, sys.stderr = (
            io.TextIOWrapper(os.fdopen(1, "wb", 0)),
            io.TextIOWrapper(os.fdopen(2, "wb", 0), errors="backslashreplace", write_through=True),
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
    if len(text) > MAX_PRINTED:
        return "prints much"
    if log.stem not in RAW and CODES.search(text):
        return "prints codes"
    if os.WEXITSTATUS(status) == 0:
        return "loaded harmlessly"
    *before, last = text.strip().splitlines() or [""]  # a training tells what it reads before it is refused
    sentence = last.startswith("seq2see: ") and len(last) < MAX_SENTENCE
    return "refused" if sentence and not any(line.startswith("seq2see: ") for line in before) else "no sentence"


def run_cases(
    cases: Sequence[Case], bases: dict[str, Path], scratch: Path, doors: str, *, end: float, verbose: bool
) -> tuple[Results, int]:
    """Run cases by some doors until the clock shows `end`, print those that went wrong, and say how many were run."""
    results: Results = {}
    known, images = list(DOORS), bases["cnn"].parent.parent / "images"
    for number, (name, base, change) in enumerate(cases):
        if time.perf_counter() > end:
            return results, number
        place = scratch / f"case-{number}"
        change_apart(bases[base], place / "run", change)
        folder = find_folder(place)
        (place / "honest").symlink_to(bases[base])
        write_data(place, base, images / "3.png")
        turn = number % len(known)
        for door in known[turn : turn + 1] if doors == "turn" else known if doors == "all" else doors.split(","):
            log = place / f"{door}.log"
            do = sandbox if door == "sandbox" else DOORS[door]
            result, seconds, megabytes = run_apart(do, folder, log)
            if list(place.rglob(CANARY)):
                result = "FOREIGN CODE RAN"
            results.setdefault(door, Counter())[result] += 1
            text = log.read_bytes().decode(errors="replace").strip()[-300:] if log.exists() else ""
            if verbose or result not in ("refused", "loaded harmlessly"):
                print(f"{result:18} {seconds:5.1f} s {megabytes:5.0f} MB  {door:18} {name}: {text!r}", flush=True)
        shutil.rmtree(place)
    return results, len(cases)


def find_folder(place: Path) -> Path:
    """The folder that a case has made: `run`, or what it was renamed to."""
    usual = place / "run"
    return usual if os.path.lexists(usual) else next(iter(place.iterdir()))


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


def choose_cases(bases: dict[str, Path], groups: str, only: str, part: str) -> list[Case]:
    """The cases of some groups whose names have some words, and of these a part such as 2/7."""
    trained = {name: path for name, path in bases.items() if name != "bpe target"}
    made = {
        "first": list_cases,
        "values": lambda: list_value_cases(trained),
        "honest": lambda: [(f"honest {name}", name, lambda folder: None) for name in trained],
        "products": list_product_cases,
        "beside": list_beside_cases,
    }
    cases = [case for group in groups.split(",") for case in made[group]() if only in case[0]]
    number, parts = map(int, part.split("/"))
    return [case for place, case in enumerate(cases) if place % parts == number - 1]


def main() -> None:
    """Run all cases, or those that are chosen."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", help="cases whose names have this")
    parser.add_argument("--groups", default="first,values,products,beside", help="which cases, with commas between")
    parser.add_argument("--part", default="1/1", help="a part of the cases, such as 2/7")
    parser.add_argument("--begin", type=int, default=0, help="the number of the first case, from 0")
    parser.add_argument("--seconds", type=float, default=math.inf, help="begin no case after so long")
    parser.add_argument("--doors", default="turn", help="names of bench/hostile_doors.py, all, or turn")
    parser.add_argument("--bases", type=Path, help="where honest runs are kept; else they are trained each time")
    parser.add_argument("--verbose", action="store_true", help="print every case")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        scratch, kept = Path(temporary), arguments.bases or Path(temporary) / "bases"
        os.environ["SEQ2SEE_CACHE"] = str(scratch / "cache")
        child = os.fork()
        if not child:
            make_bases(kept)
            os._exit(0)
        os.waitpid(child, 0)
        bases = {path.name: path for path in sorted(kept.iterdir())}
        bases["bpe target"] = bases["text"]
        begin = time.perf_counter()
        cases = choose_cases(bases, arguments.groups, arguments.only, arguments.part)[arguments.begin :]
        end = begin + arguments.seconds
        results, done = run_cases(cases, bases, scratch, arguments.doors, end=end, verbose=arguments.verbose)
        print_results(results, folders=done, seconds=time.perf_counter() - begin)
        if done < len(cases):
            print(f"to go on: --begin {arguments.begin + done} (of {arguments.begin + len(cases)})")


def print_results(results: Results, *, folders: int, seconds: float) -> None:
    """Print a row for each door, and one for all."""
    total = sum(results.values(), Counter())
    columns = sorted(total, key=lambda column: (column not in ("refused", "loaded harmlessly"), column))
    print(f"{folders} folders in {seconds:.0f} s\n| door | {' | '.join(columns)} |\n|---|{'---|' * len(columns)}")
    for door, counts in [*results.items(), ("all", total)]:
        print(f"| {door} | {' | '.join(str(counts[column]) for column in columns)} |")


if __name__ == "__main__":
    main()
