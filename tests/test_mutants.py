"""The tables of mutants fit the source that they are made for, so that `bench/mutants.py` can run them."""

import importlib.util
import sys
from collections import Counter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGES = sorted(place.parent.name for place in (ROOT / "src" / "seq2see").glob("*/__init__.py"))
WITHOUT_TABLE = {"presets", "testing"}  # data, and laws that every test runs

spec = importlib.util.spec_from_file_location("mutants", ROOT / "bench" / "mutants.py")
assert spec is not None
assert spec.loader is not None
mutants = importlib.util.module_from_spec(spec)
sys.modules["mutants"] = mutants
spec.loader.exec_module(mutants)


def test_every_mutant_fits_its_file_and_names_tests_that_exist() -> None:
    found = mutants.read_mutants()  # an old text that is gone, or a mutant that does not parse, raises an error
    for mutant in found:
        assert mutant.equivalent or mutant.tests, mutant.mistake
        for test in mutant.tests:
            assert (ROOT / "tests" / test.partition("::")[0]).exists(), f"{mutant.mistake}: {test}"
    names = Counter((mutant.file, mutant.mistake) for mutant in found)
    assert not [name for name, count in names.items() if count > 1]


def test_every_package_has_mutants() -> None:
    counts = Counter(mutant.package for mutant in mutants.read_mutants() if not mutant.equivalent)
    assert set(PACKAGES) - WITHOUT_TABLE <= counts.keys()
    assert sum(count for package, count in counts.items() if package != "scripts") >= 150
    assert counts["scripts"] >= 25


@pytest.mark.parametrize(("text", "count"), [("a = 1\n", 0), ("b = 2\nb = 2\n", 2)])
def test_a_mutant_whose_text_does_not_occur_once_is_refused(text: str, count: int) -> None:
    mutant = mutants.Mutant("nn", Path("x.py"), "wrong number", "b = 2", "b = 3", ("nn",))
    with pytest.raises(LookupError, match=f"occurs {count} times"):
        mutant.apply(text)
    assert mutant.apply("a = 1\nb = 2\n") == "a = 1\nb = 3\n"
