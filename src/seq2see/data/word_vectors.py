"""Word vectors: read from a file as others share them, or learned from the text at hand."""

import gzip
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor

from seq2see.core.errors import DataError
from seq2see.core.special_tokens import SPECIAL_TOKENS
from seq2see.data.storage.packed import Sequences
from seq2see.data.tokenizers import SPACE

WINDOW = 5  # words on each side that count as context
MAX_LINE_BYTES = 1_000_000  # of a file of vectors, which is read line by line
READ = 10_000_000  # words of a text that are enough to learn from
EXTRA = 16  # dimensions that are computed beside the wanted ones, so that the last of those are right too
ROUNDS = 4  # of the iteration that finds the dimensions
DEVIATION = 0.35  # of the learned numbers, about that of the vectors that people share


@dataclass(frozen=True)
class Vectors:
    """A vector for each entry of a vocabulary.

    Args:
        table: the vectors `[v d]`; those of words that are not known are zero, or close to it.
        known: True for each entry that has a vector, `[v]`.
    """

    table: Float32[np.ndarray, "v d"]
    known: Bool[np.ndarray, " v"]


def read_vectors(file: Path, pieces: Sequence[str]) -> Vectors:
    """Read the vectors of words from a text file of word2vec or GloVe.

    A word that the file does not have as it is written may take the vector of its lower-case form.

    Args:
        file: lines of a word and its numbers, with or without word2vec's first line; it may be compressed with gzip.
        pieces: the text of each id, with the mark of the space before a word (`Tokenizer.pieces`); special tokens get
            no vector.

    Raises:
        DataError: the file cannot be read, has a line of another form, or has none of the words.
    """
    wanted, lower = _index(pieces), _index([piece.lower() for piece in pieces])
    found: dict[int, list[float]] = {}
    exact: set[int] = set()
    for word, numbers in _read_lines(file, wanted.keys() | lower.keys()):
        for number in wanted.get(word, ()):
            found[number] = numbers
            exact.add(number)
        found |= {number: numbers for number in lower.get(word, ()) if number not in exact}
    if not found:
        raise DataError("not one word of the training text has a vector in this file; give another.", file=file)
    table = np.zeros((len(pieces), len(next(iter(found.values())))), dtype=np.float32)
    known = np.zeros(len(pieces), dtype=bool)
    table[list(found)], known[list(found)] = list(found.values()), True
    return Vectors(table, known)


def learn_vectors(texts: Sequences, *, vocabulary: int, size: int) -> Vectors:
    """Learn word vectors from the words near each word: eigenvectors of positive pointwise mutual information (PMI).

    M[a, b] = max(0, log(p(a, b) / (p(a) p(b)))), where p(a, b) is the share of pairs at most 5 words apart that are a
    and b, and p(a) the share of a in them. A vector is a row of U sqrt(L), where L has the largest eigenvalues of M and
    U their eigenvectors (Levy & Goldberg 2014, section 4); rare pairs are discounted as in Pantel & Lin 2002. No
    network is trained, so it takes seconds.

    Args:
        texts: the ids of the training texts, of which the first 10 million are read; pairs with special tokens do not
            count.
        vocabulary: the number of entries of the vocabulary.
        size: the number of channels of a vector.

    Raises:
        DataError: no two words are near each other in the texts.
    """
    matrix, known = _weigh_pairs(texts, vocabulary)
    width = min(size + EXTRA, vocabulary)
    generator = torch.Generator().manual_seed(0)
    basis = torch.linalg.qr(torch.randn(vocabulary, width, generator=generator))[0]
    for _ in range(ROUNDS):
        basis = torch.linalg.qr(matrix @ basis)[0]
    values, turns = torch.linalg.eigh(basis.T @ (matrix @ basis))
    order = values.argsort(descending=True)[:size]
    table = (basis @ turns[:, order]) * values[order].clamp(min=0).sqrt()
    table = torch.nn.functional.pad(table, (0, size - table.shape[1]))
    scale = DEVIATION / max(float(table[torch.from_numpy(known)].std()), 1e-9)
    return Vectors((table * scale).numpy(), known)


def _index(pieces: Sequence[str]) -> dict[str, list[int]]:
    """Return the ids of each word, without the mark of the space before it."""
    places: dict[str, list[int]] = {}
    for number, piece in enumerate(pieces):
        if number >= len(SPECIAL_TOKENS) and piece.strip(SPACE):
            places.setdefault(piece.strip(SPACE), []).append(number)
    return places


def _read_lines(file: Path, wanted: set[str]) -> Iterator[tuple[str, list[float]]]:
    """Yield the wanted words with their numbers, which are counted from the end because a word may hold spaces."""
    size = 0
    try:
        with file.open("rb") as lines:
            packed = lines.read(2) == b"\x1f\x8b"
        with gzip.open(file, "rb") if packed else file.open("rb") as lines:
            for number, raw in enumerate(iter(lambda: lines.readline(MAX_LINE_BYTES), b""), 1):
                if len(raw) == MAX_LINE_BYTES:
                    raise DataError("a line must have less than a million bytes.", file=file, line=number)
                cells = raw.decode("utf-8", errors="replace").split()
                if number == 1 and len(cells) == 2:
                    continue  # word2vec says first how many there are
                size = size or len(cells) - 1
                word = " ".join(cells[:-size]) if size else ""
                if len(cells) <= size or not size:
                    raise DataError(f"each line must be a word and {max(size, 1)} numbers.", file=file, line=number)
                if word in wanted:
                    yield word, [float(cell) for cell in cells[-size:]]
    except ValueError:
        raise DataError("a vector must consist of numbers; fix the line.", file=file, line=number) from None
    except (EOFError, zlib.error) as error:
        raise DataError(f"the file is damaged: {error}; pack or copy it again.", file=file) from error
    except OSError as error:
        raise DataError(f"the file cannot be read: {error.strerror or error}; check the path.", file=file) from error


def _weigh_pairs(texts: Sequences, vocabulary: int) -> tuple[Tensor, Bool[np.ndarray, " v"]]:
    """Return the discounted positive PMI of all pairs of near words as a sparse symmetric matrix, and which words have
    pairs.
    """
    left, right, counts = _count_pairs(texts, vocabulary)
    sums = np.bincount(left, counts, minlength=vocabulary)
    lesser = np.minimum(sums[left], sums[right])
    discount = counts / (counts + 1) * lesser / (lesser + 1)
    weights = np.maximum(np.log(counts * sums.sum() / (sums[left] * sums[right])), 0) * discount
    kept = weights > 0
    places = torch.from_numpy(np.stack([left[kept], right[kept]]))
    values = torch.from_numpy(weights[kept].astype(np.float32))
    shape = (vocabulary, vocabulary)
    matrix = torch.sparse_coo_tensor(places, values, shape, check_invariants=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch calls its quicker layout a beta
        return matrix.to_sparse_csr(), sums > 0


def _count_pairs(
    texts: Sequences, vocabulary: int
) -> tuple[Int64[np.ndarray, " n"], Int64[np.ndarray, " n"], Float[np.ndarray, " n"]]:
    """Count how often two words are at most a window apart in one text, in both orders; special tokens are left out."""
    ids = np.asarray(texts.ids[:READ], dtype=np.int64)
    row = np.repeat(np.arange(len(texts)), texts.lengths)[:READ]
    keys = []
    for distance in range(1, min(WINDOW, len(ids) - 1) + 1):
        first, second = ids[:-distance], ids[distance:]
        near = (row[:-distance] == row[distance:]) & (np.minimum(first, second) >= len(SPECIAL_TOKENS))
        keys += [first[near] * vocabulary + second[near], second[near] * vocabulary + first[near]]
    if not sum(map(len, keys)):
        raise DataError(
            "no two words are near each other in the training text, so there are no vectors to learn; leave out "
            "init.embeddings."
        )
    pairs, counts = np.unique(np.concatenate(keys), return_counts=True)
    return pairs // vocabulary, pairs % vocabulary, counts.astype(np.float64)
