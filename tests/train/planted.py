"""Documents whose label depends on one planted sentence: a job small enough to train inside a test."""

import json
import random
from pathlib import Path
from typing import Any

from seq2see.config.load import load_config
from seq2see.config.schema import Config

SENTENCES = {"good": "The gold is real.", "bad": "The mud is deep."}
FILLING = ["It rains.", "A dog runs by.", "We eat at noon.", "The bus is late.", "They sing a song."]
TINY = {"kind": "han", "size": 8, "embedding_size": 8, "dropout": 0.0, "word_dropout": 0.0}


def write_planted(file: Path, count: int = 64, *, labels: dict[str, str] | None = None, seed: int = 1) -> Path:
    """`count` documents of four to six sentences, one of which tells the label."""
    draw, rows = random.Random(seed), []
    planted = labels or SENTENCES
    for number in range(count):
        label = list(planted)[number % len(planted)]
        sentences = [draw.choice(FILLING) for _ in range(draw.randint(3, 5))]
        sentences.insert(draw.randint(0, len(sentences)), planted[label])
        rows.append({"text": " ".join(sentences), "label": label})
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return file


def configure_planted(data: Path, **sections: Any) -> Config:
    """A tiny hierarchical network that trains on all documents and checks on the same ones."""
    train = {"updates": 20, "batch_tokens": 512, "validate_every": 20, "validation_pairs": 8, "learning_rate": 0.02}
    train |= {"schedule": "constant", "average_checkpoints": 0, "label_smoothing": 0.0}
    tokens = {"source": {"kind": "documents", "words": {"min_count": 1}}}
    model = sections.pop("model", {"encoder": TINY})
    base = {"preset": "han2016", "data": {"train": str(data), "valid": str(data)}}
    base |= {
        "tokens": sections.pop("tokens", tokens),
        "model": model,
        "init": sections.pop("init", {"embeddings": None}),
    }
    return load_config(base={**base, "train": {**train, **sections}}).config
