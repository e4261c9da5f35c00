"""What a terminal shows is broken at its width; a log has one line an event."""

import io

import pytest
from rich.table import Table

from seq2see.system.console import make_console, print_table

LONG = "word " * 60 + "end"


class Terminal(io.StringIO):
    """A stream that says it is a terminal."""

    def isatty(self) -> bool:
        """Return True."""
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """A terminal of 40 columns."""
    monkeypatch.setenv("COLUMNS", "40")
    monkeypatch.setenv("TERM", "xterm")
    return Terminal()


def make_table() -> Table:
    table = Table("metric", "signature", title="two rows", title_justify="left")
    table.add_row("bleu", "a" * 200)
    table.add_row("exact_match", "b")
    return table


def test_a_log_has_the_whole_line() -> None:
    log = io.StringIO()
    make_console(log).print(LONG)
    assert log.getvalue() == LONG + "\n"


def test_a_terminal_breaks_lines_at_its_width(terminal: Terminal) -> None:
    make_console(terminal).print(LONG)
    lines = terminal.getvalue().splitlines()
    assert len(lines) > 5
    assert max(map(len, lines)) <= 40


def test_a_log_has_a_line_for_each_row_and_no_frame() -> None:
    log = io.StringIO()
    print_table(make_console(log), make_table())
    assert log.getvalue().splitlines() == [
        "two rows",
        "metric       signature",
        "bleu         " + "a" * 200,
        "exact_match  b",
    ]


def test_a_terminal_has_a_frame(terminal: Terminal) -> None:
    print_table(make_console(terminal), make_table())
    assert "┃" in terminal.getvalue()


def test_a_quiet_console_prints_nothing() -> None:
    log = io.StringIO()
    console = make_console(log, quiet=True)
    console.print("text")
    print_table(console, make_table())
    assert log.getvalue() == ""


def test_text_is_never_markup() -> None:
    log = io.StringIO()
    make_console(log).print("[bold]x[/bold] :smile:")
    assert log.getvalue() == "[bold]x[/bold] :smile:\n"
