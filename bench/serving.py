"""How the server bears many clients: python bench/serving.py RUN INPUTS [--beam 5] [--memory 600]

Starts `seq2see serve RUN`, once with batching and once without, and asks it from 1 to 64 clients at once, each with one
request on its way; INPUTS has a text a line. Every answer is compared with that of `predict` on the same texts, whose
speed stands beside it. With --memory, 16 clients ask for so many seconds instead, and the server's memory is shown over
time.
"""

import argparse
import asyncio
import re
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from statistics import quantiles

import httpx2
import torch

import seq2see

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
WARM = 16  # requests before the clock starts


@dataclass(frozen=True)
class Load:
    """What a number of clients got."""

    clients: int
    seconds: float
    delays: Sequence[float]
    wrong: int  # answers that differ from those of predict

    def __str__(self) -> str:
        percentiles = quantiles(self.delays, n=100, method="inclusive")
        times = " | ".join(f"{1000 * percentiles[place - 1]:.0f}" for place in (50, 95, 99))
        return f"{self.clients} | {len(self.delays) / self.seconds:.1f} | {times} | {self.wrong}"


@contextmanager
def serve(run: Path, *options: object) -> Iterator[tuple[str, int]]:
    """A server of its own process: its address and its number."""
    command = [sys.executable, "-m", "seq2see", "serve", str(run), "--port", "0", *map(str, options)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    try:
        found = next(re.search(r"http://\S+", line) for line in server.stderr if "serving" in line)
        assert found is not None
        yield found[0], server.pid
    finally:
        server.terminate()
        server.communicate()


async def load(address: str, texts: Sequence[str], expected: Sequence[str], clients: int, beam: int) -> Load:
    """Ask for all texts from so many clients, each of which waits for its answer before it asks again."""
    waiting, delays, wrong = iter(zip(texts, expected, strict=True)), list[float](), 0

    async def ask(client: httpx2.AsyncClient) -> None:
        nonlocal wrong
        for text, right in waiting:
            began = time.perf_counter()
            answer = await client.post("/v1/predict", json={"text": text, "beam": beam})
            delays.append(time.perf_counter() - began)
            wrong += answer.json()["outputs"][0]["text"] != right

    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=120) as client:
        began = time.perf_counter()
        await asyncio.gather(*(ask(client) for _ in range(clients)))
        return Load(clients, time.perf_counter() - began, delays, wrong)


def predict(run: Path, texts: Sequence[str], beam: int) -> tuple[list[str], float]:
    """What predict says to all texts at once, and how many it answers in a second."""
    loaded = seq2see.load(run)
    loaded.predict(texts[:2], beam=beam)
    began = time.perf_counter()
    outputs = [prediction.text for prediction in loaded.predict(texts, beam=beam)]
    return outputs, len(texts) / (time.perf_counter() - began)


def read_memory(process: int) -> float:
    """Megabytes that a process has in memory (Linux)."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def measure_loads(options: argparse.Namespace, texts: Sequence[str], expected: Sequence[str]) -> None:
    """A table for batching, and one without."""
    for name, more in (("batching", ()), ("one by one", ("--batch-tokens", 0))):
        print(
            f"\n{name}\n\nclients | requests/s | p50 ms | p95 ms | p99 ms | other than predict\n---|---|---|---|---|---"
        )
        with serve(options.run, "--threads", options.threads, "--timeout", 120, *more) as (address, _):
            asyncio.run(load(address, texts[:WARM], expected[:WARM], 1, options.beam))
            for clients in options.clients:
                print(asyncio.run(load(address, texts, expected, clients, options.beam)), flush=True)


def measure_memory(options: argparse.Namespace, texts: Sequence[str], expected: Sequence[str]) -> None:
    """Memory and answers, a line for each round of all texts."""
    print("seconds | MB | requests/s | other than predict\n---|---|---|---")
    with serve(options.run, "--threads", options.threads, "--timeout", 120) as (address, process):
        began = time.perf_counter()
        while time.perf_counter() - began < options.memory:
            found = asyncio.run(load(address, texts, expected, 16, options.beam))
            speed = len(found.delays) / found.seconds
            print(
                f"{time.perf_counter() - began:.0f} | {read_memory(process):.0f} | {speed:.1f} | {found.wrong}",
                flush=True,
            )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("--requests", type=int, default=400, help="of each table's rows")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--memory", type=float, default=0.0, metavar="SECONDS")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    lines = [line for line in options.inputs.read_text(encoding="utf-8").splitlines() if line.strip()]
    texts = list(islice(cycle(lines), options.requests))
    expected, speed = predict(options.run, texts, options.beam)
    print(f"{options.run}, beam {options.beam}, {options.threads} threads: predict answers {speed:.1f} texts/s")
    (measure_memory if options.memory else measure_loads)(options, texts, expected)


if __name__ == "__main__":
    main()
