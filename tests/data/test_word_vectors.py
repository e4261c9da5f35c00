"""Word vectors: from a file in either of its two forms, and from the company that words keep."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.core.special_tokens import SPECIAL_TOKENS
from seq2see.data.storage.packed import pack
from seq2see.data.tokenizers import SPACE
from seq2see.data.word_vectors import learn_vectors, read_vectors

PIECES = [*SPECIAL_TOKENS, f"{SPACE}the", "the", f"{SPACE}Cat", f"{SPACE}dog", ",", SPACE]


@pytest.mark.parametrize("header", ["", "4 2\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_both_forms_are_read(tmp_path: Path, header: str, packed: bool) -> None:
    content = f"{header}the 1 2\ncat 3 -4.5\na b 5 6\n, 0.5 1e-2\n".encode()
    file = tmp_path / "vectors.txt"
    file.write_bytes(gzip.compress(content) if packed else content)
    vectors = read_vectors(file, PIECES)
    assert vectors.known.tolist() == [False] * 4 + [True, True, True, False, True, False]
    np.testing.assert_allclose(vectors.table[4:9], [[1, 2], [1, 2], [3, -4.5], [0, 0], [0.5, 0.01]])


def test_a_word_as_it_is_written_comes_before_its_lower_case(tmp_path: Path) -> None:
    (tmp_path / "v").write_text("Cat 7 7\ncat 3 3\n")
    assert read_vectors(tmp_path / "v", PIECES).table[6].tolist() == [7, 7]


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        ("the 1 2\ncat 3\n", "line 2: each line must be a word and 2 numbers"),
        ("the 1 x\n", "line 1: a vector must consist of numbers"),
        ("bird 1 2\n", "not one word of the training text"),
    ],
)
def test_what_is_wrong_with_a_file_is_said(tmp_path: Path, content: str, sentence: str) -> None:
    (tmp_path / "v").write_text(content)
    with pytest.raises(DataError, match=sentence):
        read_vectors(tmp_path / "v", PIECES)
    with pytest.raises(DataError, match="cannot be read"):
        read_vectors(tmp_path / "none", PIECES)
    (tmp_path / "cut").write_bytes(gzip.compress(b"the 1 2\n" * 1000)[:-20])
    with pytest.raises(DataError, match="the file is damaged"):
        read_vectors(tmp_path / "cut", PIECES)


def test_words_in_the_same_company_get_near_vectors() -> None:
    """Words 4 and 5 stand between the same others, 6 elsewhere; 20 never occurs."""
    random = np.random.default_rng(1)
    near = [[random.integers(7, 12), random.integers(4, 6), random.integers(7, 12)] for _ in range(300)]
    far = [[random.integers(12, 17), 6, random.integers(12, 17)] for _ in range(150)]
    texts = pack([[int(number) for number in row] for row in near + far])
    vectors = learn_vectors(texts, vocabulary=21, size=8)
    assert vectors.table.shape == (21, 8)
    unit = vectors.table / np.linalg.norm(vectors.table, axis=1, keepdims=True).clip(1e-9)
    assert unit[4] @ unit[5] > 0.5
    assert unit[4] @ unit[6] < 0.3
    assert vectors.known.tolist() == [False] * 4 + [True] * 13 + [False] * 4
    np.testing.assert_array_equal(vectors.table, learn_vectors(texts, vocabulary=21, size=8).table)
    with pytest.raises(DataError, match="no two words are near each other"):
        learn_vectors(pack([[4], [5]]), vocabulary=21, size=8)


def test_vectors_are_the_largest_eigenvectors_of_discounted_positive_pmi() -> None:
    random = np.random.default_rng(3)
    rows = [[int(random.integers(4, 8)) + 4 * (number % 2) for _ in range(9)] + [2] for number in range(6)]
    counts = np.zeros((14, 14))
    for row in rows:
        for place, one in enumerate(row):
            for other in row[place + 1 : place + 6]:  # five words on each side
                if min(one, other) >= len(SPECIAL_TOKENS):
                    counts[one, other] += 1
                    counts[other, one] += 1
    sums = counts.sum(axis=1)
    known = sums > 0
    lesser = np.minimum(sums[:, None], sums)
    with np.errstate(divide="ignore", invalid="ignore"):
        pmi = np.log(counts * counts.sum() / np.outer(sums, sums))
    weights = np.where(counts > 0, np.maximum(pmi, 0), 0) * counts / (counts + 1) * lesser / (lesser + 1)
    values, vectors = np.linalg.eigh(weights)
    expected = vectors[:, -3:] * np.sqrt(values[-3:])
    expected *= 0.35 / expected[known].std(ddof=1)  # as widely spread as the vectors that people share
    found = learn_vectors(pack(rows), vocabulary=14, size=3)
    assert found.known.tolist() == known.tolist()
    np.testing.assert_allclose(found.table @ found.table.T, expected @ expected.T, rtol=1e-3, atol=1e-4)
