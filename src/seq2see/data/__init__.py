"""Data: reading files, checking them, turning them into token ids, and batching them.

`pairs`, `split`, `batch` and the tokenizers are public; the sub-packages say what is theirs. It never imports models.
"""

__all__ = [
    "batch",
    "checks",
    "formats",
    "modalities",
    "pairs",
    "sentence_splitter",
    "split",
    "storage",
    "synthetic",
    "tokenizer_file",
    "tokenizers",
    "trainable_tokenizers",
    "word_vectors",
]
