"""Shards of a large file through `seq2see predict`: joined, they are what one process writes, byte for byte."""

import gzip
import json
import os
import time
from pathlib import Path

import pytest
from reversal import write_reversals

from command import refused, seq2see

SMALL = [
    *("train.updates=4", "train.validate_every=4", "train.batch_tokens=256", "search.max_length=6"),
    *("model.encoder.size=16", "model.decoder.size=16"),
]
TEXTS = ["abc", "", "hg", "cab de", "f", "gah", "bb", "x", "dc", "ab", "ehgf"]
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run that writes texts."""
    folder = tmp_path_factory.mktemp("texts")
    data = write_reversals(folder / "pairs.tsv", 60)
    result = seq2see("train", data, *SMALL, "--out", folder / "run")
    assert result.returncode == 0, result.stderr
    return folder / "run"


@pytest.fixture(autouse=True)
def _small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Chunks of two rows and groups of three, so that a small file has many of both."""
    monkeypatch.setattr("seq2see.runs.shards.CHUNK_ROWS", 2)
    monkeypatch.setattr("seq2see.data.formats.parquet.GROUP_ROWS", 3)


def write_input(folder: Path, name: str) -> Path:
    """The texts as a file of some format, with a row that all of them can have."""
    file, pairs = folder / name, list(enumerate(TEXTS))
    if name.endswith(".parquet"):
        pyarrow = pytest.importorskip("pyarrow")
        table = pyarrow.table({"id": [7 * n for n, _ in pairs], "text": [t or None for _, t in pairs]})
        pytest.importorskip("pyarrow.parquet").write_table(table, file, row_group_size=4)
        return file
    text = {
        ".csv": "id;text;\n" + "".join(f'{n};"{t};\n{t}";\n\n' for n, t in pairs),
        ".tsv": "".join(f'"{t} ""q"""\t{n}\n' for n, t in pairs),
        ".jsonl": "".join(json.dumps({"in": {"text": t}, **({"odd": n} if n > 8 else {})}) + "\n" for n, t in pairs),
        ".txt": "".join(f"{t}\r\n" for t in TEXTS),
    }["." + name.split(".")[1]]
    content = text.encode("utf-16" if "wide" in name else "utf-8")
    file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return file


@pytest.mark.parametrize(
    ("name", "out", "options"),
    [
        ("in.txt", "out.txt", []),
        ("wide.txt.gz", "out.jsonl", ["--format", "jsonl", "--attention"]),
        ("in.csv", "out.csv", ["--fields", "text"]),
        ("in.csv.gz", "out.jsonl.gz", ["--fields", "text", "--beam", "3", "--n-best", "2"]),
        ("in.tsv", "out.tsv.gz", ["--fields", "1"]),
        ("in.jsonl", "out.csv", ["--fields", "in.text", "--prefix", "a"]),
        ("in.parquet", "out.parquet", ["--fields", "text", "--beam", "3", "--n-best", "3"]),
    ],
)
def test_shards_joined_are_what_one_process_writes(
    run: Path, tmp_path: Path, name: str, out: str, options: list[str]
) -> None:
    words = ["predict", run, write_input(tmp_path, name).name, *options]
    alone = seq2see(*words, "-o", f"alone/{out}", cwd=tmp_path)
    assert alone.returncode == 0, alone.stderr
    for number in (4, 1, 3, 2):
        result = seq2see(*words, "-o", out, "--shard", f"{number}/4", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert seq2see(*words, "-o", out, "--merge", cwd=tmp_path).returncode == 0
    assert (tmp_path / out).read_bytes() == (tmp_path / "alone" / out).read_bytes()
    parts = sorted(file.name for file in (tmp_path / f"{out}.shards").iterdir() if file.suffix != ".json")
    ending = "".join(Path(out).suffixes)
    assert parts == [f"0000{number}-of-00004{ending}" for number in range(1, 5)]


def test_more_shards_than_chunks_leave_some_empty(run: Path, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    words = ["predict", run, write_input(tmp_path, "in.parquet").name, "--fields", "text"]
    assert seq2see(*words, "-o", "alone.parquet", cwd=tmp_path).returncode == 0
    for number in range(1, 9):
        result = seq2see(*words, "-o", "out.parquet", "--shard", f"{number}/8", cwd=tmp_path)
        assert result.returncode == 0, result.stderr
    assert seq2see(*words, "-o", "out.parquet", "--merge", cwd=tmp_path).returncode == 0
    assert (tmp_path / "out.parquet").read_bytes() == (tmp_path / "alone.parquet").read_bytes()


def test_a_whole_shard_is_left_and_others_are_predicted_again(run: Path, tmp_path: Path) -> None:
    file = write_input(tmp_path, "in.txt")
    words = ["predict", run, "in.txt", "-o", "out.txt"]
    shard = tmp_path / "out.txt.shards" / "00001-of-00002.txt"
    assert "rows 1 to 6 of 11" in seq2see(*words, "--shard", "1/2", cwd=tmp_path).stderr
    content, written = shard.read_bytes(), shard.stat().st_mtime_ns
    draft = shard.with_name(f".{shard.name}.{os.getpid() + 10**6}.draft")  # of a process that was killed
    draft.write_text("half")
    time.sleep(0.01)
    assert "whole already" in seq2see(*words, "--shard", "1/2", cwd=tmp_path).stderr
    assert shard.stat().st_mtime_ns == written
    shard.write_bytes(content[:-2])  # cut short
    assert seq2see(*words, "--shard", "1/2", cwd=tmp_path).returncode == 0
    assert shard.read_bytes() == content
    assert not draft.exists()
    file.write_text(file.read_text() + "abc\n")
    assert "of another input; it is predicted again" in seq2see(*words, "--shard", "1/2", cwd=tmp_path).stderr
    assert "of other options" in seq2see(*words, "--beam", "3", "--shard", "1/2", cwd=tmp_path).stderr


def test_merging_says_which_shards_are_missing_or_foreign(run: Path, tmp_path: Path) -> None:
    file = write_input(tmp_path, "in.txt")
    words = ["predict", run, "in.txt", "-o", "out.txt"]
    assert "got none" in refused(seq2see(*words, "--merge", cwd=tmp_path))
    assert seq2see(*words, "--shard", "1/4", cwd=tmp_path).returncode == 0
    assert seq2see(*words, "--beam", "2", "--shard", "2/4", cwd=tmp_path).returncode == 0
    file.write_text(file.read_text() + "abc\n")
    assert seq2see(*words, "--shard", "3/4", cwd=tmp_path).returncode == 0
    said = refused(seq2see(*words, "--merge", cwd=tmp_path))
    assert "of another input: 1/4, 2/4; missing: 4/4" in said
    assert not (tmp_path / "out.txt").exists()
    assert seq2see(*words, "--shard", "2/3", cwd=tmp_path).returncode == 0
    assert "shards of 3 and of 4" in refused(seq2see(*words, "--merge", cwd=tmp_path))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["in.txt", "-o", "out.txt", "--shard", "0/4"], "got '0/4'"),
        (["in.txt", "-o", "out.txt", "--shard", "5/4"], "got '5/4'"),
        (["in.txt", "-o", "out.txt", "--shard", "a/b"], "such as 3/16; got 'a/b'"),
        (["in.txt", "-o", "out.txt", "--shard", "1/4", "--merge"], "one of the two"),
        (["in.txt", "--shard", "1/4"], "name the whole output with -o"),
        (["in.txt", "--merge"], "name the whole output with -o"),
        (["-", "-o", "out.txt", "--shard", "1/4"], "got standard input"),
        (["-o", "out.txt", "--shard", "1/4"], "got standard input"),
        (["in.txt", "in.txt", "-o", "out.txt", "--shard", "1/4"], "got 2 of them"),
        (["in.txt", "-o", "out.txt", "--alignments", "a.txt", "--shard", "1/4"], "leave out --alignments"),
        (["in.csv", "-o", "out.txt", "--shard", "1/4"], "--fields COLUMN"),
        (["in.csv", "-o", "out.csv", "--fields", "no", "--shard", "1/4"], "must be a column 'no'"),
        (["in.csv", "-o", "out.json", "--fields", "text", "--shard", "1/4"], "cannot be written as json"),
        (["in.csv", "-o", "out.parquet", "--fields", "text", "--shard", "1/4"], "cannot be written as parquet"),
        (["in.json", "-o", "out.jsonl", "--fields", "text", "--shard", "1/4"], "one object a line"),
    ],
)
def test_what_cannot_be_divided_is_refused(run: Path, tmp_path: Path, words: list[str], said: str) -> None:
    write_input(tmp_path, "in.txt")
    write_input(tmp_path, "in.csv")
    (tmp_path / "in.json").write_text('[{"text": "a"}]')
    assert said in refused(seq2see("predict", run, *words, cwd=tmp_path))
    assert not list(tmp_path.glob("out*/*"))
