"""The commands and snippets of README and docs run, in the order they stand there."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reversal import write_reversals

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUICK = "train.updates=20 train.evaluate_every=10 train.evaluate_pairs=8"


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """(language, file name or nothing, text) of each fenced block."""
    return BLOCK.findall(page.read_text())


@pytest.fixture
def workplace(tmp_path: Path) -> Path:
    """A folder with the files the pages speak of, and a run that was trained for a moment."""
    for name, count in (("pairs.tsv", 120), ("test.tsv", 20), ("runs/dates/train.tsv", 120)):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        write_reversals(tmp_path / name, count, seed=count)
    for name in ("valid", "test"):
        shutil.copy(tmp_path / "test.tsv", tmp_path / "runs" / "dates" / f"{name}.tsv")
    for name in ("train.en", "train.de", "input.txt", "dates.txt"):
        words = [line.split("\t")[0] for line in (tmp_path / "pairs.tsv").read_text().splitlines()]
        (tmp_path / name).write_text("".join(f"{word} {word}\n" for word in words))
    for name in ("quickstart", "pairs"):
        execute(f"seq2see train pairs.tsv {QUICK} --out runs/{name}", tmp_path)
    return tmp_path


def execute(command: str, folder: Path) -> None:
    """Run one line of a bash block."""
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    result = subprocess.run(
        ["bash", "-c", command], cwd=folder, capture_output=True, text=True, env={**os.environ, "PATH": path}
    )
    assert result.returncode == 0, f"{command}\n{result.stderr}"


def shorten(command: str) -> str:
    """Trainings of the pages, cut to a few updates; a page's own run is trained by the fixture already."""
    if " train " not in f" {command}" or "seq2see train" not in command:
        return command
    short = re.sub(r"train\.updates=\d+", "", command).replace(" --out", f" {QUICK} --out")
    return re.sub(r"--out runs/pairs\b", "--out runs/other", short)


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_what_a_page_says_runs(page: Path, workplace: Path) -> None:
    for language, file, text in blocks(page):
        if file:
            (workplace / file).write_text(text)
        elif language == "bash":
            lines = [line for line in text.splitlines() if line and not line.startswith("make ")]
            for line in lines:
                execute(shorten(line), workplace)
        elif language == "python":
            (workplace / "snippet.py").write_text(text)
            execute("python snippet.py", workplace)


def test_pages_link_to_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_presets_the_readme_lists_are_those_there_are() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "src/seq2see/presets").glob("*.yaml"))
