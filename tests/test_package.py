"""The package as people get it: an sdist, the wheel that is built from it, and the commands in a clean environment."""

import os
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import venv
from pathlib import Path

import pytest
from reversal import write_reversals

import seq2see

ROOT = Path(__file__).parent.parent


def call(*words: object, cwd: Path) -> str:
    """Run a program that must succeed, without the source that PYTHONPATH may name."""
    clean = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    result = subprocess.run([*map(str, words)], cwd=cwd, env=clean, capture_output=True, text=True)
    assert result.returncode == 0, f"{words}\n{result.stdout}{result.stderr}"
    return result.stdout


@pytest.mark.slow
def test_the_built_package_trains_and_shows_in_a_clean_environment(tmp_path: Path) -> None:
    source = tmp_path / "source"
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, source)
    call(sys.executable, "-m", "build", "--outdir", tmp_path / "dist", source, cwd=tmp_path)
    [sdist], [wheel] = tmp_path.glob("dist/*.tar.gz"), tmp_path.glob("dist/*.whl")
    assert f"-{seq2see.__version__}" in wheel.name
    with tarfile.open(sdist) as archive:
        assert {"LICENSE", "README.md", "pyproject.toml"} <= {name.partition("/")[2] for name in archive.getnames()}
    # a new environment; what the package depends on is lent from this one, the package itself is not
    venv.create(tmp_path / "venv", with_pip=True)
    [packages] = tmp_path.glob("venv/lib/python*/site-packages")
    (packages / "lent.pth").write_text(sysconfig.get_path("purelib"))
    call(tmp_path / "venv/bin/python", "-m", "pip", "install", "--quiet", "--no-deps", wheel, cwd=tmp_path)
    where = call(tmp_path / "venv/bin/python", "-c", "import seq2see; print(seq2see.__file__)", cwd=tmp_path)
    assert Path(where.strip()).is_relative_to(packages)
    write_reversals(tmp_path / "pairs.tsv", 60, seed=1)
    program = tmp_path / "venv/bin/seq2see"
    small = ("preset=bahdanau2015", "train.updates=4", "train.validate_every=4", "train.batch_tokens=256")
    call(program, "train", "pairs.tsv", *small, "--out", "run", cwd=tmp_path)
    call(program, "inspect", "run", "abc", "-o", "page.html", cwd=tmp_path)
    assert "<script" in (tmp_path / "page.html").read_text()
    assert (tmp_path / "run" / "report.html").exists()
