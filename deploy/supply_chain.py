"""Writes what the pinned dependencies are and how to check them: a lock file with hashes, and a bill of materials.

    .venv/bin/python deploy/supply_chain.py

`requirements.lock` has every package that `seq2see[serve]` needs, on any system, with the SHA-256 of each of its files
on the Python Package Index. `sbom.cdx.json` (CycloneDX 1.6) lists all packages of constraints.txt, also those of tests
and documentation, with licences and dependencies. Both follow from constraints.txt, the index and the metadata of the
packages in this environment, so `make lock` gives the same files again.
"""

import json
import re
import sys
import tomllib
import urllib.request
import uuid
from importlib.metadata import distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).parent.parent
LOCK, BILL = ROOT / "deploy" / "requirements.lock", ROOT / "deploy" / "sbom.cdx.json"
INDEX = "https://pypi.org/simple"
EXTRA = "serve"  # the lock file is for servers
SYSTEMS = ({"sys_platform": "linux", "platform_system": "Linux", "os_name": "posix"},
           {"sys_platform": "darwin", "platform_system": "Darwin", "os_name": "posix"},
           {"sys_platform": "win32", "platform_system": "Windows", "os_name": "nt"})  # fmt: skip
# On Linux, torch of the Python Package Index brings CUDA; a build for CPUs takes the place of its files for Linux.
WITHOUT = {"torch": "linux"}
OWN = {
    "torch": {
        "6746dbcbeb526eb61330b76b41ff1b4eb848951103a892eeb080dfa2b264667b": "the build for CPUs that "
        "the tests run with (2.13.0+cpu, Python 3.11, Linux x86_64)"
    }
}
HEAD = f"""\
# What seq2see[{EXTRA}] needs, with hashes; written by `make lock`. Install it, and then seq2see without more:
#   pip install --require-hashes -r deploy/requirements.lock && pip install --no-deps seq2see-*.whl
# The hashes are those of all files on the Python Package Index, for every system, but where a line tells of another.
"""


def read_pins() -> dict[str, str]:
    """Return the version of each package in constraints.txt, by its canonical name."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {canonicalize_name(name): version for name, version in pairs}


def read_project() -> tuple[list[str], dict[str, list[str]]]:
    """Return the requirements of the project and those of its extras."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    return project["dependencies"], project["optional-dependencies"]


def list_needs(
    requirements: list[str], extras: frozenset[str], pins: dict[str, str]
) -> set[tuple[str, frozenset[str]]]:
    """Return the pinned packages that requirements name on any system, each with its extras."""
    found = set()
    for text in requirements:
        need = Requirement(text)
        surroundings = [{**system, "extra": extra} for system in SYSTEMS for extra in extras or {""}]
        wanted = need.marker is None or any(need.marker.evaluate(each) for each in surroundings)
        if wanted and canonicalize_name(need.name) in pins:
            found.add((canonicalize_name(need.name), frozenset(need.extras)))
    return found


def close(requirements: list[str], pins: dict[str, str]) -> dict[str, set[str]]:
    """Return all packages that requirements lead to, each with the packages that it needs itself."""
    graph: dict[str, set[str]] = {}
    waiting = list_needs(requirements, frozenset(), pins)
    done: set[tuple[str, frozenset[str]]] = set()
    while waiting:
        name, extras = waiting.pop()
        done.add((name, extras))
        needs = list_needs(distribution(name).requires or [], extras, pins)
        graph.setdefault(name, set()).update(need for need, _ in needs)
        waiting |= needs - done
    return graph


def read_hashes(name: str, version: str) -> list[str]:
    """Return the SHA-256 of each file of a release on the Python Package Index, but of those that are left out."""
    with urllib.request.urlopen(f"{INDEX}/{name}/", timeout=60) as answer:
        page = answer.read().decode()
    stem = re.sub(r"[-_.]+", "[-_.]+", name)
    file = re.compile(rf"{stem}-{re.escape(version)}(-[^/]*\.whl|\.tar\.gz|\.zip)", re.IGNORECASE)
    links = re.findall(r"<a ([^>]*)>([^<]*)</a>", page)
    files = [(link, text.strip()) for link, text in links if file.fullmatch(text.strip())]
    hashes = [re.search(r"#sha256=([0-9a-f]{64})", link) for link, text in files if WITHOUT.get(name, "\n") not in text]
    found = sorted({each[1] for each in hashes if each is not None})
    if not found:
        sys.exit(f"{INDEX}/{name}/ has no file of {name} {version}; change constraints.txt.")
    return found


def write_lock(pins: dict[str, str]) -> None:
    """Write the lock file."""
    needed, extras = read_project()
    text = HEAD
    for name in sorted(close([*needed, *extras[EXTRA]], pins)):
        own = OWN.get(name, {})
        text += "".join(f"# {digest[:12]}...: {what}\n" for digest, what in own.items())
        hashes = [*read_hashes(name, pins[name]), *own]
        text += " \\\n".join([f"{name}=={pins[name]}", *(f"    --hash=sha256:{digest}" for digest in hashes)]) + "\n"
    LOCK.write_text(text)


def read_licence(name: str) -> list[dict[str, object]]:
    """Return the licence that a package states, as CycloneDX has it; none if it states none."""
    facts = distribution(name).metadata
    if facts["License-Expression"]:
        return [{"expression": facts["License-Expression"]}]
    words = [
        entry.rpartition(" :: ")[2] for entry in facts.get_all("Classifier") or [] if entry.startswith("License ::")
    ]
    named = words or [line for line in (facts["License"] or "").splitlines()[:1] if line.strip()]
    return [{"license": {"name": word}} for word in named]


def write_bill(pins: dict[str, str]) -> None:
    """Write the bill of materials."""
    needed, extras = read_project()
    required = close(needed, pins)
    optional = [need for name in ("images", "transformers", "meteor", "parquet", "serve") for need in extras[name]]
    chosen = close(optional, pins)
    graph = {name: set() for name in pins} | close(list(pins), pins)
    url = {name: f"pkg:pypi/{name}@{version}" for name, version in pins.items()}
    version = re.search(r'__version__ = "(.*)"', (ROOT / "src/seq2see/__init__.py").read_text())[1]
    own = f"pkg:pypi/seq2see@{version}"
    parts = [
        {
            "type": "library", "bom-ref": url[name], "name": name, "version": pins[name], "purl": url[name],
            "scope": "required" if name in required else "optional" if name in chosen else "excluded",
            "licenses": read_licence(name),
        }
        for name in sorted(pins)
    ]  # fmt: skip
    links = [{"ref": url[name], "dependsOn": sorted(url[need] for need in graph[name])} for name in sorted(pins)]
    direct = sorted(url[name] for name, _ in list_needs([*needed, *optional], frozenset(), pins))
    bill = {
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, json.dumps([own, parts, links]))}",
        "version": 1,
        "metadata": {"component": {"type": "application", "bom-ref": own, "name": "seq2see", "version": version,
                                   "purl": own, "licenses": [{"expression": "Apache-2.0"}]}},
        "components": parts,
        "dependencies": [{"ref": own, "dependsOn": direct}, *links],
    }  # fmt: skip
    BILL.write_text(json.dumps(bill, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write_bill(read_pins())
    write_lock(read_pins())
