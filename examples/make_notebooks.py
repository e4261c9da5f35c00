"""Make a notebook of every example: `python make_notebooks.py`.

An example is a script of cells: a line `# %%` begins a cell of code, `# %% [markdown]` a cell of text in comments.
"""

import json
from pathlib import Path

FOLDER = Path(__file__).parent
MARK = "# %%"
TEXT_MARK = "# %% [markdown]"


def list_scripts() -> list[Path]:
    """The scripts of this folder that consist of cells."""
    return [path for path in sorted(FOLDER.glob("*.py")) if path.read_text(encoding="utf-8").startswith(MARK)]


def split_cells(script: str) -> list[tuple[str, str]]:
    """The cells of a script in order, each as its type ("markdown" or "code") and its content."""
    cells: list[tuple[str, list[str]]] = []
    for line in script.splitlines():
        if line in (MARK, TEXT_MARK):
            cells.append(("markdown" if line == TEXT_MARK else "code", []))
        elif cells[-1][0] == "markdown":
            cells[-1][1].append(line.removeprefix("#").removeprefix(" "))
        else:
            cells[-1][1].append(line)
    return [(kind, "\n".join(lines).strip("\n")) for kind, lines in cells]


def make_notebook(script: str) -> str:
    """A script of cells as the JSON of a notebook (format 4.5), without outputs."""
    cells = []
    for number, (kind, content) in enumerate(split_cells(script), 1):
        cell = {"cell_type": kind, "id": f"cell-{number}", "metadata": {}, "source": content.splitlines(keepends=True)}
        cells.append({**cell, "execution_count": None, "outputs": []} if kind == "code" else cell)
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    metadata = {"kernelspec": kernel, "language_info": {"name": "python"}}
    notebook = {"cells": cells, "metadata": metadata, "nbformat": 4, "nbformat_minor": 5}
    return json.dumps(notebook, ensure_ascii=False, indent=1) + "\n"


if __name__ == "__main__":
    for script in list_scripts():
        script.with_suffix(".ipynb").write_text(make_notebook(script.read_text(encoding="utf-8")), encoding="utf-8")
        print(script.with_suffix(".ipynb").name)
