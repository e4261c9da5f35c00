"""Texts of others as they are printed: nothing in them commands a terminal."""

import io
from pathlib import Path

import pytest
from rich.table import Table
from rich.text import Text

from seq2see.core.errors import DataError, Seq2SeeError
from seq2see.core.unicode import escape_controls
from seq2see.data.checks.data_doctor import examine
from seq2see.data.pairs import Origin
from seq2see.system.console import make_console, print_table

CLEAR, TURNED = "\x1b[2J", "\u202e"
NAME = "n" * 1_000_000


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"a{CLEAR}b", r"a\x1b[2Jb"),
        ("a\u202eb\u2066", r"a\u202eb\u2066"),
        ("a\nb\tc\r\0", r"a\nb\tc\r\x00"),
        ("\x9b2J\x7f\u2028\ud800", r"\x9b2J\x7f\u2028\ud800"),
        ("na\u00efve \u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \U0001f468\u200d\U0001f467 \u3000\u00a0", None),
    ],
)
def test_controls_become_escapes_and_letters_stay(text: str, shown: str | None) -> None:
    assert escape_controls(text) == (text if shown is None else shown)


def test_a_long_text_is_cut() -> None:
    assert escape_controls("abcd", most=4) == "abcd"
    assert escape_controls("abcde", most=4) == "abc\u2026"
    assert escape_controls("a\nb", kept="\n") == "a\nb"


def test_errors_are_escaped_and_bounded() -> None:
    assert str(Seq2SeeError(f"got {CLEAR}.")) == r"got \x1b[2J."
    assert str(DataError("no.", file=Path(f"a\n{TURNED}"), line=3)) == r"a\n\u202e, line 3: no."
    assert len(str(Seq2SeeError(NAME))) == 2000


@pytest.mark.parametrize("terminal", [False, True])
def test_a_console_prints_no_controls_of_others(terminal: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    written = io.StringIO()
    monkeypatch.setattr(written, "isatty", lambda: terminal)
    console = make_console(written)
    console.print(f"x{CLEAR}{TURNED}y")
    table = Table(f"h{CLEAR}", title=f"t{TURNED}")
    table.add_row(Text(f"cell{CLEAR}"))
    print_table(console, table)
    assert CLEAR not in written.getvalue()
    assert TURNED not in written.getvalue()
    assert r"x\x1b[2J\u202ey" in written.getvalue()
    assert (r"cell\x1b[2J" in written.getvalue()) is not terminal  # which cuts cells to their width


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.tsv", f"{CLEAR}{NAME}\ttext\tlabel\nb\tc\td\n"),
        ("x.tsv", f"{CLEAR}{NAME}\tlabel\n" + "\n".join(f"this is text {n}\t{n % 2}" for n in range(99))),
        ("x.csv", f"{CLEAR}{NAME},{NAME}\n" + "\n".join(f"text {n},{n % 2}" for n in range(99))),
        ("x.csv", f"source,target\na,{CLEAR}{NAME},c\n"),
        ("x.csv", f'source,target\na,"{CLEAR}{NAME}'),
        ("x.jsonl", f'{{"{NAME}\\u001b[2J": 1, "b": 2, "c": "d"}}\n'),
        ("x.jsonl", f'{{"source": "a", "{NAME}": "d"}}\n{{"source": 1}}\n'),
        ("x.jsonl", f'"{NAME}"\n'),
        ("x.json", f'[{{"source": {{"{NAME}": 1}}, "target": []}}]'),
        ("x.tsv", "text\tlabel\n" + "\n".join(f"this is text {n}\t{'aA'[n % 2]}{CLEAR}{NAME}" for n in range(9))),
        ("x.tsv", "text\tlabel\n" + "\n".join(f"this is text {n}\t{CLEAR}{NAME}" for n in range(9))),
        ("x.tsv", "text\tlabel\n" + "\n".join(f"text {n}\ta|{n % 2}{NAME}\nx\ta" for n in range(9))),
        ("x.tsv", "\n".join(f"{n}.png{NAME}.png\tcaption {n}" for n in range(9))),
    ],
)
def test_the_doctor_says_little_of_much_and_commands_no_terminal(tmp_path: Path, name: str, content: str) -> None:
    (tmp_path / name).write_text(content)
    said = str(examine({"train": Origin(tmp_path / name)}))
    assert "\x1b" not in said
    assert max(map(len, said.splitlines())) < 700
