"""Whether the server keeps to its own description: python bench/serving_contract.py RUN... [--cases 10000] [--seed 1]

Starts `seq2see serve` with each run as the default one, without a token and with one, and lets Schemathesis compare
what it answers with its `/openapi.json`, with all checks, until there were so many cases in all. Give a run that reads
texts, one that chooses labels and one that reads images. Schemathesis belongs into an environment of its own
(`python -m venv st && st/bin/pip install schemathesis`); --schemathesis is its command. Prints a line for each round,
and fails if anything is found, or if a status is 5xx.
"""

import argparse
import json
import re
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path

TOKEN = "a-token-for-schemathesis"


@contextmanager
def serve(runs: list[Path], token: str, log: Path) -> Iterator[str]:
    """A server with a log of its requests, and its address."""
    command = [sys.executable, "-m", "seq2see", "serve", *map(str, runs), "--port", "0", "--log-format", "json"]
    command += ["--token", token] if token else []
    with log.open("w") as file, subprocess.Popen(command, stderr=file) as server:
        try:
            while server.poll() is None and not (found := re.search(r"^serving .*(http://\S+)", log.read_text(), re.M)):
                time.sleep(0.2)
            if server.poll() is not None:
                sys.exit(f"{' '.join(command)} did not start: {log.read_text()}")
            assert found is not None
            yield found[1]
        finally:
            server.terminate()


def count_statuses(log: Path) -> Counter[int]:
    """How often the server has answered with each status."""
    lines = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return Counter(line["status"] for line in lines if "status" in line)


def check(options: argparse.Namespace, runs: list[Path], token: str, seed: int) -> tuple[int, int]:
    """One round of Schemathesis: how many cases there were, and how many of them failed."""
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder, "log")
        with serve(runs, token, log) as address:
            command = [options.schemathesis, "run", f"{address}openapi.json", "--checks", "all", "--seed", str(seed)]
            command += ["--max-examples", str(options.examples), "--continue-on-failure", "--no-color"]
            command += ["--report", "json", "--report-dir", folder]
            command += ["--header", f"Authorization: Bearer {token}"] if token else []
            said = subprocess.run(command, capture_output=True, text=True, cwd=folder)
        statuses = count_statuses(log)
        reports = [json.loads(file.read_text()) for file in Path(folder).glob("*.json")]
    cases = sum(report["test_cases"]["generated"] for report in reports)
    failed = sum(report["test_cases"]["with_failures"] + report["test_cases"]["errored"] for report in reports)
    wrong = sum(times for status, times in statuses.items() if status >= 500)
    shown = ", ".join(f"{status}: {times}" for status, times in sorted(statuses.items()))
    print(f"{runs[0].name} | {'yes' if token else 'no'} | {seed} | {cases} | {failed} | {shown}", flush=True)
    if said.returncode or not cases:
        print("\n".join(line[:200] for line in said.stdout.splitlines()), said.stderr[:2000], file=sys.stderr)
    return cases, max(failed + wrong, 1 if said.returncode else 0)


def main() -> None:
    """Check round after round, and fail if anything is found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", type=Path, nargs="+")
    parser.add_argument("--cases", type=int, default=10_000, help="at least, of all rounds")
    parser.add_argument("--examples", type=int, default=100, help="of each path in a round, besides those of coverage")
    parser.add_argument("--seed", type=int, default=1, help="of the first round; each next one takes the next number")
    parser.add_argument("--schemathesis", default="schemathesis", help="the command, or its path")
    options = parser.parse_args()
    print("default run | token | seed | cases | failed | statuses\n---|---|---|---|---|---")
    total = faults = 0
    rounds = [(place, token) for place in range(len(options.runs)) for token in ("", TOKEN)]
    for number in count():
        if number >= len(rounds) and total >= options.cases:
            break
        place, token = rounds[number % len(rounds)]
        runs = [*options.runs[place:], *options.runs[:place]]
        cases, found = check(options, runs, token, options.seed + number)
        if not cases:
            sys.exit("Schemathesis made no cases.")
        total, faults = total + cases, faults + found
    print(f"\n{total} cases, {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
