"""The commands that install what is missing work where they are printed."""

import json
import shlex
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from seq2see.core import installation
from seq2see.core.installation import say_install


@pytest.fixture
def clone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A clone with an environment inside, in a folder with a space."""
    folder = tmp_path / "my clone"
    folder.mkdir()
    for name in ("pyproject.toml", "constraints.txt"):
        (folder / name).touch()
    monkeypatch.setattr(sys, "executable", str(folder / ".venv/bin/python"))
    monkeypatch.setattr(installation, "SOURCE", folder)
    return folder


def test_in_a_clone_the_command_is_short_and_keeps_the_pinned_versions(
    clone: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(clone)
    assert say_install(extra="serve") == '.venv/bin/python -m pip install -c constraints.txt -e ".[serve]"'
    assert say_install("sacrebleu[ja]") == '.venv/bin/python -m pip install -c constraints.txt "sacrebleu[ja]"'


def test_elsewhere_the_command_names_whole_paths(clone: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (clone.parent / "elsewhere").mkdir()
    monkeypatch.chdir(clone.parent / "elsewhere")
    words = shlex.split(say_install(extra="serve"))
    assert words[0] == str(clone / ".venv/bin/python")
    assert words[1:] == ["-m", "pip", "install", "-c", str(clone / "constraints.txt"), "-e", f"{clone}[serve]"]


@pytest.mark.parametrize("there", [True, False])
def test_a_copy_of_a_clone_is_installed_again_and_one_of_an_index_by_its_name(
    clone: Path, monkeypatch: pytest.MonkeyPatch, there: bool
) -> None:
    monkeypatch.chdir(clone)
    monkeypatch.setattr(installation, "SOURCE", clone / "lib/python3/site-packages")
    origin = json.dumps({"url": (clone if there else clone / "gone").as_uri(), "dir_info": {}})
    monkeypatch.setattr(installation, "distribution", lambda name: SimpleNamespace(read_text=lambda file: origin))
    expected = '-c constraints.txt ".[serve]"' if there else '"seq2see[serve]"'
    assert say_install(extra="serve") == f".venv/bin/python -m pip install {expected}"
