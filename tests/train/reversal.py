"""Reversed strings: a job small enough to train inside a test."""

import random
from pathlib import Path
from typing import Any

import yaml

from seq2see.config.load import load_config
from seq2see.config.schema import Config
from seq2see.data.checks.data_doctor import examine
from seq2see.runs.data_files import origins
from seq2see.runs.folder import RunFolder
from seq2see.training.begun_run import holds_run
from seq2see.training.job import Job
from seq2see.training.prepare import open_folder, prepare_job

SMALL = {"encoder": {"size": 16, "embedding_size": 8}, "decoder": {"size": 16, "embedding_size": 8}}


def write_reversals(file: Path, count: int = 64, *, seed: int = 1) -> Path:
    """`count` different strings of three to seven letters, each with its reverse."""
    draw = random.Random(seed)
    words: set[str] = set()
    while len(words) < count:
        words.add("".join(draw.choice("abcdefgh") for _ in range(draw.randint(3, 7))))
    file.write_text("".join(f"{word}\t{word[::-1]}\n" for word in sorted(words)))
    return file


def configure(data: Path, **sections: Any) -> Config:
    """A small configuration that trains on all pairs and checks on the same ones."""
    base = {"preset": "bahdanau2015", "model": SMALL, "data": {"train": str(data), "valid": str(data)}}
    train = {"updates": 12, "batch_tokens": 64, "validate_every": 4, "validation_pairs": 8}
    model = sections.pop("model", SMALL)
    preset = sections.pop("preset", "bahdanau2015")
    base |= {name: sections.pop(name) for name in ("tokens", "init") if name in sections}
    return load_config(base={**base, "preset": preset, "model": model, "train": {**train, **sections}}).config


def start(config: Config, out: Path) -> Job:
    """A job in a run folder, new or old."""
    folder = RunFolder(out)
    again = holds_run(folder, config)
    job = prepare_job(config, folder, examine(origins(config)), near=[])
    if not again:
        open_folder(job, yaml.safe_dump(config.model_dump(mode="json"), explicit_end=True))
    return job
