"""Who may import whom, and what must stay light."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "seq2see"
MAY_IMPORT = {
    "core": set(),
    "nn": {"core"},
    "models": {"core", "nn"},
    "search": {"core"},
    "data": {"core"},
    "config": {"core", "data"},
    "metrics": {"core"},
    "tasks": {"core", "nn", "models", "search", "data", "config", "metrics"},
    "train": {"core", "models", "search", "data", "config", "tasks"},
    "inspect": {"core", "models", "data", "tasks", "metrics"},
    "serve": {"core", "models", "search", "data", "tasks", "train", "inspect", "run"},
    "testing": {"core", "nn", "search"},
}


def imports(file: Path) -> set[str]:
    """The packages of ours that a file imports, also inside functions."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
        names += [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
        found |= {name.split(".")[1] for name in names if name.startswith("seq2see.")}
    return found


@pytest.mark.parametrize("package", MAY_IMPORT)
def test_packages_keep_their_borders(package: str) -> None:
    for file in (SOURCE / package).rglob("*.py"):
        foreign = imports(file) - MAY_IMPORT[package] - {package}
        assert not foreign, f"{file} imports {foreign}"


def test_every_package_has_its_borders() -> None:
    packages = {folder.name for folder in SOURCE.iterdir() if (folder / "__init__.py").exists()}
    assert packages - {"cli", "presets"} == set(MAY_IMPORT)


def test_help_does_not_import_torch() -> None:
    code = "import sys; import seq2see.cli.app; print([m for m in ('torch', 'numpy', 'pydantic') if m in sys.modules])"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "[]"


def test_importing_the_package_does_not_import_torch() -> None:
    code = "import sys; import seq2see; print('torch' in sys.modules)"
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "False"
