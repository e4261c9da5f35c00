"""Who may import whom, what must stay light, and how the source is laid out."""

import ast
import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "seq2see"
GROUND = {"core", "system"}
MODEL = GROUND | {"nn", "models", "search", "data", "config", "metrics", "objectives"}
RUN = MODEL | {"tasks", "explain", "runs"}
MAY_IMPORT = {
    "core": set(),
    "system": {"core"},
    "nn": GROUND,
    "models": GROUND | {"nn"},
    "search": {"core"},
    "data": GROUND,
    "config": {"core"},
    "metrics": {"core"},
    "objectives": MODEL - {"objectives"},
    "tasks": MODEL,
    "explain": MODEL | {"tasks"},
    "runs": MODEL | {"tasks", "explain"},
    "render": GROUND | {"data", "metrics", "explain", "runs"},
    "training": RUN | {"render"},
    "serve": RUN | {"render"},
    "testing": {"core", "nn", "models", "search"},
    "presets": set(),
    "cli": RUN | {"render", "training", "serve"},
    "": RUN
    | {"training", "cli", "estimator"},  # the modules beside the packages: `seq2see` itself and `python -m seq2see`
}
# file names that may occur in two packages, because the package says which is meant
SHARED_STEMS = {"cache", "text"}
# packages that export what is in their modules; all others list the modules themselves
EXPORTING = {"", "testing"}


def load_measures() -> ModuleType:
    """The script behind `make measure`, which is no part of a package."""
    spec = importlib.util.spec_from_file_location("source_measures", ROOT / "bench" / "source_measures.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclass looks itself up there
    spec.loader.exec_module(module)
    return module


MEASURES = {measure.name: measure for measure in load_measures().measure_source()}
PACKAGES = {
    "" if folder == SOURCE else str(folder.relative_to(SOURCE)): folder
    for folder in (SOURCE, *sorted(SOURCE.rglob("*")))
    if folder.is_dir() and any(folder.glob("*.py"))
}


def list_modules(room: str) -> list[Path]:
    """All files of a top-level package, or those beside the packages."""
    return sorted((SOURCE / room).rglob("*.py") if room else SOURCE.glob("*.py"))


def imports(file: Path) -> set[str]:
    """The packages of ours that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("seq2see.")}
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file} imports by dots, which hides the package"
    return found


@pytest.mark.parametrize("room", MAY_IMPORT)
def test_packages_keep_their_borders(room: str) -> None:
    for file in list_modules(room):
        foreign = imports(file) - MAY_IMPORT[room] - {room}
        assert not foreign, f"{file} imports {foreign}"


def test_every_module_has_its_borders() -> None:
    covered = {file for room in MAY_IMPORT for file in list_modules(room)}
    assert covered == set(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("name", PACKAGES)
def test_every_package_says_what_lives_there_and_lists_it(name: str) -> None:
    folder = PACKAGES[name]
    tree = ast.parse((folder / "__init__.py").read_text())
    assert ast.get_docstring(tree), f"{folder} must say what lives there"
    listed = find_all(tree)
    assert listed is not None, f"{folder} must have an __all__"
    if name not in EXPORTING:
        inside = {file.stem for file in folder.glob("*.py")} - {"__init__"}
        inside |= {each.name for each in PACKAGES.values() if each.parent == folder}
        assert listed == sorted(inside), f"{folder}: __all__ must name its modules, sorted"


def find_all(tree: ast.Module) -> list[str] | None:
    """The names in a package's `__all__`, if it has one."""
    for node in tree.body:
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
        )
        if any(isinstance(target, ast.Name) and target.id == "__all__" for target in targets):
            return list(ast.literal_eval(node.value))
    return None


@pytest.mark.parametrize("name", MEASURES)
def test_the_source_keeps_its_measures(name: str) -> None:
    measure = MEASURES[name]
    assert measure.met, f"{name}: {measure.value:g}, goal {measure.goal}: {measure.places}"


def test_file_names_occur_once_but_for_the_listed_ones() -> None:
    twice = {place.split(":")[0] for place in MEASURES["file names that occur twice"].places}
    assert twice <= SHARED_STEMS
    assert len(SHARED_STEMS) <= 5


def test_help_does_not_import_torch() -> None:
    code = "import sys; import seq2see.cli.app; print([m for m in ('torch', 'numpy', 'pydantic') if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_importing_a_package_imports_none_of_its_modules() -> None:
    names = [f"seq2see.{name.replace('/', '.')}" for name in PACKAGES if name not in EXPORTING]
    code = f"import sys, {', '.join(['seq2see', *names])}; print([m for m in ('torch', 'numpy') if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"
