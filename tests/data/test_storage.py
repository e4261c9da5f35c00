"""The store: made once for the same content, made again when it is damaged, and by several processes at once."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from seq2see.core.errors import DataError
from seq2see.core.special_tokens import END
from seq2see.data.modalities.image import ImageModality
from seq2see.data.modalities.text import TextModality
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import Store, cache_folder, prepare
from seq2see.data.storage.packed import pack
from seq2see.data.tokenizers import Tokenizer
from seq2see.data.trainable_tokenizers import Characters

PAIRS = Pairs(["ab", "b", "abab"], ["b", "bb", "a"], [1, 2, 3])


@pytest.fixture
def tokenizer() -> Tokenizer:
    return Characters().learn(["ab"])  # a: 4, b: 5


def make(pairs: Pairs, tokenizer: Tokenizer, cache: Path, max_tokens: int = 10) -> Store:
    return prepare(pairs, TextModality(tokenizer), tokenizer, max_tokens=max_tokens, cache=cache)


def read(store: Store) -> list[tuple[list[int], list[int]]]:
    return [(store.source[row].tolist(), store.target[row].tolist()) for row in range(len(store))]


EXPECTED = [([4, 5, END], [5, END]), ([5, END], [5, 5, END]), ([4, 5, 4, 5, END], [4, END])]


def test_ids_are_read_through_memory_maps(tmp_path: Path, tokenizer: Tokenizer) -> None:
    store = make(PAIRS, tokenizer, tmp_path)
    assert read(store) == EXPECTED
    assert isinstance(store.source.ids, np.memmap)
    assert store.source.lengths.tolist() == [3, 2, 5]
    assert not list(tmp_path.glob(".*.draft"))


def test_the_same_content_is_not_tokenised_again(
    tmp_path: Path, tokenizer: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = make(PAIRS, tokenizer, tmp_path)
    with monkeypatch.context() as patched:
        patched.setattr(Tokenizer, "ids", lambda *_: pytest.fail("tokenised again"))
        again = make(PAIRS, Tokenizer.from_json(tokenizer.to_json()), tmp_path)
    assert again.fingerprint == first.fingerprint
    assert read(again) == EXPECTED


def test_other_content_has_another_fingerprint(tmp_path: Path, tokenizer: Tokenizer) -> None:
    stores = [
        make(PAIRS, tokenizer, tmp_path),
        make(PAIRS, tokenizer, tmp_path, max_tokens=9),
        make(PAIRS, Characters().learn(["abc"]), tmp_path),
        make(Pairs(["ab", "b", "abaa"], PAIRS.target), tokenizer, tmp_path),
        make(Pairs(PAIRS.target, PAIRS.source), tokenizer, tmp_path),
        make(Pairs(["a", "b\0b"], ["a", "b"]), tokenizer, tmp_path),
        make(Pairs(["a\0b", "b"], ["a", "b"]), tokenizer, tmp_path),
        make(Pairs(["ab", "a"], ["b", "b"]), tokenizer, tmp_path),  # the same letters, cut elsewhere
        make(Pairs(["a", "ba"], ["b", "b"]), tokenizer, tmp_path),
        make(Pairs(["a b", "b"], ["b", "b"]), tokenizer, tmp_path),
        make(Pairs(["a", "b b"], ["b", "b"]), tokenizer, tmp_path),
    ]
    assert len({store.fingerprint for store in stores}) == len(stores)


def test_long_pairs_are_left_out_and_counted(tmp_path: Path, tokenizer: Tokenizer) -> None:
    store = make(PAIRS, tokenizer, tmp_path, max_tokens=3)
    assert read(store) == EXPECTED[:2]
    assert store.left_out == 1
    with pytest.raises(DataError, match=r"all 3 pairs are longer than 1 tokens; raise data.max_tokens"):
        make(PAIRS, tokenizer, tmp_path, max_tokens=1)


def test_of_captions_some_must_be_short_enough(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with pytest.raises(DataError, match=r"all 3 pairs are longer than 1 tokens; raise data.max_tokens"):
        prepare(PAIRS, ImageModality(), tokenizer, max_tokens=1, cache=tmp_path)


NAMES = ["source.ids.npy", "source.bounds.npy", "target.ids.npy", "target.bounds.npy", "info.json"]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("damage", ["cut", "empty", "missing", "other"])
def test_a_damaged_cache_is_made_again(tmp_path: Path, tokenizer: Tokenizer, name: str, damage: str) -> None:
    file = tmp_path / make(PAIRS, tokenizer, tmp_path).fingerprint / name
    content = file.read_bytes()
    file.unlink()
    if damage != "missing":
        file.write_bytes({"cut": content[:-6], "empty": b"", "other": b"[1, 2]"}[damage])
    assert read(make(PAIRS, tokenizer, tmp_path)) == EXPECTED
    assert file.read_bytes() == content
    assert [path.name for path in tmp_path.iterdir()] == [file.parent.name]


@pytest.mark.parametrize("name", [*NAMES, "checksums.txt"])
def test_every_flipped_bit_is_noticed_and_told_in_one_line(
    tmp_path: Path, tokenizer: Tokenizer, name: str, caplog: pytest.LogCaptureFixture
) -> None:
    """Also one that leaves valid ids, or valid bounds."""
    file = tmp_path / make(PAIRS, tokenizer, tmp_path).fingerprint / name
    content = file.read_bytes()
    for place in range(0, len(content), 3):
        caplog.clear()
        file.write_bytes(bytes([*content[:place], content[place] ^ 1 << place % 8, *content[place + 1 :]]))
        assert read(make(PAIRS, tokenizer, tmp_path)) == EXPECTED
        assert file.read_bytes() == content
        assert [record.getMessage() for record in caplog.records] == [
            f"{file.parent}: the prepared data was damaged, or made by an earlier version; it is made again."
        ]


def test_drafts_of_processes_that_were_killed_are_removed(tmp_path: Path, tokenizer: Tokenizer) -> None:
    with subprocess.Popen([sys.executable, "-c", ""]) as ended:
        pass
    names = [f".abc.xyz.{ended.pid}.draft", f".abc.xyz.{os.getppid()}.draft", ".draft", ".mine.draft"]
    for name in names:
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").touch()
    store = make(PAIRS, tokenizer, tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {store.fingerprint, *names[1:]}


def test_arrays_that_do_not_fit_are_made_again(tmp_path: Path, tokenizer: Tokenizer) -> None:
    folder = tmp_path / make(PAIRS, tokenizer, tmp_path).fingerprint
    for name, array in [
        ("source.bounds.npy", np.array([0, 5, 3, 10])),
        ("source.bounds.npy", np.array([0, 10])),
        ("source.bounds.npy", np.array([0, 3, 5, 11])),
        ("source.bounds.npy", np.array([1, 3, 5, 10])),
        ("source.ids.npy", np.zeros(10)),
    ]:
        np.save(folder / name, array)
        assert read(make(PAIRS, tokenizer, tmp_path)) == EXPECTED


def test_a_cache_that_cannot_be_written_is_one_sentence(tmp_path: Path, tokenizer: Tokenizer) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(DataError, match=r"cannot be written: .*; set SEQ2SEE_CACHE\."):
        make(PAIRS, tokenizer, tmp_path / "file")


def test_where_the_cache_is(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SEQ2SEE_CACHE", str(tmp_path))
    assert cache_folder() == tmp_path
    monkeypatch.setenv("SEQ2SEE_CACHE", "")
    monkeypatch.setenv("XDG_CACHE_HOME", "")  # set but empty means not set
    assert cache_folder() == Path.home() / ".cache" / "seq2see"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "seq2see"


RACE = """
import sys
from pathlib import Path
from seq2see.data.pairs import Pairs
from seq2see.data.storage.dataset import prepare
from seq2see.data.modalities.text import TextModality
from seq2see.data.trainable_tokenizers import Characters

tokenizer = Characters().learn(["ab"])
for _ in range(2):
    print("ready", flush=True)
    sys.stdin.readline()
    for number in range(60):
        pairs = Pairs(["ab" * n for n in range(1, 9)], [str(number)] * 8)
        store = prepare(pairs, TextModality(tokenizer), tokenizer, max_tokens=99, cache=Path(sys.argv[1]))
        assert store.source[7].tolist() == [4, 5] * 8 + [2]
"""


def test_processes_that_prepare_the_same_data_do_not_clash(tmp_path: Path) -> None:
    """Both begin at the same moment, with nothing there, and then with what is damaged."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    command = [sys.executable, "-c", RACE, str(tmp_path)]
    processes = [subprocess.Popen(command, text=True, **pipes) for _ in range(2)]
    for _ in range(2):
        for process in processes:
            assert process.stdout.readline() == "ready\n", process.communicate()
        for file in tmp_path.glob("*/info.json"):
            file.write_text("")
        for process in processes:
            process.stdin.write("go\n")
            process.stdin.flush()
    errors = [process.communicate(timeout=60)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], errors
    assert len(list(tmp_path.iterdir())) == 60  # and no drafts


def test_packing_keeps_every_row() -> None:
    packed = pack([[1, 2], [], [3]])
    assert len(packed) == 3
    assert [packed[row].tolist() for row in range(3)] == [[1, 2], [], [3]]
