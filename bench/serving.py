"""How the server bears many clients: python bench/serving.py RUN INPUTS [--beam 5] [--memory 600]

Starts `seq2see serve RUN`, once with batching and once without, and asks it from 1 to 64 clients at once, each with one
request on its way; INPUTS has a text a line. Every answer is compared with that of `predict` on the same texts, whose
speed stands beside it: text, tokens and score. Then one client alone: how long the first token takes, and what
attention costs. With --memory, 16 clients ask for so many seconds instead (600 for ten minutes), and the server's
memory is shown over time, and at the end what it was after the first round and what it is.
"""

import argparse
import asyncio
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import cycle, islice
from math import isclose
from pathlib import Path
from statistics import quantiles
from typing import Any

import httpx2
import torch

import seq2see
from seq2see.runs.prediction import Prediction

CLIENTS = (1, 2, 4, 8, 16, 32, 64)
WARM = 16  # requests before the clock starts
NEAR = 1e-4  # of scores: batch-mates change the last bits


@dataclass(frozen=True)
class Load:
    """What a number of clients got."""

    clients: int
    seconds: float
    delays: Sequence[float]
    wrong: int  # answers that differ from those of predict
    lost: int  # requests without an answer

    @property
    def speed(self) -> float:
        """Answers a second."""
        return len(self.delays) / self.seconds

    def __str__(self) -> str:
        return f"{self.clients} | {self.speed:.1f} | {show_delays(self.delays)} | {self.wrong} | {self.lost}"


def show_delays(delays: Sequence[float]) -> str:
    """The 50th, 95th and 99th percentile in milliseconds."""
    percentiles = quantiles(delays, n=100, method="inclusive") if len(delays) > 1 else [*delays, 0.0][:1] * 99
    return " | ".join(f"{1000 * percentiles[place - 1]:.0f}" for place in (50, 95, 99))


@contextmanager
def serve(run: Path, *options: object) -> Iterator[tuple[str, int]]:
    """A server of its own process: its address and its number."""
    command = [sys.executable, "-m", "seq2see", "serve", str(run), "--port", "0", *map(str, options)]
    server = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert server.stderr is not None
    said = server.stderr
    try:
        found = next((re.search(r"http://\S+", line) for line in said if line.startswith("serving")), None)
        if found is None:
            sys.exit(f"{' '.join(command)} did not start.")
        threading.Thread(target=lambda: sys.stderr.writelines(said), daemon=True).start()
        yield found[0], server.pid
    finally:
        server.terminate()
        server.wait()


async def load(address: str, texts: Sequence[str], expected: Sequence[Prediction], clients: int, beam: int) -> Load:
    """Ask for all texts from so many clients, each of which waits for its answer before it asks again."""
    waiting, delays, wrong, lost = iter(zip(texts, expected, strict=True)), list[float](), 0, 0

    async def ask(client: httpx2.AsyncClient) -> None:
        nonlocal wrong, lost
        for text, right in waiting:
            began = time.perf_counter()
            try:
                answer = await client.post("/v1/predict", json={"text": text, "beam": beam})
                [output] = answer.raise_for_status().json()["outputs"]
            except httpx2.HTTPError as error:
                print(f"lost: {error}", file=sys.stderr)
                lost += 1
                continue
            delays.append(time.perf_counter() - began)
            wrong += not is_same(output, right)

    limits = httpx2.Limits(max_connections=clients, max_keepalive_connections=clients)
    async with httpx2.AsyncClient(base_url=address, limits=limits, timeout=120) as client:
        began = time.perf_counter()
        await asyncio.gather(*(ask(client) for _ in range(clients)))
        return Load(clients, time.perf_counter() - began, delays, wrong, lost)


def is_same(output: Mapping[str, Any], right: Prediction) -> bool:
    """Whether the server says what predict says."""
    near = isclose(output["score"], right.score, rel_tol=NEAR, abs_tol=NEAR)
    return near and (output["text"], output["ids"]) == (right.text, list(right.ids))


def predict(
    run: Path, texts: Sequence[str], beam: int, max_length: int | None = None
) -> tuple[list[Prediction], float]:
    """What predict says to all texts at once, and how many it answers in a second."""
    loaded = seq2see.load(run)
    loaded.predict(texts[:2], beam=beam)
    began = time.perf_counter()
    outputs = list(loaded.predict(texts, beam=beam, max_length=max_length))
    return outputs, len(texts) / (time.perf_counter() - began)


def time_first(client: httpx2.Client, text: str, beam: int) -> float:
    """Seconds until the first token of a stream, or its end if it has none."""
    began = time.perf_counter()
    with client.stream("POST", "/v1/predict/stream", json={"text": text, "beam": beam}) as stream:
        for line in stream.iter_lines():
            if line.startswith(("event: token", "event: done")):
                return time.perf_counter() - began
    raise RuntimeError(f"a stream ended without an output: {text}")


def time_answer(client: httpx2.Client, text: str, beam: int, attention: str) -> float:
    """Seconds until a whole answer."""
    began = time.perf_counter()
    client.post("/v1/predict", json={"text": text, "beam": beam, "attention": attention}).raise_for_status()
    return time.perf_counter() - began


def measure_alone(options: argparse.Namespace, address: str, texts: Sequence[str]) -> None:
    """What one client waits for."""
    print("\none client\n\nwhat | p50 ms | p95 ms | p99 ms\n---|---|---|---")
    with httpx2.Client(base_url=address, timeout=120) as client:
        for beam in dict.fromkeys((1, options.beam)):
            firsts = [time_first(client, text, beam) for text in texts]
            print(f"first token, beam {beam} | {show_delays(firsts)}", flush=True)
        for attention in ("none", "words", "full"):
            delays = [time_answer(client, text, options.beam, attention) for text in texts]
            print(f"answer, attention {attention} | {show_delays(delays)}", flush=True)


def read_memory(process: int) -> float:
    """Megabytes that a process has in memory (Linux)."""
    found = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{process}/status").read_text())
    assert found is not None
    return int(found[1]) / 1024


def measure_loads(options: argparse.Namespace, texts: Sequence[str], expected: Sequence[Prediction]) -> None:
    """A table for batching, one without, and one for a client alone."""
    head = "clients | requests/s | p50 ms | p95 ms | p99 ms | other than predict | lost\n---|---|---|---|---|---|---"
    for name, more in (("batching", ()), ("one by one", ("--batch-tokens", 0))):
        print(f"\n{name}\n\n{head}")
        with serve(options.run, "--threads", options.threads, "--timeout", 120, *more) as (address, _):
            asyncio.run(load(address, texts[:WARM], expected[:WARM], 1, options.beam))
            for clients in options.clients:
                print(asyncio.run(load(address, texts, expected, clients, options.beam)), flush=True)
    with serve(options.run, "--threads", options.threads, "--timeout", 120) as (address, _):
        measure_alone(options, address, texts[: options.alone])


def measure_memory(options: argparse.Namespace, texts: Sequence[str], expected: Sequence[Prediction]) -> None:
    """Memory and answers, a line for each round of all texts, and what became of it."""
    print("seconds | MB | requests/s | other than predict | lost\n---|---|---|---|---")
    sizes, answers, wrong, lost = list[float](), 0, 0, 0
    with serve(options.run, "--threads", options.threads, "--timeout", 120) as (address, process):
        began = time.perf_counter()
        while len(sizes) < 2 or time.perf_counter() - began < options.memory:
            found = asyncio.run(load(address, texts, expected, 16, options.beam))
            sizes.append(read_memory(process))
            answers, wrong, lost = answers + len(found.delays), wrong + found.wrong, lost + found.lost
            passed = time.perf_counter() - began
            print(f"{passed:.0f} | {sizes[-1]:.0f} | {found.speed:.1f} | {found.wrong} | {found.lost}", flush=True)
    print(f"\n{answers} answers, {wrong} other than predict, {lost} lost", end="; ")
    print(f"{sizes[0]:.0f} MB after the first round, {sizes[-1]:.0f} MB at the end ({sizes[-1] - sizes[0]:+.1f} MB)")


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("inputs", type=Path)
    parser.add_argument("--requests", type=int, default=400, help="of each table's rows")
    parser.add_argument("--clients", type=int, nargs="+", default=CLIENTS)
    parser.add_argument("--beam", type=int, default=5)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--alone", type=int, default=50, help="texts of the client that asks alone")
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
