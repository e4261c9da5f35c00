"""YAML as people write it, and back."""

from itertools import pairwise
from math import inf
from time import perf_counter
from typing import Any

import pytest

from seq2see.config.notation import dump, parse
from seq2see.core.errors import ConfigError


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-3", 0.001),
        ("-1E5", -100000.0),
        ("1.", 1.0),
        (".5", 0.5),
        ("1.5e-7", 1.5e-7),
        (".inf", inf),
        ("10_000", 10000),
        ("007", 7),
        ("-3", -3),
        ("true", True),
        ("FALSE", False),
        ("~", None),
        ("", None),
        ("no", "no"),
        ("on", "on"),
        ("1e", "1e"),
        ("12:30", "12:30"),
        ("2020-01-01", "2020-01-01"),
        ("'1e-3'", "1e-3"),
        ("[en, no, 1e-3]", ["en", "no", 0.001]),
    ],
)
def test_scalars_are_what_they_look_like(text: str, value: Any) -> None:
    parsed, _ = parse(text, "x")
    assert parsed == value
    assert type(parsed) is type(value)


TRICKY = [
    *("a#b", "a # b", "a: b", "a:b", "- a", "[a", "{a", "*a", "&a", "!a", "%a", "@a", "`a", "'a'", '"a"', "a'b", "\\"),
    *(
        "",
        " ",
        " a",
        "a ",
        "a  b",
        "~",
        "null",
        "true",
        "no",
        "1",
        "1.0",
        "1e-3",
        "1e-05",
        ".inf",
        "1_0",
        "010",
        "<<",
        "=",
    ),
    *(
        "ünï/مرحبا.tsv",
        "😀",
        "a\tb",
        "a\nb",
        "a\n\n b\n",
        "a\x85b",
        "a\u2028b",
        "\ufeffa",
        "\0",
        "a\r",
        "x" * 300 + " y",
    ),
    *(1e-05, 1e300, 0.1, -0.0, inf, 3, 10**40, True, False, None, [], {}),
]


@pytest.mark.parametrize("value", TRICKY, ids=lambda value: ascii(value)[:20])
def test_what_is_dumped_is_parsed_again(value: Any) -> None:
    for wrapped in (value, [value, "a, b"], {"key": value}, {"a": {"b": [value, {"c": value}]}}):
        text = dump(wrapped)
        again, _ = parse(text, "x")
        assert repr(again) == repr(wrapped)  # tells 1 from 1.0 and from True
        assert "\n" not in text or isinstance(wrapped, dict)


def test_every_key_has_its_line() -> None:
    _, lines = parse("a: 1\n\nb:\n  c: {d: 1,\n    e: 2}\n", "x")
    assert lines == {("a",): 1, ("b",): 3, ("b", "c"): 4, ("b", "c", "d"): 4, ("b", "c", "e"): 5}


def test_text_that_stands_for_much_is_refused_at_once() -> None:
    laughs = "\n".join(f"{name}: &{name} [{', '.join(['*' + below] * 9)}]" for below, name in pairwise("abcdefghij"))
    begin = perf_counter()
    with pytest.raises(ConfigError, match=r"x, line 1: anchors and aliases \(&a\) are not read"):
        parse(f"a: &a [1]\n{laughs}\n", "x")
    assert perf_counter() - begin < 1


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: 1\nb: {c: 1\n", "x, line 3: this is not YAML: expected ',' or '}'"),
        ("a: 1\n\tb: 2\n", "x, line 2: this is not YAML: found character '\\t'"),
        ("a: 1: 2\n", "x, line 1: this is not YAML: mapping values are not allowed here"),
        ("a: 1\nb: '\x07'\n", "x, line 2: this is not YAML: a control character; remove it."),
        ("a: *b\n", "x, line 1: anchors and aliases (&b) are not read; write the values themselves."),
        ("a: !!python/object:os.system x\n", "x, line 1: tags (tag:yaml.org,2002:python/object:os.syste) are not read"),
        ("a: !!int x\n", "x: this is not YAML: invalid literal"),
        ("a: !!set {x}\n", "x, line 1: tags (tag:yaml.org,2002:set) are not read"),
        ("[a]: 1\n", "x, line 1: a key must be a word, not a list or section."),
        ("a: 1\n---\nb: 1\n", "x, line 2: this is not YAML: but found another document"),
        ("&a {b: *a}", "x, line 1: anchors and aliases (&a) are not read"),
        ("{<<: {a: 1}, b: 2}", "x, line 1: merges (<<) are not read"),
        ("a: " + "[" * 33 + "]" * 33, "x, line 1: sections are at most 32 deep"),
        ("[" * 90_000, "x, line 1: sections are at most 32 deep"),
        ("# " + "a" * 100_000, "x: a configuration must have at most 100,000 characters; got 100,002"),
        (f"{'k' * 900}: 1\n{'k' * 900}: 1\n", ".. must occur once; it is in line 1, too"),
        ("a: 1\nb: 2\na: 3\n", "x, line 3: the key a must occur once; it is in line 1, too"),
        ("a: {b: 1,\n  c: 2, b: 3}\n", "x, line 2: the key a.b must occur once; it is in line 1, too"),
    ],
    ids=lambda value: ascii(value)[1:20],
)
def test_what_is_no_yaml_is_refused_in_one_line(text: str, expected: str) -> None:
    with pytest.raises(ConfigError) as caught:
        parse(text, "x")
    assert expected in str(caught.value)
    assert "\n" not in str(caught.value)
