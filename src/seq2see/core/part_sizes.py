"""The sizes that follow from the surroundings of a part, by group: a constructor names those of them that it needs."""

SIZES: dict[str, frozenset[str]] = {
    "score": frozenset({"query_size", "key_size"}),
    "normalise": frozenset(),
    "window": frozenset({"query_size", "key_size"}),
    "position": frozenset({"size"}),
    "cell": frozenset({"input_size", "size"}),
    "reader": frozenset({"size", "memory_size", "embedding_size", "layers", "dropout"}),
    "initial_state": frozenset({"parts", "size", "memory_size", "embedding_size", "layers"}),
    "encoder": frozenset({"vocabulary", "image_size"}),
    "pool": frozenset({"size"}),
    "decoder": frozenset({"vocabulary", "memory_size"}),
    "schedule": frozenset({"updates", "size"}),
}
