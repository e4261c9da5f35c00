"""The examples run, as scripts and as notebooks, and each notebook is made from its script."""

import json
import os
import runpy
import shutil
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib.image
import nbformat
import pytest
from nbclient import NotebookClient

EXAMPLES = Path(__file__).parent.parent / "examples"
CONVERTER = runpy.run_path(str(EXAMPLES / "make_notebooks.py"))
make_notebook: Callable[[str], str] = CONVERTER["make_notebook"]
split_cells: Callable[[str], list[tuple[str, str]]] = CONVERTER["split_cells"]
SCRIPTS: list[Path] = CONVERTER["list_scripts"]()

every_script = pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the examples to run them in, with few updates; what they import there is forgotten afterwards."""
    copy = tmp_path / "examples"
    shutil.copytree(EXAMPLES, copy, ignore=shutil.ignore_patterns("runs", "__pycache__"))
    monkeypatch.chdir(copy)
    monkeypatch.setenv("SEQ2SEE_QUICK", "1")
    monkeypatch.setattr(sys, "path", [str(copy), *sys.path])  # as if Python had been started here
    # a kernel is a process of its own, and shall import what the tests import
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(path for path in sys.path if path))
    monkeypatch.delitem(sys.modules, "own_scores", raising=False)
    return copy


def check_heatmap(folder: Path, name: str) -> None:
    """The example has drawn an attention: an image that is not all of one colour."""
    pixels = matplotlib.image.imread(folder / "runs" / f"{name}.png")
    assert pixels.std() > 0


def test_all_examples_are_there() -> None:
    names = ["attention_by_hand", "bahdanau_from_parts", "heads_off", "score_of_your_own", "train_and_inspect"]
    assert [script.stem for script in SCRIPTS] == names
    assert sorted(path.stem for path in EXAMPLES.glob("*.ipynb")) == names
    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    assert all(f"[{name}.py]({name}.py)" in readme and f"({name}.ipynb)" in readme for name in names)


@every_script
def test_a_notebook_is_made_from_its_script(script: Path) -> None:
    notebook = script.with_suffix(".ipynb").read_text(encoding="utf-8")
    assert notebook == make_notebook(script.read_text(encoding="utf-8")), "run examples/make_notebooks.py"


@every_script
def test_the_cells_of_a_notebook_are_the_lines_of_its_script(script: Path) -> None:
    notebook = nbformat.read(script.with_suffix(".ipynb"), as_version=4)
    nbformat.validate(notebook)
    code = [line for cell in notebook.cells if cell.cell_type == "code" for line in cell.source.splitlines()]
    lines, in_code = [], False
    for line in script.read_text(encoding="utf-8").splitlines():
        if line.startswith("# %%"):
            in_code = line == "# %%"
        elif in_code:
            lines.append(line)
    assert [line for line in code if line] == [line for line in lines if line]


def test_cells_are_cut_at_their_marks() -> None:
    script = "# %% [markdown]\n# # Title\n#\n# Text.\n\n# %%\nx = 1\n\n\n# a comment\ny = 2\n"
    assert split_cells(script) == [("markdown", "# Title\n\nText."), ("code", "x = 1\n\n\n# a comment\ny = 2")]
    cells = json.loads(make_notebook(script))["cells"]
    assert cells[0]["source"] == ["# Title\n", "\n", "Text."]
    assert cells[1]["outputs"] == []


@pytest.mark.slow
@every_script
def test_a_script_runs(script: Path, folder: Path) -> None:
    runpy.run_path(script.name, run_name="__main__")
    check_heatmap(folder, script.stem)


@pytest.mark.slow
@every_script
def test_a_notebook_runs_and_shows_its_attention(script: Path, folder: Path) -> None:
    notebook = nbformat.read(script.with_suffix(".ipynb").name, as_version=4)
    NotebookClient(notebook, timeout=300, kernel_name="python3").execute()
    last = notebook.cells[-1].outputs[-1]
    assert "text/html" in last.data
    check_heatmap(folder, script.stem)
