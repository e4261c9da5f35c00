"""The documentation builds without a warning and without network, and has a page for every package."""

import html
import re
import subprocess
import sys
from pathlib import Path

import pytest

import seq2see

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
SOURCES = [*sorted(DOCS.rglob("*.md")), ROOT / "README.md", ROOT / "CONTRIBUTING.md", ROOT / "examples" / "README.md"]
LOADED = re.compile(
    r"<(?:script|img|iframe|source|video)[^>]* src=[\"']?([^\"' >]+)|<link[^>]* href=[\"']?([^\"' >]+)[^>]*>"
)
MAX_LINE, MAX_README_LINES = 120, 120


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site as `make docs` builds it."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stderr
    return folder


@pytest.mark.slow
def test_the_site_builds_and_loads_nothing_from_elsewhere(site: Path) -> None:
    pages = sorted(site.rglob("*.html"))
    assert len(pages) > 60
    for page in pages:
        text = page.read_text(encoding="utf-8")
        loaded = [one or other for one, other in LOADED.findall(text) if 'rel="canonical"' not in one + other]
        assert loaded, f"{page} loads not even its own style"
        foreign = [address for address in loaded if re.match(r"(?:\w+:)?//", address)]
        assert not foreign, f"{page.relative_to(site)} loads {foreign}"
        assert 'class="arithmatex"' not in text, f"{page.relative_to(site)} has an equation that nothing draws"


@pytest.mark.slow
def test_equations_commands_parts_and_docstrings_are_on_their_pages(site: Path) -> None:
    def read(page: str) -> str:
        return html.unescape((site / page).read_text(encoding="utf-8"))

    assert read("annotated/07-local-attention.html").count("<math") >= 6
    commands = read("reference/commands.html")
    for name in ("quickstart", "train", "predict", "serve", "cache"):
        assert f"seq2see {name}<" in commands
    assert "--length-penalty" in commands
    assert "strength" in read("reference/parts.html")  # an option of the cosine score
    assert "preset: bahdanau2015" in read("reference/presets.html") or "bahdanau2015" in read("reference/presets.html")
    assert "Bahdanau et al. 2015" in read("api/nn.html")
    assert "np.exp(scores" in re.sub(r"<[^>]+>", "", read("examples/attention_by_hand.html"))


def test_every_package_and_every_public_name_has_its_place_in_the_api() -> None:
    packages = {path.parent.name for path in (ROOT / "src" / "seq2see").glob("*/__init__.py")} - {"cli", "presets"}
    assert {path.stem for path in (DOCS / "api").glob("*.md")} == packages | {"index", "seq2see"}
    named = re.findall(r"^::: seq2see\.(\w+)$", (DOCS / "api" / "seq2see.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(named) == sorted(seq2see.__all__)


@pytest.mark.parametrize("page", SOURCES, ids=lambda page: str(page.relative_to(ROOT)))
def test_lines_of_the_documentation_are_short(page: Path) -> None:
    long = [number for number, line in enumerate(page.read_text().splitlines(), 1) if len(line) > MAX_LINE]
    assert not long, f"lines {long} have more than {MAX_LINE} characters"


def test_the_readme_is_short() -> None:
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= MAX_README_LINES
