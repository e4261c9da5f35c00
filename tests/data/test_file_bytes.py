"""The bytes of files: what expands to far more than real data does is refused before it fills the memory."""

import gzip
import tracemalloc
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest

from seq2see.config.load import read_yaml
from seq2see.core.errors import ConfigError, DataError
from seq2see.core.special_tokens import SPECIAL_TOKENS
from seq2see.data.formats import file_bytes
from seq2see.data.formats.file_bytes import read_bytes, read_whole
from seq2see.data.formats.parquet import read_arrow
from seq2see.data.word_vectors import read_vectors

REFUSAL = "compressed data may expand to 50 times its size"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_bytes, "MAX_SMALL_BYTES", 100_000)


def test_real_text_is_decompressed_whole_also_from_several_members(tmp_path: Path) -> None:
    text = np.random.default_rng(0).bytes(150_000).hex().encode()
    (tmp_path / "x.gz").write_bytes(gzip.compress(text[:7]) + gzip.compress(text[7:]))
    assert read_bytes(tmp_path / "x.gz") == text


@pytest.mark.parametrize("size", [100_000, 100_001])
def test_little_may_expand_to_anything_and_much_may_not(tmp_path: Path, size: int) -> None:
    (tmp_path / "x.gz").write_bytes(gzip.compress(bytes(size)))
    if size == 100_000:
        assert len(read_bytes(tmp_path / "x.gz")) == size
    else:
        with pytest.raises(DataError, match=f"x.gz: {REFUSAL}"):
            read_bytes(tmp_path / "x.gz")


@pytest.mark.parametrize("line", [b"a" * 1_000_000, b"a\tb\n" * 250_000])
def test_a_bomb_is_refused_in_bounded_memory(tmp_path: Path, line: bytes) -> None:
    with gzip.open(tmp_path / "x.tsv.gz", "wb") as bomb:
        for _ in range(100):
            bomb.write(line)
    tracemalloc.start()
    try:
        with pytest.raises(DataError, match=REFUSAL):
            read_bytes(tmp_path / "x.tsv.gz")
        assert tracemalloc.get_traced_memory()[1] < 30_000_000  # it expands to 100 MB
    finally:
        tracemalloc.stop()


def test_what_memory_does_not_hold_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(file_bytes, "_find_most_bytes", lambda: 1000)
    (tmp_path / "x").write_bytes(b"a" * 1001)
    with pytest.raises(DataError, match="x: the file must fit into memory"):
        read_bytes(tmp_path / "x")
    with pytest.raises(DataError, match="standard input: the file must fit into memory"):
        read_whole(BytesIO(b"a" * 1001), "standard input")
    assert len(read_whole(BytesIO(b"a" * 1000), "standard input")) == 1000


@pytest.mark.parametrize("nested", [False, True])
def test_parquet_with_one_long_text_in_every_row_is_refused(tmp_path: Path, nested: bool) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    def write(text: str) -> Path:
        table = pyarrow.table({"source": [[text] if nested else text] * 5000, "target": [None, *["b"] * 4999]})
        parquet.write_table(table, tmp_path / "x.parquet")
        return tmp_path / "x.parquet"

    assert read_arrow(write("a" * 5)).num_columns == 2
    with pytest.raises(DataError, match=f"x.parquet: {REFUSAL}"):
        read_arrow(write("a" * 3000))


def test_parquet_of_many_equal_numbers_is_refused(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"source": [7] * 100_000, "target": ["b"] * 100_000}), tmp_path / "x.parquet")
    with pytest.raises(DataError, match=f"x.parquet: {REFUSAL}"):
        read_arrow(tmp_path / "x.parquet")


def test_a_line_of_vectors_has_an_end(tmp_path: Path) -> None:
    (tmp_path / "v.gz").write_bytes(gzip.compress(b"the 1 2\n" + b"1 " * 600_000))
    with pytest.raises(DataError, match=r"v.gz, line 2: a line must have less than a million bytes"):
        read_vectors(tmp_path / "v.gz", [*SPECIAL_TOKENS, "the"])


def test_a_link_to_nowhere_is_called_so(tmp_path: Path) -> None:
    (tmp_path / "x.tsv").symlink_to("nowhere")
    with pytest.raises(DataError, match=r"x\.tsv: this is a link to a file that is not there"):
        read_bytes(tmp_path / "x.tsv")
    with pytest.raises(ConfigError, match=r"x\.tsv: this is a link to a file that is not there"):
        read_yaml(tmp_path / "x.tsv")
