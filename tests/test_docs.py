"""The commands and snippets of README and docs run, in the order they stand there."""

import os
import re
import runpy
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from reversal import write_reversals

from command import seq2see

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUICK = "train.updates=4 train.validate_every=4 train.batch_tokens=256 data.held_out=0.001 search.max_length=6"


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """(language, file name or nothing, text) of each fenced block that can be run."""
    return [block for block in BLOCK.findall(page.read_text()) if block[0] in ("bash", "python")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the files the pages speak of, and a run that was trained for a moment."""
    folder = tmp_path_factory.mktemp("place")
    for name, count in (("pairs.tsv", 60), ("test.tsv", 4), ("runs/dates/train.tsv", 60)):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        write_reversals(folder / name, count, seed=count)
    for name in ("valid", "test"):
        shutil.copy(folder / "test.tsv", folder / "runs" / "dates" / f"{name}.tsv")
    words = [line.split("\t")[0] for line in (folder / "pairs.tsv").read_text().splitlines()]
    for name in ("train.en", "train.de"):
        (folder / name).write_text("".join(f"{word} {word}\n" for word in words))
    for name in ("input.txt", "dates.txt"):
        (folder / name).write_text("".join(f"{word} {word}\n" for word in words[:8]))
    for name in ("quickstart", "pairs"):
        execute(f"seq2see train pairs.tsv {QUICK} --out runs/{name}", folder)
    return folder


def execute(command: str, folder: Path) -> None:
    """Run one line of a bash block: one command of ours here, what needs a shell in a shell."""
    words = shlex.split(command, comments=True)
    if words[0] == "seq2see":
        result = seq2see(*words[1:], cwd=folder)
    else:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path}
        result = subprocess.run(["bash", "-c", command], cwd=folder, capture_output=True, text=True, env=environment)
    assert result.returncode == 0, f"{command}\n{result.stderr}"


def shorten(command: str) -> str:
    """Trainings of the pages, cut to a few updates; a page's own run is trained by the fixture already."""
    if not command.startswith("seq2see train"):
        return command
    short = re.sub(r"train\.updates=\d+", "", command).replace(" --out", f" {QUICK} --out")
    return re.sub(r"--out runs/pairs\b", "--out runs/other", short)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=lambda page: page.name)
def test_what_a_page_says_runs(page: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(place, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])  # as if Python had been started here
    for language, file, text in blocks(page):
        if file:
            (folder / file).write_text(text)
        elif language == "bash":
            for line in text.splitlines():
                if line and not line.startswith("make "):
                    execute(shorten(line), folder)
        else:
            (folder / "snippet.py").write_text(text)
            runpy.run_path("snippet.py")


def test_pages_link_to_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_presets_the_readme_lists_are_those_there_are() -> None:
    listed = re.findall(r"^\| `([\w-]+)` \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "src/seq2see/presets").glob("*.yaml"))
