"""Pretrained word vectors: copied into the encoder's embeddings before the first update."""

from pathlib import Path
from typing import Any

import torch

from seq2see.config.schema import Config
from seq2see.core.errors import ConfigError
from seq2see.data.storage.dataset import Store
from seq2see.data.tokenizers import Tokenizer
from seq2see.data.word_vectors import Vectors, learn_vectors, read_vectors

PATH = ("init", "embeddings")
TEXT = "train"  # instead of a file: learn them from the training text


@torch.no_grad()
def lay_vectors(task: Any, model: Any, config: Config, store: Store) -> list[str]:
    """Copy word vectors into the embeddings of the encoder, where the configuration wants some.

    Words without a vector get random ones with the same standard deviation.

    Args:
        task: the task, whose source tokenizer has the words.
        model: the model, whose encoder must have embeddings.
        config: the configuration, whose init.embeddings is a file of vectors, or `train` to learn them from the
            training text.
        store: the training data.

    Returns:
        A sentence about how many words have a vector; nothing if no vectors are wanted.
    """
    wanted = config.init.embeddings if config.init is not None else None
    if wanted is None:
        return []
    table: Any = getattr(model.encoder, "embed", None)
    words = task.source.tokenizer
    if words is None or not hasattr(table, "scale"):
        raise ConfigError("init.embeddings needs an encoder of words; leave it out.", path=PATH)
    vectors = _make(wanted, words, store, size=table.weight.shape[1])
    known = torch.from_numpy(vectors.known)
    # a word without a vector begins like one that has one, in a direction of its own
    deviation = float(vectors.table[vectors.known].std())
    laid = (torch.from_numpy(vectors.table) / table.scale).to(table.weight)
    there = known.unsqueeze(1).to(table.weight.device)
    table.weight.copy_(torch.where(there, laid, table.weight * deviation))
    source = "learned from the training text" if wanted == TEXT else f"from {wanted}"
    return [f"embeddings {source}: {int(known.sum()):,} of {len(known):,} words"]


def _make(wanted: str, words: Tokenizer, store: Store, *, size: int) -> Vectors:
    if wanted == TEXT:
        texts = store.source.token_sequences
        if texts is None:
            raise ConfigError("init.embeddings=train needs sources of words; leave it out.", path=PATH)
        return learn_vectors(texts, vocabulary=len(words), size=size)
    vectors = read_vectors(Path(wanted), words.pieces)
    if vectors.table.shape[1] != size:
        raise ConfigError(
            f"init.embeddings has vectors of {vectors.table.shape[1]} numbers and the model of {size}; set "
            f"model.encoder.embedding_size to {vectors.table.shape[1]}.",
            path=PATH,
        )
    return vectors
