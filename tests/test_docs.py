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
import typer
from pydantic import BaseModel
from reversal import write_reversals
from typer.main import get_command

from command import seq2see
from seq2see.cli.app import app
from seq2see.config.schema import Config
from seq2see.config.settings import list_sections

ROOT = Path(__file__).parent.parent
ANNOTATED = ROOT / "docs" / "annotated"  # test_annotated.py runs these
PAGES = [
    *(ROOT / name for name in ("README.md", "CONTRIBUTING.md", "examples/README.md")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if ANNOTATED not in page.parents),
]
BLOCK = re.compile(r"^```(\w+)(?: file=(\S+))?\n(.*?)^```", re.MULTILINE | re.DOTALL)
QUICK = "train.updates=4 train.validate_every=4 train.batch_tokens=256 data.held_out=0.001 search.max_length=6"


def blocks(page: Path) -> list[tuple[str, str, str]]:
    """(language, file name or nothing, text) of each fenced block that can be run."""
    return [block for block in BLOCK.findall(page.read_text()) if block[0] in ("bash", "python")]


def name_page(page: Path) -> str:
    """A page by its path in the repository."""
    return str(page.relative_to(ROOT))


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


def list_commands(text: str) -> list[str]:
    """The commands of a block; a backslash at the end of a line continues it, and `make` is tested elsewhere."""
    lines = text.replace("\\\n", " ").splitlines()
    return [line.strip() for line in lines if line.strip() and not line.startswith(("make ", "#"))]


def shorten(command: str) -> str:
    """Trainings of the pages, cut to a few updates; a page's own run is trained by the fixture already."""
    if not command.startswith("seq2see train"):
        return command
    short = re.sub(r"train\.updates=\d+", "", command).replace(" --out", f" {QUICK} --out")
    return re.sub(r"--out runs/pairs\b", "--out runs/other", short)


@pytest.mark.slow
@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page)], ids=name_page)
def test_what_a_page_says_runs(page: Path, place: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "copy"
    shutil.copytree(place, folder)
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "path", [str(folder), *sys.path])  # as if Python had been started here
    for language, file, text in blocks(page):
        if file:
            (folder / file).write_text(text)
        elif language == "bash":
            for command in list_commands(text):
                execute(shorten(command), folder)
        else:
            (folder / "snippet.py").write_text(text)
            runpy.run_path("snippet.py")


def test_pages_link_to_files_that_exist() -> None:
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"


@pytest.mark.parametrize("page", [page for page in PAGES if "```sh\n" in page.read_text()], ids=name_page)
def test_commands_that_need_more_than_a_test_has_can_be_read(page: Path) -> None:
    """Blocks of `sh` need data, time or extras: of their commands, the options and settings are checked."""
    for block in re.findall(r"^```sh\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL):
        for command in list_commands(block):
            for words in split_at_operators(shlex.split(command, comments=True)):
                if words[:1] == ["seq2see"]:
                    check_options(words[1:])


def split_at_operators(words: list[str]) -> list[list[str]]:
    """The commands between pipes, redirections and the like."""
    commands: list[list[str]] = [[]]
    for word in words:
        if word in ("|", "&&", "||", "&", ";", ">"):
            commands.append([])
        else:
            commands[-1].append(word)
    return commands


def check_options(words: list[str]) -> None:
    """A command has every option that is named, and a setting has a key that exists."""
    group = get_command(app)
    with typer.Context(group, info_name="seq2see") as context:
        name, command, rest = group.resolve_command(context, list(words))
    assert command is not None
    known = {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
    for word in rest:
        if word.startswith("-") and len(word) > 1:
            assert word.partition("=")[0] in known | {"--help"}, f"seq2see {name} has no {word}"
    settings = [word for word in rest if re.match(r"[a-z_]+(\.[a-z_]+)*=", word)]
    if name == "train" and settings:
        check_settings(settings)


def check_settings(settings: list[str]) -> None:
    """Each setting has a section and a key of the schema; what comes below a part is the business of that part."""
    for setting in settings:
        section: type[BaseModel] | None = Config
        for key in setting.partition("=")[0].split("."):
            if section is not None:
                assert key in section.model_fields, f"{setting}: there is no key {key}"
                section = list_sections(section).get(key)


def test_the_presets_the_readme_lists_are_those_there_are() -> None:
    rows = re.findall(r"^\| (`.*?`) \|", (ROOT / "README.md").read_text(), re.MULTILINE)
    listed = [name for row in rows for name in re.findall(r"`([\w-]+)`", row)]
    assert sorted(listed) == sorted(path.stem for path in (ROOT / "src/seq2see/presets").glob("*.yaml"))
