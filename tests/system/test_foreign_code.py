"""Code that a configuration names is imported only when it is trusted, and is the code that was meant."""

import sys
from pathlib import Path
from typing import Any

import pytest

from seq2see.core.errors import ConfigError, TokenError
from seq2see.data.modalities.learn import read_modality
from seq2see.system.foreign_code import admit, foreign_kinds


@pytest.fixture(autouse=True)
def path_as_before(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))


@pytest.mark.parametrize(
    "tree",
    [
        {"model": {"decoder": {"kind": "mine:Decoder"}}},
        {"model": {"decoder": {"kind": "rnn", "reader": {"kind": "before", "score": "mine:Score"}}}},
        {"search": "mine:Search"},
        {"tokens": {"joint": "mine:Words"}},
        {"model": {"encoder": {"kind": "rnn", "cells": [{"kind": "mine:Cell"}]}}},
    ],
    ids=str,
)
def test_code_is_found_in_every_form_and_needs_trust(tree: Any) -> None:
    assert len(foreign_kinds(tree)) == 1
    with pytest.raises(ConfigError, match=r"the run runs code of its own \(mine:.*--trust"):
        admit(tree, [], trust=False, owner="the run")


def test_data_files_and_our_own_names_are_no_code() -> None:
    tree = {"data": {"train": "C:data.tsv", "test": {"source": "a:b"}}, "search": {"kind": "beam", "ban": ["a:b"]}}
    assert foreign_kinds({"tokens": {"target": {"kind": "labels", "separator": ":"}}}) == []
    assert foreign_kinds(tree) == []
    assert admit(tree, [], trust=False, owner="x") == []


def test_trusted_code_is_imported_from_the_first_folder_that_has_it(tmp_path: Path) -> None:
    for name in ("near", "far"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "admitted_score.py").write_text(f"WHERE = {name!r}\n")
    folders = [tmp_path / "missing", tmp_path / "near", tmp_path / "far"]
    tree = {"a": "admitted_score:X", "b": {"kind": "admitted_score:Y"}}
    assert admit(tree, folders, trust=True, owner="") == [tmp_path / "near" / "admitted_score.py"]
    import admitted_score  # type: ignore[import-not-found]

    assert admitted_score.WHERE == "near"


def test_another_module_of_the_same_name_is_refused(tmp_path: Path) -> None:
    (tmp_path / "json.py").write_text("class X: pass\n")
    with pytest.raises(
        ConfigError, match=r"json.py: Python has already imported other code as json \(.*\); start again"
    ):
        admit({"search": "json:X"}, [tmp_path], trust=True, owner="")


def test_other_code_under_a_name_that_is_loaded_is_refused(tmp_path: Path) -> None:
    for name in ("first", "copy", "other"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "loaded_score.py").write_text(f"NUMBER = {2 if name == 'other' else 1}\n")
    tree = {"search": "loaded_score:X"}
    admit(tree, [tmp_path / "first"], trust=True, owner="")
    import loaded_score  # type: ignore[import-not-found] # noqa: F401

    admit(tree, [tmp_path / "copy"], trust=True, owner="")
    with pytest.raises(ConfigError, match="other code as loaded_score"):
        admit(tree, [tmp_path / "other"], trust=True, owner="")


def test_the_code_of_a_run_comes_before_a_newer_version_in_the_folder_one_is_in(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("run", "here"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "edited_score.py").write_text(f"WHERE = {name!r}\n")
    monkeypatch.syspath_prepend(tmp_path / "here")
    assert admit({"search": "edited_score:X"}, [tmp_path / "run", tmp_path / "here"], trust=True, owner="")
    import edited_score  # type: ignore[import-not-found]

    assert edited_score.WHERE == "run"


def test_code_that_cannot_be_imported_is_left_to_the_registry(tmp_path: Path) -> None:
    (tmp_path / "torn_score.py").write_text("class X(\n")
    assert admit({"search": "torn_score:X"}, [tmp_path], trust=True, owner="") == [tmp_path / "torn_score.py"]


@pytest.mark.parametrize("kind", [":X", "..up:X", "../up:X", "a.b.c:X", "no_such:X"])
def test_names_that_lead_nowhere_are_refused(tmp_path: Path, kind: str) -> None:
    (tmp_path / "up.py").touch()
    (tmp_path / "in").mkdir()
    with pytest.raises(ConfigError, match="must be beside the config"):
        admit({"search": kind}, [tmp_path / "in"], trust=True, owner="")


def test_code_that_is_no_file_of_the_user_is_refused_even_if_python_has_it(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"subprocess.py must be beside the config"):
        admit({"search": {"kind": "subprocess:Popen", "args": "true"}}, [tmp_path], trust=True, owner="")


def test_a_tokenizer_file_brings_in_no_code_that_nobody_trusts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "smuggled.py").write_text("raise SystemExit('it ran')\n")
    with pytest.raises(ConfigError, match=r"names code \(smuggled:X\) that the configuration of its run does not"):
        read_modality('{"kind": "smuggled:X"}')
    (tmp_path / "welcome.py").write_text(
        "from seq2see.data.modalities.image import ImageModality\n"
        "class X:\n    from_json = lambda text: ImageModality(size=len(text))\n"
    )
    admit({"tokens": "welcome:X"}, [tmp_path], trust=True, owner="")
    assert read_modality('{"kind": "welcome:X"}').sizes == {"image_size": 21}


@pytest.mark.parametrize("text", ['{"kind": "bpe"}', '{"kind": "nobody"}', "[]", "{"])
def test_files_that_describe_no_tokenizer_are_named(text: str) -> None:
    with pytest.raises(TokenError, match="not a tokenizer file"):
        read_modality(text)
