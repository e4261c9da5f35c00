"""Writing: what is written loads as what it was, whatever it holds, and says what its keys mean."""

from pathlib import Path
from typing import Any

import pytest

from seq2see.config import load as loading
from seq2see.config.load import load_config, preset_names, preset_text
from seq2see.config.schema import Config
from seq2see.config.write import read_remarks, write_config
from seq2see.data.pairs import Origin
from seq2see.runs.data_files import origins


def write(folder: Path, config: Config, **options: Any) -> Path:
    file = folder / "config.yaml"
    file.write_text(write_config(config, heading="one\n\ntwo", **options))
    return file


def make(**changes: Any) -> Config:
    base: dict[str, Any] = {"preset": "bahdanau2015", "data": {"train": "/x.tsv"}}
    return load_config(base={**base, **changes}).config


@pytest.mark.parametrize("preset", preset_names())
def test_every_preset_comes_back(tmp_path: Path, preset: str) -> None:
    config = make(preset=preset)
    assert load_config(file=write(tmp_path, config)).config == config


NAMES = [
    "a#b",
    "a # b",
    "a: b",
    "- a",
    "[a]",
    "{a}",
    "it's",
    'say "a"',
    "ünï/مرحبا",
    "😀",
    " a ",
    "1e-3",
    "no",
    "a\x85b\u2028\tc\nd",
]


@pytest.mark.parametrize("name", NAMES, ids=ascii)
def test_names_of_any_kind_come_back(tmp_path: Path, name: str) -> None:
    data = {"train": {"source": f"/{name}", "target": name}, "test": name, "fields": [name, f"{name}, x"]}
    config = make(data=data, search={"kind": "my_file:Search", "note": name, "more": {"deep": [name, {"x": name}]}})
    assert load_config(file=write(tmp_path, config)).config == config


@pytest.mark.parametrize("number", [1e-05, 1, 0.1, 1e-10, 123456.789])
def test_numbers_come_back(tmp_path: Path, number: float) -> None:
    config = make(train={"learning_rate": number}, tokens={"joint": {"kind": "bpe", "size": 10**12}})
    again = load_config(file=write(tmp_path, config)).config
    assert again == config
    assert isinstance(again.train.learning_rate, float)


def test_nested_parts_come_back(tmp_path: Path) -> None:
    reader = {"kind": "after", "score": {"kind": "general", "x": None, "y": True, "z": [1, 2.0, "3"]}}
    config = make(model={"decoder": {"reader": reader, "initial_state": "zeros"}}, search="greedy")
    again = load_config(file=write(tmp_path, config)).config
    assert again == config
    assert repr(again) == repr(config)


def test_a_part_that_was_changed_and_changed_back_keeps_nothing_of_the_preset(tmp_path: Path) -> None:
    settings = ["search.kind=greedy", "search.kind=beam"]
    config = load_config(base={"preset": "bahdanau2015", "data": {"train": "/x"}}, settings=settings).config
    assert config.search == {"kind": "beam"}
    assert load_config(file=write(tmp_path, config)).config == config


def test_a_preset_that_changes_later_does_not_change_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = make()
    file = write(tmp_path, config)
    text = (
        preset_text("bahdanau2015").replace("search:", "seed: 77\nsearch:").replace("kind: rnn,", "kind: rnn, new: 1,")
    )
    monkeypatch.setattr(loading, "preset_text", lambda _: text)
    assert make().seed == 77
    assert load_config(file=file).config == config
    assert load_config(file=file, settings=["seed=5"]).config.seed == 5


def test_keys_are_explained_and_choices_have_their_reasons(tmp_path: Path) -> None:
    remarks = {"tokens": "characters, because", "train.updates": "enough"}
    lines = write(tmp_path, make(), remarks=remarks).read_text().splitlines()
    assert lines[:3] == ["# one", "#", "# two"]
    assert lines[lines.index("# characters, because") + 1].startswith("tokens:")
    assert lines[lines.index("  # enough") + 1].startswith("  updates: ")
    assert "seed: 1  # everything random follows from it" in lines


def test_the_reasons_of_sections_are_read_again(tmp_path: Path) -> None:
    """Of sections alone; the heading and the remarks on single keys are none."""
    remarks = {"tokens": "characters: because # of x", "train.updates": "enough", "train": "long", "search": "wide"}
    text = write(tmp_path, make(), remarks=remarks).read_text()
    assert read_remarks(text) == {name: remarks[name] for name in ("tokens", "train", "search")}


def test_origins_are_the_files_that_are_named() -> None:
    data = {"train": {"source": "/a.en", "target": "/a.de"}, "test": "/t.tsv", "fields": ["de", "en"]}
    assert origins(make(data=data)) == {
        "train": Origin(Path("/a.en"), Path("/a.de")),
        "test": Origin(Path("/t.tsv"), fields=("de", "en")),
    }
    assert list(origins(make())) == ["train"]


def test_a_remark_has_no_characters_that_yaml_forbids(tmp_path: Path) -> None:
    config = make()
    file = write(tmp_path, config, remarks={"model": "as in /runs/\x1b[2J\x85\udcff, größer"})
    assert "# as in /runs/\\x1b[2J\\x85\\udcff, größer" in file.read_text()
    assert load_config(file=file).config == config
