"""The annotated pages as Python: their blocks can be run, and their NumPy functions used by other tests."""

import re
from functools import cache
from pathlib import Path
from typing import Any

import torch

FOLDER = Path(__file__).parent.parent / "docs" / "annotated"
PAGES = sorted(FOLDER.glob("[0-9]*.md"))
BLOCK = re.compile(r"^```python\n(.*?)^```", re.MULTILINE | re.DOTALL)


def run(page: Path) -> dict[str, Any]:
    """Execute all blocks of a page in one namespace; a traceback names the line of the page."""
    text, namespace = page.read_text(), {"__name__": page.stem}
    with torch.random.fork_rng(devices=[]):  # other tests go on with their own random numbers
        torch.manual_seed(0)
        for block in BLOCK.finditer(text):
            above = text.count("\n", 0, block.start(1))
            exec(compile("\n" * above + block[1], page, "exec"), namespace)
    return namespace


@cache
def load(page: str) -> dict[str, Any]:
    """What a page defines, by the page's name without its number."""
    (path,) = FOLDER.glob(f"[0-9]*-{page}.md")
    return run(path)
