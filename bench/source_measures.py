"""How the source is laid out, in numbers: `make measure` prints each measure beside its goal.

python bench/source_measures.py [--list]    # --list names every place that counts against a goal
"""

import argparse
import ast
import re
import sys
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

SOURCE = Path(__file__).parent.parent / "src" / "seq2see"
MAX_FUNCTION_LINES, MAX_FILE_LINES = 60, 300
MIN_DOCSTRING_SHARE = 25  # lines of docstrings for each 100 lines of code
# where the kinds of modalities, tasks and traces are defined
KINDS = ("data/modalities/", "data/tokenizers", "data/storage/", "tasks/", "explain/")
# questions about the kind of task, source or label that are no isinstance
QUESTION = re.compile(
    r"\b(?:reads_images|reads_pictures|chooses_labels)\b|\.task [=!]= |\.probabilities is |\"image_size\" (?:not )?in "
    r"|infer_modality\(.*\) [=!]= |\.(?:name|reads|source_data) [=!]= \"(?:text|document|image|images)\""
)


@dataclass(frozen=True)
class Measure:
    """A number about the source, the goal it must keep, and the places that count."""

    name: str
    value: float
    goal: str
    met: bool
    places: list[str]


def measure_source() -> list[Measure]:
    """All measures of the source."""
    texts = {file: file.read_text() for file in sorted(SOURCE.rglob("*.py"))}
    trees = {file: ast.parse(text) for file, text in texts.items()}
    lines = sum(text.count("\n") for text in texts.values())
    classes = _list_classes(trees)
    untyped = [f"{_name(file)}:{n}" for file, text in texts.items() for n, _ in _find(r"\bAny\b", text)]
    kinds = {name for name, places in classes.items() if places[0].startswith(KINDS)}
    branches = [*_list_branches(trees, kinds), *_list_questions(texts)]
    stems = _group((file.stem, _name(file)) for file in texts if file.stem not in ("__init__", "__main__"))
    functions = [
        f"{_name(file)}:{node.lineno} {node.name}"
        for file, tree in trees.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and _length(node) > MAX_FUNCTION_LINES
    ]
    long = [f"{_name(file)} ({count})" for file, text in texts.items() if (count := text.count("\n")) > MAX_FILE_LINES]
    share = 1000 * len(untyped) / lines
    twice = {name: places for name, places in classes.items() if len(places) > 1}
    return [
        Measure("Any per 1,000 lines", share, "under 8", share < 8, untyped),
        Measure(
            "branches on the type of a task, modality or trace", len(branches), "under 20", len(branches) < 20, branches
        ),
        Measure(
            "public class names that occur twice", len(twice), "0", not twice, [f"{k}: {v}" for k, v in twice.items()]
        ),
        Measure(
            "file names that occur twice",
            len(stems),
            "at most 5",
            len(stems) <= 5,
            [f"{k}: {v}" for k, v in stems.items()],
        ),
        _measure_docstrings(texts, trees),
        Measure(f"functions over {MAX_FUNCTION_LINES} lines", len(functions), "0", not functions, functions),
        Measure(f"files over {MAX_FILE_LINES} lines", len(long), "0", not long, long),
    ]


def _measure_docstrings(texts: dict[Path, str], trees: dict[Path, ast.Module]) -> Measure:
    """Lines of docstrings for each 100 lines that are neither blank nor a comment nor a docstring."""
    places, docstrings, code = [], 0, 0
    for file, tree in trees.items():
        inside = {
            number
            for node in ast.walk(tree)
            if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            and ast.get_docstring(node) is not None
            for number in range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
        }
        rest = [
            line
            for number, line in enumerate(texts[file].splitlines(), 1)
            if number not in inside and line.strip() and not line.lstrip().startswith("#")
        ]
        docstrings, code = docstrings + len(inside), code + len(rest)
        if 100 * len(inside) < MIN_DOCSTRING_SHARE * len(rest):
            places.append(f"{_name(file)} ({100 * len(inside) / len(rest):.0f})")
    share = 100 * docstrings / code
    goal = f"at least {MIN_DOCSTRING_SHARE}"
    return Measure("lines of docstrings for 100 lines of code", share, goal, share >= MIN_DOCSTRING_SHARE, places)


def _list_classes(trees: dict[Path, ast.Module]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                found[node.name].append(_name(file))
    return found


def _list_branches(trees: dict[Path, ast.Module], ours: set[str]) -> Iterator[str]:
    """Every isinstance with one of these classes; errors are caught by their type, and do not count."""
    for file, tree in trees.items():
        for node in ast.walk(tree):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "isinstance":
                named = {each.id for each in ast.walk(node.args[1]) if isinstance(each, ast.Name)}
                if any(name in ours and not name.endswith("Error") for name in named):
                    yield f"{_name(file)}:{node.lineno} isinstance {', '.join(sorted(named & ours))}"


def _list_questions(texts: dict[Path, str]) -> Iterator[str]:
    for file, text in texts.items():
        for number, line in _find(QUESTION.pattern, text):
            if not line.lstrip().startswith(("def ", '"""', "#")):
                yield f"{_name(file)}:{number} {line.strip()}"


def _find(pattern: str, text: str) -> Iterator[tuple[int, str]]:
    for number, line in enumerate(text.splitlines(), 1):
        for _ in re.finditer(pattern, line):
            yield number, line


def _group(named: Iterator[tuple[str, str]]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = defaultdict(list)
    for name, place in named:
        found[name].append(place)
    return {name: places for name, places in found.items() if len(places) > 1}


def _length(node: ast.FunctionDef | ast.AsyncFunctionDef) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def _name(file: Path) -> str:
    return str(file.relative_to(SOURCE))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--list", action="store_true", help="name every place that counts against a goal")
    listed = parser.parse_args().list
    measures = measure_source()
    for each in measures:
        print(f"{'ok  ' if each.met else 'MISS'}  {each.value:6.1f}  goal {each.goal:<9}  {each.name}")
        for place in each.places if listed else ():
            print(f"              {place}")
    sys.exit(0 if all(each.met for each in measures) else 1)


if __name__ == "__main__":
    main()
