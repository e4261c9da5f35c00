"""How memory and time grow: python bench/growth.py [--only attention decoding local]

attention  the encoder of a Transformer on ever longer sources: linear memory without a trace, quadratic under a
           trace
decoding   a batch of short and long outputs: the rows that are computed are the tokens that are written, not
           sources times the longest output
local      additive attention of one step on ever longer memories, to the whole memory and to a window

Memory is what a fresh process needs at the highest above what it had before (Linux). Where the length doubles from row
to row, a factor of 2 is linear and one of 4 is quadratic.
"""

import argparse
import inspect
import multiprocessing
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

import seq2see
from seq2see.core.registry import Part, part
from seq2see.core.trace import tracing
from seq2see.nn.attend import Attend
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.hypothesis import Limits

LENGTHS = (256, 512, 1024, 2048, 4096)
VOCABULARY, START, END = 1000, 1, 2


def encode(length: int) -> Callable[[], Any]:
    """One source through two layers."""
    encoder = part("encoder", {"kind": "transformer", "size": 64, "layers": 2, "heads": 4})(vocabulary=VOCABULARY)
    tokens = torch.randint(4, VOCABULARY, (1, length))
    return lambda: encoder.eval()(tokens, torch.ones_like(tokens, dtype=torch.bool))


def encode_traced(length: int) -> Callable[[], Any]:
    """The same under a trace of its attention."""
    call, model = encode(length), torch.nn.Identity()

    def look() -> Any:
        with tracing(model) as trace:
            return call(), trace

    return look


def attend_to_all(length: int) -> Callable[[], Any]:
    """One step of 16 targets that look at their whole sources."""
    return _attend(length, {})


def attend_to_window(length: int) -> Callable[[], Any]:
    """One step of 16 targets that look at the 21 keys around their own place."""
    window = Part("window", "local-m", {"radius": 10})
    return _attend(length, {"window": window(query_size=64)}, torch.full((16, 1), length // 2))


def _attend(length: int, options: dict[str, Any], *positions: Tensor) -> Callable[[], Any]:
    score = Part("score", "additive")(query_size=64, key_size=64)
    attend = Attend(score=score, normalise=Part("normalise", "softmax")(), **options)
    query, values = torch.randn(16, 1, 1, 64), torch.randn(16, 1, length, 64)
    keys, mask = attend.prepare(values).detach(), torch.ones(16, 1, 1, length, dtype=torch.bool)
    named = {"positions": positions[0]} if positions else {}
    return lambda: attend(query, keys, values, mask, **named)


@torch.no_grad()
def weigh(make: Callable[[int], Callable[[], Any]], length: int) -> tuple[float, float]:
    """Highest MiB above what was there before, and milliseconds, of one call."""
    make(8)()  # loads what torch loads late
    call = make(length)
    Path("/proc/self/clear_refs").write_text("5")  # the highest is now what there is
    before = _status("VmRSS")
    call()
    highest, times = _status("VmHWM") - before, []
    for _ in range(5):
        began = time.perf_counter()
        call()
        times.append(time.perf_counter() - began)
    return highest, 1000 * min(times)


def _status(key: str) -> float:
    return int(Path("/proc/self/status").read_text().partition(f"{key}:")[2].split()[0]) / 1024


def print_growth(cases: dict[str, Callable[[int], Callable[[], Any]]]) -> None:
    """A row for each length, two columns for each case, with the factor to the row before."""
    print(f"| length | {' | '.join(f'{name}, MiB | ms' for name in cases)} |\n|{'---|' * (1 + 2 * len(cases))}")
    before: dict[tuple[str, int], float] = {}
    for length in LENGTHS:
        cells = [f"{length:,}"]
        for name, make in cases.items():
            with multiprocessing.get_context("spawn").Pool(1) as pool:
                found = pool.apply(weigh, (make, length))
            for place, value in enumerate(found):
                last = before.get((name, place), 0.0)
                cells.append(f"{value:.2f}" + (f" (x{value / last:.1f})" if last > 0.01 else ""))
                before[name, place] = value
        print(f"| {' | '.join(cells)} |", flush=True)


def show_attention() -> None:
    """Self-attention of a Transformer."""
    print_growth({"without a trace": encode, "under a trace": encode_traced})


def show_local() -> None:
    """Attention inside a window."""
    if "window" not in inspect.signature(Attend).parameters:
        print("skipped: this version has no windows.")
        return
    print_growth({"whole memory": attend_to_all, "window of 21": attend_to_window})


@torch.inference_mode()
def show_decoding(sources: int = 64, short: int = 5, long: int = 80) -> None:
    """Rows given to the decoder's step, for ever more sources that end early."""
    halves = {"size": 64, "layers": 2}
    encoder = part("encoder", {"kind": "transformer", **halves})(vocabulary=VOCABULARY).eval()
    decoder = part("decoder", {"kind": "transformer", **halves})(vocabulary=VOCABULARY, memory_size=64).eval()
    tokens = torch.randint(4, VOCABULARY, (sources, 12))
    memory = encoder(tokens, torch.ones_like(tokens, dtype=torch.bool))
    heads = ["search", f"of {sources} outputs end early", "tokens", "rows computed", "rows if none left", "ms"]
    print(f"| {' | '.join(heads)} |\n|{'---|' * len(heads)}")
    for search in (Greedy(), Beam(width=5)):
        for early in (0, sources // 2, sources - 4):
            longest = torch.tensor([short] * early + [long] * (sources - early))
            rows: list[int] = []

            def step(tokens: Tensor, *rest: Any, rows: list[int] = rows) -> Any:
                rows.append(len(tokens))
                return decoder.step(tokens, *rest)

            fixed, state = decoder.begin(memory)
            began = time.perf_counter()
            search(step, state, fixed, Limits(START, END, longest=longest, banned=(END,)))
            counts = [early, int(longest.sum()), sum(rows), sources * search.width * long]
            cells = [type(search).__name__.lower(), *(f"{count:,}" for count in counts)]
            print(f"| {' | '.join(cells)} | {1000 * (time.perf_counter() - began):,.0f} |")


SECTIONS = {"attention": show_attention, "decoding": show_decoding, "local": show_local}


def main() -> None:
    """Print the tables that are asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=tuple(SECTIONS), default=list(SECTIONS))
    arguments = parser.parse_args()
    torch.manual_seed(1)
    versions = f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{versions}, {torch.get_num_threads()} threads")
    for name in arguments.only:
        print(f"\n### {name}\n")
        SECTIONS[name]()


if __name__ == "__main__":
    main()
