"""The documentation builds without a warning and without network, and has a page for every package."""

import html
import re
import runpy
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
    assert "0 takes <code>query_size</code>" in read("reference/parts.html")
    assert "strength" in read("reference/parts.html")  # an option of the cosine score
    assert "preset: bahdanau2015" in read("reference/presets.html") or "bahdanau2015" in read("reference/presets.html")
    assert "Bahdanau et al. 2015" in read("api/nn.html")
    assert "np.exp(scores" in re.sub(r"<[^>]+>", "", read("examples/attention_by_hand.html"))


@pytest.mark.parametrize(
    ("equation", "unknown"),
    [
        (r"\begin{array}{ll} a &amp; b \\ c &amp; d \end{array}", None),
        (r"\begin{aligned} a &amp;= b \end{aligned}", "&"),
        (r"\nosuchcommand a", r"\nosuchcommand"),
    ],
)
def test_an_equation_that_cannot_be_drawn_is_a_warning(
    equation: str, unknown: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    draw = runpy.run_path(str(DOCS / "hooks.py"))["draw_equations"]
    assert "<math" in draw(f'<div class="arithmatex">\\[\n{equation}\n\\]</div>', "page.md")
    if unknown is None:
        assert not caplog.messages
    else:
        [message] = caplog.messages
        assert message.startswith(f"page.md: an equation has {unknown}, which cannot be drawn: ")


def test_every_equation_of_the_documentation_can_be_drawn(caplog: pytest.LogCaptureFixture) -> None:
    draw = runpy.run_path(str(DOCS / "hooks.py"))["draw_equations"]
    for page in SOURCES:
        text = re.sub(r"^```.*?^```|`[^`\n]*`", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for block, inline in re.findall(r"^\$\$\n(.*?)\n\$\$$|\$([^$\n]+)\$", text, re.MULTILINE | re.DOTALL):
            latex = html.escape(block or inline, quote=False)
            assert "<math" in draw(f'<div class="arithmatex">\\[{latex}\\]</div>', page.name)
    assert not caplog.messages


def test_generated_text_keeps_its_code_and_no_other_signs() -> None:
    escape = runpy.run_path(str(DOCS / "hooks.py"))["escape"]
    assert escape("h_t of `query_size` <b>") == r"h\_t of `query_size` &lt;b&gt;"


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
