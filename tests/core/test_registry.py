"""The registry: from `{kind: name, ...}` to an object, or one sentence that names the key."""

import importlib.metadata
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import pytest

from seq2see.core import registry
from seq2see.core.errors import ConfigError
from seq2see.core.part_sizes import SIZES
from seq2see.core.part_table import TABLE
from seq2see.core.registry import Part, find, is_trusted, names, part, suggest, trust_modules, trust_named


class Inner:
    """A part without parts."""

    def __init__(self, *, size: int, factor: float = 1.0) -> None:
        self.size, self.factor = size, factor


class Outer:
    """A part with everything a part can have."""

    def __init__(
        self,
        *,
        score: Part,
        size: int = 3,
        rate: float = 0.5,
        deep: bool = False,
        shape: tuple[int, int] = (1, 1),
        normalise: Literal["nfc", "none"] = "nfc",
        plain=None,  # type: ignore[no-untyped-def]
    ) -> None:
        self.score = score(size=size)
        self.size, self.rate, self.deep, self.shape, self.normalise, self.plain = (
            size,
            rate,
            deep,
            shape,
            normalise,
            plain,
        )


@pytest.fixture(autouse=True)
def table(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two parts of our own beside those of the package."""
    own = {"score": {"inner": f"{__name__}:Inner"}, "reader": {"outer": f"{__name__}:Outer"}}
    for group, entries in own.items():
        monkeypatch.setitem(TABLE, group, {**TABLE[group], **entries})


def refuse(act: Callable[[], Any]) -> ConfigError:
    with pytest.raises(ConfigError) as caught:
        act()
    assert "\n" not in str(caught.value)
    return caught.value


PARTS = [(group, kind) for group in TABLE if group != "task" for kind in TABLE[group]]  # a task has no options


@pytest.mark.parametrize(("group", "kind"), PARTS)
def test_every_name_leads_to_a_class_with_typed_options(group: str, kind: str) -> None:
    found = find(group, kind)
    assert inspect.isclass(found)
    for parameter in inspect.signature(found).parameters.values():
        if parameter.kind in (parameter.VAR_POSITIONAL, parameter.VAR_KEYWORD):
            continue  # a module without a constructor of its own
        assert parameter.kind is parameter.KEYWORD_ONLY
        assert parameter.annotation is not parameter.empty


def test_options_and_sizes_meet_in_the_constructor() -> None:
    built = part("reader", {"kind": "outer", "score": {"kind": "inner", "factor": 2}, "size": 7})(memory_size=5)
    assert (built.score.size, built.score.factor, built.size, built.rate) == (7, 2.0, 7, 0.5)
    assert isinstance(built.score.factor, float)


def test_a_name_alone_is_a_part_too() -> None:
    assert part("score", "inner")(size=4).size == 4
    made = part("score", "inner")
    assert part("score", made) is made
    assert made == part("score", {"kind": "inner"}, path=("model", "score"))


@pytest.mark.parametrize(
    ("option", "value", "expected"),
    [
        ("size", True, "reader.size must be a valid integer; got True."),
        ("size", 2.0, "reader.size must be a valid integer; got 2.0."),
        ("size", "2", "reader.size must be a valid integer; got '2'."),
        ("rate", "fast", "reader.rate must be a valid number; got 'fast'."),
        ("rate", float("nan"), "reader.rate must be a finite number; got nan."),
        ("rate", None, "reader.rate must be a valid number; got None."),
        ("deep", 1, "reader.deep must be a valid boolean; got 1."),
        ("normalise", "nfcc", "reader.normalise must be 'nfc' or 'none'; got 'nfcc'; did you mean 'nfc'?"),
        ("shape", [1, "x" * 200], "reader.shape must be a valid integer; got 'xxx"),
    ],
)
def test_a_value_of_another_type_is_refused(option: str, value: Any, expected: str) -> None:
    error = refuse(lambda: part("reader", {"kind": "outer", option: value}, path=("reader",)))
    assert expected in str(error)
    assert error.path == ("reader", option)
    assert len(str(error)) < 200


def test_values_that_fit_are_taken() -> None:
    options = {"rate": 1, "shape": [2, 3], "normalise": "none", "plain": {"any": "thing"}}
    chosen = part("reader", {"kind": "outer", "score": "inner", **options}).options
    assert chosen["rate"] == 1.0
    assert isinstance(chosen["rate"], float)
    assert chosen["shape"] == (2, 3)
    assert chosen["normalise"] == "none"  # a group has this name, but the option is no part
    assert chosen["plain"] == {"any": "thing"}


@pytest.mark.parametrize(
    ("spec", "path", "expected"),
    [
        (
            {"kind": "outer", "sise": 3},
            ("sise",),
            "reader outer has no option 'sise'; did you mean 'size'? (known: score",
        ),
        (
            {"kind": "outer", "score": "inne"},
            ("score", "kind"),
            "there is no score named 'inne'; did you mean 'inner'?",
        ),
        (
            {"kind": "outer", "score": {"kind": "inner", "x": 1}},
            ("score", "x"),
            "score inner has no option 'x' (known: size",
        ),
        (
            {"kind": "outer", "score": {"factor": 2}},
            ("score",),
            "score must be a name or {kind: name, ...}; got {'factor'",
        ),
        ({"kind": "outer", "score": 3}, ("score",), "score must be a name or {kind: name, ...}; got 3."),
        ({"kind": "outer", 3: 3}, ("3",), "reader outer has no option '3' (known: score"),
        ("outr", ("kind",), "there is no reader named 'outr'; did you mean 'outer'? (known: none"),
        (["outer"], (), "reader must be a name or {kind: name, ...}; got ['outer']."),
    ],
)
def test_mistakes_are_named_with_their_path(spec: Any, path: tuple[str, ...], expected: str) -> None:
    error = refuse(lambda: part("reader", spec, path=("model", "reader")))
    assert expected in str(error)
    assert error.path == ("model", "reader", *path)


def test_a_size_that_follows_from_the_surroundings_cannot_be_set() -> None:
    chosen = part("score", {"kind": "inner", "size": 3}, path=("model", "score"))
    error = refuse(lambda: chosen(size=4))
    assert "size follows from the surroundings; remove it" in str(error)
    assert error.path == ("model", "score", "size")


def test_a_missing_option_is_named() -> None:
    error = refuse(lambda: part("reader", "outer", path=("model", "reader"))())
    assert "reader outer needs the option score; add it" in str(error)
    assert error.path == ("model", "reader")


def test_a_constructor_that_refuses_gets_the_path_too(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse_size(self: Inner, *, size: int) -> None:
        raise ConfigError(f"size must be even; got {size}.")

    monkeypatch.setattr(Inner, "__init__", refuse_size)
    error = refuse(lambda: part("score", "inner", path=("model", "score"))(size=3))
    assert (str(error), error.path) == ("size must be even; got 3.", ("model", "score"))


def test_installed_packages_add_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    good = importlib.metadata.EntryPoint("theirs", f"{__name__}:Inner", "seq2see.score")
    bad = importlib.metadata.EntryPoint("broken", "no_such_module:X", "seq2see.score")
    entries = importlib.metadata.EntryPoints([good, bad])
    monkeypatch.setattr(registry, "entry_points", lambda **wanted: entries.select(**wanted))
    assert names("score")[-2:] == ["theirs", "broken"]
    assert part("score", "theirs")(size=2).size == 2
    assert "No module named 'no_such_module'" in str(refuse(lambda: part("score", "broken")))
    assert "did you mean 'theirs'" in str(refuse(lambda: part("score", "their")))


def test_a_class_of_your_own_is_found_in_your_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "my_first_file.py").write_text(
        "class MyScore:\n    def __init__(self, *, query_size, power=2):\n        self.made = (query_size, power)\n"
        "NUMBER = 3\nhidden = int\n"
    )
    (tmp_path / "my_broken_file.py").write_text("class MyScore:\n  def oops(\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(registry, "_trusted", set())
    error = refuse(lambda: part("score", {"kind": "my_first_file:MyScore"}))
    assert "'my_first_file:MyScore' is code of its own; read it first, then allow it with --trust" in str(error)
    assert "my_first_file" not in sys.modules
    trust_modules(["my_first_file", "my_absent_file", "my_broken_file", "", "..a b"])
    assert part("score", {"kind": "my_first_file:MyScore", "power": 3})(query_size=5).made == (5, 3)
    for kind, expected in [
        ("my_first_file:MyScor", "has no attribute 'MyScor'"),
        ("my_first_file:NUMBER", "got 3."),
        ("my_first_file:", "has no attribute ''"),
        ("my_absent_file:MyScore", "No module named 'my_absent_file'"),
        ("my_broken_file:MyScore", "SyntaxError"),
        (":MyScore", "must name a class as file:Class"),
        ("..a b:X", "must name a class as file:Class"),
    ]:
        error = refuse(lambda kind=kind: part("score", kind, path=("score",)))  # type: ignore[misc]
        assert expected in str(error)
        assert error.path == ("score", "kind")


def test_suggestions_are_made_only_for_words_that_are_close() -> None:
    assert suggest("updats", ["updates", "seed"]) == "; did you mean 'updates'?"
    assert suggest("xyz", ["updates", "seed"]) == ""


def test_a_keyword_that_nobody_knows_is_refused() -> None:
    """A size of the group that a constructor does not need is not given to it; any other keyword is a mistake."""
    chosen = part("score", "inner", path=("model", "score"))
    assert (chosen.takes("size"), chosen.takes("query_size")) == (True, False)
    assert chosen(size=4, query_size=3).size == 4
    error = refuse(lambda: chosen(size=4, quary_size=3))
    assert "score inner takes no 'quary_size'; did you mean 'query_size'?" in str(error)
    assert error.path == ("model", "score")


def test_a_part_for_other_sources_says_what_it_needs() -> None:
    error = refuse(lambda: part("encoder", "vit", path=("model", "encoder"))(vocabulary=9))
    assert str(error) == "encoder vit needs image_size, but is given vocabulary; choose one for such sources."


def test_sizes_are_listed_for_groups_that_exist() -> None:
    assert SIZES.keys() <= TABLE.keys()


def test_a_name_in_the_callers_own_argument_is_trusted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "_trusted", set())
    trust_named({"kind": "rnn", "reader": {"kind": "mine:Reader", "score": "yours:Score"}, "size": 3})
    assert [is_trusted(kind) for kind in ("dot", "mine:Other", "yours:X", "theirs:X")] == [True, True, True, False]


def test_a_word_of_a_million_letters_is_shortened() -> None:
    for call in (
        lambda: part("score", "x" * 1_000_000),
        lambda: part("score", f"{'x' * 1_000_000}:X"),
        lambda: part("score", {"kind": "dot", "x" * 1_000_000: 1}),
    ):
        assert len(str(refuse(call))) < 500
