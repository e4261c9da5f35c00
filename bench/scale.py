"""How training grows with processes: python bench/scale.py pairs.tsv preset=transformer-tiny train.batch_tokens=4096

Prints target tokens/s of 1 and 2 processes, without and with microbatches (the same bits on any number of processes),
beside another version of the source (--before SRC), round by round in turns; then what an update exchanges, and a
projection for more machines from the formula that is printed above it. Only the measured rows are measurements.
"""

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

import torch

import seq2see
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import load

NETWORKS = {"1 Gbit/s": 1e9 / 8, "10 Gbit/s": 1e10 / 8, "100 Gbit/s": 1e11 / 8}  # bytes a second
LATENCY = 50e-6  # seconds of one message, assumed
BUCKET_BYTES = 4 * 2**20
HERE = Path(seq2see.__file__).parents[1]


@dataclass(frozen=True)
class Variant:
    """One way to train: the source of which version, and how many processes and microbatches."""

    source: Path
    workers: int
    microbatches: int = 0

    @property
    def name(self) -> str:
        version = "" if self.source == HERE else " (before)"
        return f"{self.workers} processes{version}" + f", {self.microbatches} microbatches" * bool(self.microbatches)

    def train(self, words: list[str], updates: int, out: Path) -> float:
        """Target tokens/s, the median over the validations after the first."""
        every = max(updates // 6, 1)
        settings = [f"train.workers={self.workers}", "train.threads=1", f"train.updates={updates}"]
        settings += [f"train.validate_every={every}", "train.validation_pairs=1", "train.average_checkpoints=0"]
        settings += [f"train.microbatches={self.microbatches}"] if self.microbatches else []
        command = [sys.executable, "-m", "seq2see", "train", *words, *settings, "--out", str(out)]
        environment = {**os.environ, "PYTHONPATH": str(self.source)}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            sys.exit(f"{self.name}: {done.stderr.strip().splitlines()[-1]}")
        rows = [json.loads(line) for line in (out / "metrics.jsonl").read_text().splitlines()]
        return statistics.median(row["tokens_per_second"] for row in rows[1:])


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", help="data, then key=value settings, as for seq2see train")
    parser.add_argument("--before", type=Path, help="the folder src of another version")
    parser.add_argument("--updates", type=int, default=60)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--microbatches", type=int, action="append", help="default: 2, 8 and 16")
    arguments = parser.parse_args()
    variants = [Variant(HERE, workers) for workers in (1, 2)]
    variants += [Variant(HERE, workers, m) for m in arguments.microbatches or (2, 8, 16) for workers in (1, 2)]
    if arguments.before is not None:
        variants = [Variant(arguments.before.absolute(), workers) for workers in (1, 2)] + variants
    found: dict[Variant, list[float]] = {variant: [] for variant in variants}
    weights: dict[Variant, bytes] = {}
    with tempfile.TemporaryDirectory() as place:
        for number in range(arguments.rounds):
            for variant in variants:
                out = Path(place) / f"{variants.index(variant)}-{number}"
                found[variant].append(variant.train(arguments.words, arguments.updates, out))
                weights[variant] = RunFolder(out).weights_file.read_bytes()
        parameters = sum(each.numel() for each in load(out).model.parameters())
    versions = f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{versions}, {' '.join(arguments.words)}, {arguments.updates} updates, {arguments.rounds} rounds\n")
    show_speed(variants, found, weights)
    tokens = statistics.median(found[Variant(HERE, 1)])
    show_projection(parameters, tokens, arguments.words)


def show_speed(variants: list[Variant], found: dict[Variant, list[float]], weights: dict[Variant, bytes]) -> None:
    """Print a row for each variant; ratios are medians over rounds, each round measured side by side."""
    print("| processes | target tokens/s | ratio to before | ratio to no microbatches | same weights as |")
    print("|---|---|---|---|---|")
    for variant in variants:
        same = [other for other in variants if other != variant and weights[other] == weights[variant]]
        base = [other for other in variants if other.workers == variant.workers and not other.microbatches]
        before = [other for other in base if other.source != variant.source and variant.source == HERE]
        plain = [other for other in base if other.source == variant.source and variant.microbatches]
        cells = [_divide(found[variant], found[each[0]]) if each else "" for each in (before, plain)]
        speed = f"{statistics.median(found[variant]):,.0f}"
        print(f"| {variant.name} | {speed} | {' | '.join(cells)} | {', '.join(other.name for other in same)} |")


def _divide(values: list[float], others: list[float]) -> str:
    return f"{statistics.median(value / other for value, other in zip(values, others, strict=True)):.2f}"


def show_projection(parameters: int, tokens_per_second: float, words: list[str]) -> None:
    """Print what an update exchanges, and what follows from it."""
    size = 4 * parameters
    print(f"\nAn update exchanges 2 x (W - 1) / W x 4 bytes x {parameters:,} parameters with W processes: ", end="")
    print(", ".join(f"{2 * (w - 1) / w * size / 2**20:,.1f} MiB ({w})" for w in (2, 8, 64, 512)) + " for each of them.")
    print(
        "\nProjected, not measured: with the same tokens for each process (s seconds an update), the efficiency is\n"
        "s / (s + bytes / bandwidth + 2 x (W - 1) x latency x buckets), without overlap of sums and backward pass;\n"
        f"latency {LATENCY * 1e6:.0f} microseconds a message, one bucket for each 4 MiB.\n"
    )
    budget = next((int(word.partition("=")[2]) for word in words if word.startswith("train.batch_tokens=")), 4096)
    seconds = budget / tokens_per_second
    print(f"| network | {' | '.join(f'{w} processes' for w in (8, 64, 512))} |\n|---|---|---|---|")
    buckets = max(size // BUCKET_BYTES, 1)
    for network, bandwidth in NETWORKS.items():
        costs = [2 * (w - 1) / w * size / bandwidth + 2 * (w - 1) * LATENCY * buckets for w in (8, 64, 512)]
        print(f"| {network} | {' | '.join(f'{seconds / (seconds + cost):.0%}' for cost in costs)} |")


if __name__ == "__main__":
    main()
