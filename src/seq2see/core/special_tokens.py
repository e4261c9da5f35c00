"""The special tokens of every vocabulary: their ids, which are the same everywhere, and how they are written."""

from typing import Final

PAD: Final = 0  # fills a batch behind the end of a shorter sequence
START: Final = 1  # what a decoder is given before the first token
END: Final = 2  # ends every sequence
UNKNOWN: Final = 3  # replaces a piece of text that the vocabulary does not have

SPECIAL_TOKENS: Final = ("<pad>", "<s>", "</s>", "<unk>")  # the first entries of a vocabulary, by id
