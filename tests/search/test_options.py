"""Every decoding option is declared once: all surfaces have exactly the fields of `DecodeOptions`."""

import inspect
from dataclasses import fields
from pathlib import Path
from types import UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import pytest
from pydantic import TypeAdapter
from typer.main import get_command

from seq2see.cli.app import app
from seq2see.core.errors import SearchError
from seq2see.search.beam import Beam
from seq2see.search.factory import read_options
from seq2see.search.mbr import MinimumBayesRisk
from seq2see.search.option_table import BEGIN, END, LINE_LENGTH, insert_options, render_options
from seq2see.search.options import OPTIONS, DecodeKeywords, DecodeOptions
from seq2see.search.rules import Rules
from seq2see.search.sample import Sample

NAMES = [field.name for field in fields(DecodeOptions)]
HELP = {option.name: option.help for option in OPTIONS}
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "predicting.md"


@pytest.mark.parametrize(("command", "without"), [("predict", []), ("evaluate", ["n_best"]), ("compare", ["n_best"])])
def test_the_command_line_has_every_option_with_its_help(command: str, without: list[str]) -> None:
    found: Any = get_command(app)
    known = {each.name: each for each in found.commands[command].params}
    shown = [name for name in NAMES if name not in without]
    assert [name for name in known if name in NAMES] == shown
    for name in shown:
        assert known[name].opts == [f"--{name.replace('_', '-')}"]
        assert known[name].help == HELP[name]


def test_the_python_call_has_every_option_with_its_type() -> None:
    keywords = get_type_hints(DecodeKeywords)
    assert list(keywords) == NAMES
    hints = get_type_hints(DecodeOptions)  # without bounds and help
    for name in NAMES:
        mine = hints[name]
        assert mine == keywords[name] or mine in get_args(keywords[name]), name


def test_http_requests_and_the_page_have_every_option_with_its_help() -> None:
    pytest.importorskip("fastapi", reason="serving needs the extra serve")
    from seq2see.serve.bounds import Bounds
    from seq2see.serve.requests import ExplainRequest, PredictRequest
    from seq2see.serve.responses import describe_options

    for request in (PredictRequest, ExplainRequest):
        properties = TypeAdapter(request).json_schema()["properties"]
        assert [name for name in properties if name in NAMES] == NAMES
        assert {name: properties[name]["description"] for name in NAMES} == HELP
    page = describe_options(Bounds())
    assert {each.name: each.help for each in page} == HELP
    assert all(each.searches for each in page)


def test_the_guide_has_the_list_of_all_options() -> None:
    page, listed = GUIDE.read_text(encoding="utf-8"), render_options()
    assert page.count(BEGIN) == page.count(END) == 1
    assert insert_options(page) == page, "run: python -m seq2see.search.option_table docs/guide/predicting.md"
    for name in NAMES:
        assert listed.count(f"- **`--{name.replace('_', '-')}`** / `{name}` (") == 1, name
    assert max(map(len, listed.splitlines())) <= LINE_LENGTH


def strip_none(hint: Any) -> Any:
    """The type of an option that is given."""
    if get_origin(hint) not in (Union, UnionType):
        return hint
    [given] = [each for each in get_args(hint) if each is not type(None)]
    return given


@pytest.mark.parametrize("option", OPTIONS, ids=lambda option: option.name)
def test_an_option_has_one_type_and_one_bound_here_and_where_it_is_used(option: Any) -> None:
    constructors: dict[str, Any] = {"beam": Beam, "mbr": MinimumBayesRisk, "sample": Sample, "rules": Rules}
    if option.use in ("search", "output") or option.kind == "words":
        return
    signature = inspect.signature(constructors[option.use], eval_str=True)
    whole = get_args(get_type_hints(DecodeOptions, include_extras=True)[option.name])[0]
    assert strip_none(signature.parameters[option.parameter].annotation) == strip_none(whole)


def test_options_are_described_by_hand() -> None:
    described = {option.name: option for option in OPTIONS}
    beam, top_p, form = described["beam"], described["top_p"], described["length_form"]
    assert (beam.kind, beam.minimum, beam.maximum, beam.parameter) == ("integer", 1, None, "width")
    assert (top_p.kind, top_p.above, top_p.maximum, top_p.use) == ("number", 0, 1, "sample")
    assert (form.kind, form.choices) == ("choice", ("power", "gnmt"))
    kinds = {name: described[name].kind for name in ("ban", "replace_unknown", "dictionary")}
    assert kinds == {"ban": "words", "replace_unknown": "boolean", "dictionary": "dictionary"}


def test_given_options_are_those_that_are_not_left_out() -> None:
    options = read_options({"beam": 4, "length_penalty": 0, "ban": ["a"], "seed": 0, "replace_unknown": False})
    assert options.given() == {"beam": 4, "length_penalty": 0, "ban": ("a",), "seed": 0}
    assert options.arguments("beam") == {"width": 4, "length_penalty": 0}
    assert DecodeOptions().given() == {}


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"beam": 0}, "beam must be greater than or equal to 1; got 0"),
        ({"beam": 2.5}, "beam must be a valid integer; got 2.5"),
        ({"beam": "4"}, "beam must be a valid integer; got '4'"),
        ({"mbr_precision": 1.5}, "mbr_precision must be less than or equal to 1; got 1.5"),
        ({"ban": "word"}, "ban must be a valid array; got 'word'"),
        ({"length_form": "gnnt"}, "did you mean 'gnmt'?"),
        ({"temprature": 1.0}, "there is no decoding option 'temprature'; did you mean 'temperature'?"),
    ],
    ids=str,
)
def test_what_an_option_cannot_be_is_one_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(SearchError) as caught:
        read_options(given)
    assert sentence in str(caught.value)
    assert "\n" not in str(caught.value)
