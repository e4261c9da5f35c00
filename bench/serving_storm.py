"""How the server bears bad clients: python bench/serving_storm.py RUN [--seconds 120] [--clients 8]

Starts `seq2see serve RUN` and for so many seconds sends what no good client sends: requests that are malformed, slow or
too large, and clients that vanish half-way. Good clients ask meanwhile, and each of their answers is compared with that
of `predict`. Prints how often each kind of client got which status, and the memory of the server over time. It fails if
a status is 5xx (but 503 or 504, as documented), if an answer is lost or wrong, if a client that sends too much is not
told so, if the server does not answer within a minute after the storm, or if memory grows by more than --growth MB.
"""

import argparse
import asyncio
import json
import random
import struct
import sys
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from socket import SO_LINGER, SOL_SOCKET

import httpx2
import torch
from serving import is_same, predict, read_memory, serve

from seq2see.runs.prediction import Prediction

TEXTS = ("abc", "hgfedcba", "a", "the cat sat on the mat", "cab cab", "0123456789", "ab " * 40)
ALLOWED = {"400", "408", "409", "411", "413", "415", "421", "422", "429", "431", "503", "504", "closed"}
PATHS = ("/v1/predict", "/v1/predict/stream", "/v1/explain")
MAX_BODY = 200_000


@dataclass
class Storm:
    """What happens between the server and its clients.

    Args:
        address: host and port of the server.
        texts: what good clients ask.
        expected: the right answers to them.
        end: when the storm is over, on the monotonic clock.
    """

    address: tuple[str, int]
    texts: Sequence[str]
    expected: Sequence[Prediction]
    end: float
    counts: Counter[tuple[str, str]] = field(default_factory=Counter)
    chance: random.Random = field(default_factory=lambda: random.Random(0))

    async def repeat(self, kind: str, act: Callable[[], Awaitable[str]]) -> None:
        """Act again and again until the storm is over, and count what comes of it."""
        while time.monotonic() < self.end:
            try:
                outcome = await asyncio.wait_for(act(), 120)
            except TimeoutError:
                outcome = "no answer"
            except OSError:
                outcome = "closed"
            self.counts[kind, outcome] += 1

    async def speak(self, *parts: bytes, pause: float = 0.0) -> str:
        """Send parts with pauses between them; the status of the answer, or `closed` if there is none."""
        reader, writer = await asyncio.open_connection(*self.address)
        try:
            with suppress(ConnectionError):  # the server may answer before it has everything
                for part in parts:
                    writer.write(part)
                    await writer.drain()
                    if pause:
                        await asyncio.sleep(pause)
            line = await reader.readline()
            while await reader.read(65536):
                pass
            return line.split()[1].decode() if line.startswith(b"HTTP/1.1 ") else "closed"
        finally:
            writer.close()

    def write_request(self, body: bytes, *, path: str = PATHS[0], length: int | None = None, more: str = "") -> bytes:
        """A whole request, or one whose length is a lie."""
        size = len(body) if length is None else length
        head = (
            f"POST {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\ncontent-type: application/json\r\n{more}"
        )
        return f"{head}content-length: {size}\r\n\r\n".encode() + body

    async def ask_well(self, client: httpx2.AsyncClient) -> str:
        """Ask as one should, and compare the answer."""
        place = self.chance.randrange(len(self.texts))
        try:
            answer = await client.post("/v1/predict", json={"text": self.texts[place], "beam": 1, "max_length": 20})
        except httpx2.HTTPError as error:
            return f"lost ({type(error).__name__})"
        if answer.status_code != 200:
            return str(answer.status_code)
        return "200" if is_same(answer.json()["outputs"][0], self.expected[place]) else "wrong"

    async def send_malformed(self) -> str:
        """Send noise, broken heads, or bodies that are no requests."""
        noise = self.chance.randbytes(self.chance.randrange(1, 400))
        origin = self.chance.choice(["http://[::1", "null", "http://a@b:c", "\xff"])
        field = self.chance.choice(["beam", "seed", "max_length", "text", "model", "prefix_ids", noise.hex()])
        value = self.chance.choice(
            ["1" + "0" * 400, "-1", "1e999", "[[]]", "null", "{}", '"\\ud800"', "true", "[" * 999]
        )
        return await self.speak(
            self.chance.choice(
                [
                    noise + b"\r\n\r\n",
                    b"GET / HTTP/1.1\r\nhost: " + noise[:9] + b"\r\nconnection: close\r\n\r\n",
                    b"GET / HTTP/9.9\r\n\r\n",
                    b"A" * 100_000,
                    self.write_request(b"{}", more=f"origin: {origin}\r\n"),
                    self.write_request(noise),
                    self.write_request(f'{{"text": "a", "{field}": {value}}}'.encode()),
                    self.write_request(b'{"text": "a", "document": ["b"]}', path=self.chance.choice(PATHS)),
                    self.write_request(b'{"text": "a"}', more="transfer-encoding: chunked\r\n"),
                ]
            )
        )

    async def send_slowly(self) -> str:
        """Send a byte now and then, and wait for the server to lose its patience."""
        whole = self.write_request(json.dumps({"text": "abc"}).encode(), length=5000)
        cut = self.chance.choice([20, len(whole)])
        parts = [whole[place : place + 40] for place in range(0, cut, 40)]
        return await self.speak(*parts, pause=0.2)

    async def send_too_much(self) -> str:
        """Send a body that is too large, and read the refusal."""
        return await self.speak(self.write_request(b"x" * self.chance.choice([MAX_BODY + 1, 3_000_000, 20_000_000])))

    async def vanish(self) -> str:
        """Ask for something long, and hang up at some moment, politely or not."""
        body = {"text": "abcdefgh", "min_length": self.chance.choice([0, 50, 300]), "max_length": 400, "beam": 3}
        whole = self.write_request(json.dumps(body).encode(), path=self.chance.choice(PATHS))
        _, writer = await asyncio.open_connection(*self.address)
        writer.write(whole[: self.chance.choice([30, len(whole) - 3, len(whole), len(whole)])])
        await asyncio.sleep(self.chance.choice([0, 0.001, 0.01, 0.1, 0.5]))
        if self.chance.random() < 0.5:  # a reset instead of an orderly end
            writer.get_extra_info("socket").setsockopt(SOL_SOCKET, SO_LINGER, struct.pack("ii", 1, 0))
        writer.close()
        return "hung up"

    async def rage(self, clients: int, process: int, sizes: list[float]) -> None:
        """All kinds of clients at once, so many of each; the memory of the server is measured ten times."""

        async def measure(seconds: float) -> None:
            while time.monotonic() < self.end:
                await asyncio.sleep(seconds)
                sizes.append(read_memory(process))

        bad = (self.send_malformed, self.send_slowly, self.send_too_much, self.vanish)
        url = f"http://{self.address[0]}:{self.address[1]}"
        async with httpx2.AsyncClient(base_url=url, timeout=60) as client:
            storm = [self.repeat(act.__name__, act) for act in bad for _ in range(clients)]
            good = [self.repeat("ask_well", lambda: self.ask_well(client)) for _ in range(clients)]
            await asyncio.gather(*storm, *good, measure((self.end - time.monotonic()) / 10))
            for _ in range(len(self.texts)):
                self.counts["after the storm", await self.ask_well(client)] += 1


def find_faults(storm: Storm, sizes: Sequence[float], growth: float) -> list[str]:
    """What must not have happened."""
    faults = []
    for (kind, outcome), count in sorted(storm.counts.items()):
        right = {"ask_well": {"200", "429", "503", "504"}, "after the storm": {"200"}, "send_too_much": {"413", "429"}}
        if outcome not in right.get(kind, ALLOWED | {"200", "hung up", "403", "404", "405"}):
            faults.append(f"{kind}: {outcome}, {count} times")
    if not storm.counts["ask_well", "200"]:
        faults.append("no good client got an answer")
    if sizes[-1] - sizes[len(sizes) // 3] > growth:
        faults.append(f"memory grew from {sizes[len(sizes) // 3]:.0f} to {sizes[-1]:.0f} MB")
    return faults


def main() -> None:
    """Let the storm rage, print what came of it, and fail if something must not have happened."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("run", type=Path)
    parser.add_argument("--seconds", type=float, default=120.0)
    parser.add_argument("--clients", type=int, default=8, help="of each kind")
    parser.add_argument("--growth", type=float, default=50.0, help="MB that the server may grow in the last two thirds")
    options = parser.parse_args()
    torch.set_num_threads(1)
    expected, _ = predict(options.run, TEXTS, 1, max_length=20)
    sizes: list[float] = []
    with serve(options.run, "--max-body", MAX_BODY, "--timeout", 10) as (address, process):
        host, _, port = address.removeprefix("http://").rstrip("/").partition(":")
        storm = Storm((host, int(port)), TEXTS, expected, time.monotonic() + options.seconds)
        asyncio.run(storm.rage(options.clients, process, sizes))
    print("client | outcome | times\n---|---|---")
    for (kind, outcome), count in sorted(storm.counts.items()):
        print(f"{kind} | {outcome} | {count}")
    print("\nMB over time:", ", ".join(f"{size:.0f}" for size in sizes))
    faults = find_faults(storm, sizes, options.growth)
    print("\n".join(faults) or "nothing was lost, wrong or out of bounds")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
