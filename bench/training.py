"""Training speed of presets on your data: python bench/training.py --preset bahdanau2015 --preset luong2015 pairs.tsv

Prints target tokens/s (without padding), padding on each side, the share of time the batches take to make, and peak
memory, each preset in a process of its own. Features of images are computed before, if they are not in the cache.
"""

import argparse
import multiprocessing
import platform
import resource
import time
from pathlib import Path
from typing import Any

import torch

import seq2see
from seq2see.config.load import load_config
from seq2see.data.batch import collate, measure_padding, plan_batches
from seq2see.data.formats.read import read_pairs
from seq2see.data.pairs import Origin
from seq2see.data.storage.dataset import cache_folder, prepare
from seq2see.objectives.hard_attention import HardAttention
from seq2see.objectives.likelihood import Likelihood
from seq2see.tasks.transduction import Transduction
from seq2see.training.plan import decide


def measure(preset: str, files: list[Path], settings: list[str], updates: int) -> list[str]:
    """One row of the table."""
    pairs, _ = read_pairs(Origin(files[0], files[1] if len(files) > 1 else None))
    decision = decide(pairs, preset=preset)
    config = load_config(base={**decision.base, "data": {"train": str(files[0])}}, settings=settings).config
    task = Transduction.learn(config, pairs)
    model: Any = task.build(config).train()
    limit, cache = config.data.max_tokens, cache_folder()
    store = prepare(pairs, task.source, task.target, max_tokens=limit, cache=cache, encoder=model.encoder)
    store.source.fill(training=False)
    objective = Likelihood(terms=[HardAttention()])
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, fused=True)
    lengths = store.source.lengths, store.target.lengths
    plan = plan_batches(*lengths, budget=config.train.batch_tokens, seed=1, epoch=0)
    tokens, loading, began = 0, 0.0, 0.0
    for number, rows in enumerate(plan[: updates + 3]):
        if number == 3:  # the first ones warm up
            tokens, loading, began = 0, 0.0, time.perf_counter()
        start = time.perf_counter()
        batch = collate(store, rows)
        loading += time.perf_counter() - start
        loss = objective(model, batch, 1)
        (loss.total / loss.tokens).backward()
        optimizer.step()
        optimizer.zero_grad()
        tokens += loss.tokens
    seconds = time.perf_counter() - began
    padding = [f"{measure_padding(plan, side):.1%}" for side in lengths]
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return [preset, f"{tokens / seconds:,.0f}", *padding, f"{loading / seconds:.1%}", f"{memory:,.0f}"]


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("words", nargs="+", help="one data file, or source and target file, then key=value settings")
    parser.add_argument("--preset", action="append", required=True)
    parser.add_argument("--updates", type=int, default=40)
    arguments = parser.parse_args()
    files = [Path(word) for word in arguments.words if "=" not in word]
    settings = [word for word in arguments.words if "=" in word]
    versions = f"seq2see {seq2see.__version__}, torch {torch.__version__}, Python {platform.python_version()}"
    print(f"{versions}, {torch.get_num_threads()} threads, {' '.join(settings) or 'no settings'}\n")
    print(
        "| preset | target tokens/s | source padding | target padding | loader | peak MiB |\n|---|---|---|---|---|---|"
    )
    for preset in arguments.preset:
        with multiprocessing.get_context("spawn").Pool(1) as pool:
            row = pool.apply(measure, (preset, files, settings, arguments.updates))
        print(f"| {' | '.join(row)} |", flush=True)


if __name__ == "__main__":
    main()
