"""The letters of all axes, as shapes in annotations and docstrings use them.

A letter has one meaning in one annotation. Some have further meanings in other modules, which come after the semicolon.
jaxtyping's signs may come before a name: `*b` are several axes, `#b` is one that may be 1, `_` is any size.
"""

from typing import Final

AXES: Final[dict[str, str]] = {
    "b": "sources of a batch",
    "c": "labels of a classifier; candidates of a beam search, cached positions, colour channels",
    "d": "channels",
    "e": "channels of embeddings",
    "f": "channels of the context that enters a decoder's input",
    "g": "channels of all gates of a cell",
    "h": "attention heads; rows of a figure in pixels",
    "i": "channels of an input",
    "k": "channels of keys",
    "l": "layers",
    "m": "channels of a memory",
    "n": "hypotheses; rows of anything that is counted",
    "o": "channels of an output",
    "p": "positions of a ragged batch end to end; tokens of a prefix",
    "q": "channels of queries",
    "r": "channels of everything that the heads of a Neural Turing Machine read",
    "s": "source positions; rows of a Neural Turing Machine's memory",
    "t": "target positions",
    "u": "sentences of a document; rows of a grid of features",
    "v": "entries of a vocabulary; columns of a grid of features",
    "w": "words of a sentence; positions inside a window, columns of a machine's memory",
    "x": "columns of an image",
    "y": "rows of an image",
    "grams": "n-grams of a fixed length, of all symbols",
    "length": "ids of one sequence",
    "n_plus_1": "bounds of n sequences",
    "shape": "any axes, the same on both sides",
    "some": "any number of ids",
    "total": "ids of all sequences end to end",
}
