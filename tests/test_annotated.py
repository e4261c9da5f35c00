"""The annotated pages run, say what they must, and every paper that is cited anywhere is in the list of references."""

import calendar
import re
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

import pytest

from annotated import BLOCK, FOLDER, PAGES, run
from seq2see.core.registry import find

ROOT = Path(__file__).parent.parent
REFERENCES = ROOT / "docs" / "references.md"
CITING = [
    *sorted((ROOT / "src").rglob("*.py")),
    *sorted((ROOT / "src").rglob("*.yaml")),
    *(page for page in sorted((ROOT / "docs").rglob("*.md")) if page != REFERENCES),
    ROOT / "README.md",
]
MONTHS = calendar.month_name[1:]

NAME = r"[A-ZÀ-Þ][\w'’-]+"
CITATION = re.compile(rf"((?:{NAME}, )*{NAME})(?: (et al\.)| & ({NAME}))?,? \(?((?:19|20)\d\d[a-z]?)\b")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_runs(page: Path) -> None:
    run(page)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_page_has_an_equation_a_paper_and_an_assertion(page: Path) -> None:
    text = page.read_text()
    assert re.search(r"^\$\$$", text, re.MULTILINE)
    assert re.search(r"\]\(https://(arxiv\.org/abs|doi\.org)/", text)
    code = "\n".join(BLOCK.findall(text))
    assert "np.testing.assert_" in code or "assert " in code
    assert "seq2see" in code  # something of ours is held against the equation
    assert max(map(len, text.splitlines())) <= 120


def test_pages_link_to_files_that_exist() -> None:
    for page in (*PAGES, FOLDER / "index.md"):
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (FOLDER / target).exists(), f"{page.name} links to {target}"


def test_the_index_lists_every_page_in_order_and_what_it_names_exists() -> None:
    entries = re.findall(r"^- \[[^\]]+\]\(([^)]+)\)\n((?:  .*\n)+)", (FOLDER / "index.md").read_text(), re.MULTILINE)
    assert [page for page, _ in entries] == [page.name for page in PAGES]
    for page, entry in entries:
        named = re.findall(r"`([^`]+)`", " ".join(entry.partition("In this package:")[2].split()))
        assert named, page
        for name in named:
            resolve(name)


def resolve(name: str) -> object:
    """A part by `group: kind`, or what a dotted name stands for."""
    if ": " in name:
        return find(*name.split(": "))
    module, _, attribute = name.rpartition(".")
    return getattr(import_module(module), attribute)


class Reference(NamedTuple):
    """An entry of the list: its key, the surnames of its authors, the year with the letter of its key, and a link."""

    key: str
    authors: tuple[str, ...]
    year: str
    link: str


def read_references() -> list[Reference]:
    """The entries "- `key` A. Author, B. Author (year). *Title.* [text](link)", over several lines."""
    references = []
    for entry in re.split(r"^- ", REFERENCES.read_text(), flags=re.MULTILINE)[1:]:
        flat = " ".join(entry.split())
        parts = re.fullmatch(r"`(\D+(\d{4}[a-z]?))` (.+?) \((\d{4})\)\. \*.+[.?]\* \[.+\]\((.+)\)", flat)
        assert parts, f"cannot read {flat}"
        key, year, authors, plain_year, link = parts.groups()
        assert year.startswith(plain_year), flat
        surnames = tuple(re.sub(r"^(?:\w\.[ -]?)+", "", author) for author in authors.split(", "))
        references.append(Reference(key, surnames, year, link))
    return references


def cite(reference: Reference) -> set[str]:
    """Every way in which a text may cite it."""
    first, *others = reference.authors
    several = {f"{first} et al."} if len(others) > 1 else set()
    listed = f"{', '.join(reference.authors[:-1])} & {others[-1]}" if others else first
    return {f"{who} {reference.year}" for who in (listed, *several)}


def find_citations(text: str) -> list[str]:
    """All of `A et al. 2015`, `A & B 2015`, `A, B & C 2015` and `A 2015`, also over the end of a line."""
    flat = re.sub(r"\s+(?:#\s+)?", " ", text)
    found = []
    for names, several, last, year in CITATION.findall(flat):
        who = names + (" et al." if several else f" & {last}" if last else "")
        if who.split(", ")[-1] not in MONTHS:
            found.append(f"{who if several or last else who.split(', ')[-1]} {year}")
    return found


def test_citations_are_found_in_every_form() -> None:
    text = "As in Xu et al.\n    2015, Kumar & Byrne 2004, Cheng, Dong & Lapata 2016; Koehn (2004) of 2 May 2018."
    assert find_citations(text) == ["Xu et al. 2015", "Kumar & Byrne 2004", "Cheng, Dong & Lapata 2016", "Koehn 2004"]


def test_every_citation_is_in_the_list_of_references() -> None:
    known = {way for reference in read_references() for way in cite(reference)}
    missing = {}
    for path in CITING:
        for citation in find_citations(path.read_text()):
            if citation not in known:
                missing.setdefault(citation, str(path.relative_to(ROOT)))
    assert missing == {}


def test_every_identifier_that_is_cited_is_in_the_list() -> None:
    known = {reference.link for reference in read_references()}
    for path in CITING:
        text = path.read_text()
        links = {f"https://arxiv.org/abs/{number}" for number in re.findall(r"arXiv:(\d{4}\.\d{4,5})", text)}
        links |= {f"https://doi.org/{number.rstrip('.')}" for number in re.findall(r"doi:(10\.[^\s\]),;]+)", text)}
        assert links <= known, f"{path.relative_to(ROOT)} cites {sorted(links - known)}"


def test_references_are_sorted_and_each_has_a_link_of_its_own() -> None:
    references = read_references()
    keys, links = [reference.key for reference in references], [reference.link for reference in references]
    assert keys == sorted(set(keys))
    assert len(set(links)) == len(links)
    assert all(key.startswith(reference.authors[0].lower()) for key, reference in zip(keys, references, strict=True))
