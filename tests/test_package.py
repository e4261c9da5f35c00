"""The package as people get it: an sdist, the wheel that is built from it, and the commands in a clean environment."""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tomllib
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


def copy_source(folder: Path) -> Path:
    """Copy what the package is built from into a new folder."""
    shutil.copytree(ROOT / "src", folder / "src", ignore=shutil.ignore_patterns("*.egg-info", "__pycache__"))
    for name in ("pyproject.toml", "README.md", "LICENSE"):
        shutil.copy(ROOT / name, folder)
    return folder


@pytest.mark.slow
def test_two_wheels_of_one_source_have_the_same_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SOURCE_DATE_EPOCH", "1700000000")
    digests = set()
    for name, seconds in (("here", 1_600_000_000), ("and/elsewhere", 1_650_000_001)):
        source = copy_source(tmp_path / name)
        for file in source.rglob("*"):
            os.utime(file, (seconds, seconds))
        call(sys.executable, "-m", "build", "--wheel", "--outdir", source / "dist", source, cwd=tmp_path)
        [wheel] = source.glob("dist/*.whl")
        digests.add(hashlib.sha256(wheel.read_bytes()).hexdigest())
    assert len(digests) == 1


def test_the_lock_and_the_bill_of_materials_are_those_of_the_pinned_versions() -> None:
    def fit(name: str) -> str:
        return re.sub(r"[-_.]+", "-", name).lower()

    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pins = {fit(name): version for name, version in (line.split("==") for line in lines if not line.startswith("#"))}
    lock = (ROOT / "deploy" / "requirements.lock").read_text()
    locked = dict(re.findall(r"^([a-z0-9-]+)==(\S+) \\$", lock, re.MULTILINE))
    assert locked.items() <= pins.items(), "run make lock"
    assert re.fullmatch(r"(#.*\n|[a-z0-9-]+==\S+( \\\n    --hash=sha256:[0-9a-f]{64})+\n)+", lock)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    needed = [*project["dependencies"], *project["optional-dependencies"]["serve"]]
    assert {fit(re.match(r"[\w.-]+", need)[0]) for need in needed} <= locked.keys(), "run make lock"
    bill = json.loads((ROOT / "deploy" / "sbom.cdx.json").read_text())
    assert {part["name"]: part["version"] for part in bill["components"]} == pins, "run make lock"
    scopes = {part["name"]: part["scope"] for part in bill["components"]}
    assert (scopes["torch"], scopes["fastapi"], scopes["pytest"]) == ("required", "optional", "excluded")
    known = {part["purl"] for part in bill["components"]} | {bill["metadata"]["component"]["purl"]}
    for link in bill["dependencies"]:
        assert {link["ref"], *link["dependsOn"]} <= known


@pytest.mark.slow
def test_the_built_package_trains_and_shows_in_a_clean_environment(tmp_path: Path) -> None:
    source = copy_source(tmp_path / "source")
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
