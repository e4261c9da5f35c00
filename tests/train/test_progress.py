"""What people see while they wait."""

import sys
from io import StringIO
from types import ModuleType, SimpleNamespace

import pytest
from rich.console import Console

from seq2see.training import progress
from seq2see.training.events import Event, Finished, Stepped, Validated
from seq2see.training.progress import ProgressView, TerminalDisplay, choose_display, showing_preparation, write_time


@pytest.fixture
def paper() -> Console:
    """Where there is no terminal."""
    return Console(file=StringIO(), width=120)


def read(paper: Console) -> list[str]:
    assert isinstance(paper.file, StringIO)
    return paper.file.getvalue().splitlines()


@pytest.mark.parametrize(("seconds", "text"), [(0.0, "0:00:00"), (59.9, "0:00:59"), (3661.0, "1:01:01")])
def test_times_are_hours_minutes_and_seconds(seconds: float, text: str) -> None:
    assert write_time(seconds) == text


def test_a_preparation_tells_what_is_left_where_there_is_no_bar(
    paper: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 10.0, 70.0, 80.0, 140.0])  # when it begins, and when it is told of 100, 160, 170 and 230
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with showing_preparation(paper) as tell:
        for done in (100, 160, 170, 230):
            tell(done, 290)
    # one image a second since the first 100, which were there before; a line a minute
    assert read(paper) == [
        "preparing images: 160 of 290, ETA 0:02:10",
        "preparing images: 230 of 290, ETA 0:01:00",
    ]


def test_the_images_of_a_second_file_have_a_pace_of_their_own(paper: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = iter([0.0, 0.0, 50.0, 60.0, 160.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with showing_preparation(paper) as tell:
        for done, total in ((0, 1000), (1000, 1000), (0, 100), (50, 100)):
            tell(done, total)
    # half of the second file in a hundred seconds, whatever the first one took
    assert read(paper) == ["preparing images: 50 of 100, ETA 0:01:40"]


TEXTS = {"valid_loss": 1.5, "exact_match": 0.0, "bleu": 31.25, "chrf": 50.0}
DATES = {"valid_loss": 0.5, "exact_match": 99.5, "bleu": 0.0, "chrf": 90.0}
EVENTS: list[Event] = [
    Stepped(1, 2.0, 100, 0.5, 0.1),
    Validated(1, TEXTS, best=True),
    Validated(2, DATES, best=False),
    Finished(2, "done", complete=True),
]
LINES = [
    "update      1  loss 2.000  held-out loss 1.500  exact match 0.0%  BLEU 31.2 (best so far)  200 tokens/s",
    "update      2  loss 2.000  held-out loss 0.500  exact match 99.5%  200 tokens/s",
]


def test_a_validation_shows_the_scores_that_say_something(paper: Console) -> None:
    with TerminalDisplay(paper, total=2) as display:
        view = ProgressView(display, total=2)
        for event in EVENTS:
            view.show(event)
    assert read(paper) == LINES


def test_a_log_gets_a_line_a_minute_between_validations(paper: Console, monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0.0]
    monkeypatch.setattr(progress.time, "monotonic", lambda: clock[0])
    with TerminalDisplay(paper, total=4_000) as display:
        view = ProgressView(display, total=4_000)
        for update, seconds in ((1, 59.0), (2, 60.0), (3, 100.0), (4, 125.0)):
            clock[0] = seconds
            view.show(Stepped(update, 2.0, 100, 0.5, 0.1))
            if update == 3:
                view.show(Validated(3, TEXTS, best=True))
    lines = read(paper)
    assert lines[0] == "update      2 of 4,000  loss 2.000  200 tokens/s  ETA 0:33:19"
    assert len(lines) == 2  # the validation at 100 seconds is news enough until 160


class FakePage:
    """What IPython's `HTML` and the handle of `display` do, as far as it matters here."""

    def __init__(self, text: str) -> None:
        self.text = text


class FakeHandle:
    def __init__(self) -> None:
        self.pages: list[str] = []

    def update(self, page: FakePage) -> None:
        self.pages.append(page.text)


@pytest.fixture
def notebook(monkeypatch: pytest.MonkeyPatch) -> FakeHandle:
    """A kernel of Jupyter, whose one output is the handle."""
    handle = FakeHandle()

    def display(page: FakePage, *, display_id: bool) -> FakeHandle:
        assert display_id
        handle.pages.append(page.text)
        return handle

    shell = SimpleNamespace(kernel=object())
    monkeypatch.setitem(sys.modules, "IPython", ModuleType("IPython"))
    monkeypatch.setattr(sys.modules["IPython"], "get_ipython", lambda: shell, raising=False)
    page = ModuleType("IPython.display")
    page.HTML, page.display = FakePage, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython.display", page)
    return handle


def test_a_notebook_has_one_bar_that_is_updated_in_place(paper: Console, notebook: FakeHandle) -> None:
    with choose_display(paper, total=2) as display:
        view = ProgressView(display, total=2)
        for event in EVENTS:
            view.show(event)
    assert read(paper) == []
    assert 'value="0" max="2"' in notebook.pages[0]
    assert 'value="1" max="2"' in notebook.pages[-1]
    assert "\n".join(LINES) in notebook.pages[-1]


def test_a_bar_of_a_notebook_is_not_drawn_for_every_update(
    paper: Console, notebook: FakeHandle, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.0, 0.1, 0.3, 0.3, 0.4])  # each drawing asks twice
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    display = choose_display(paper, total=10)
    for update in (1, 2, 3, 4):
        display.advance(update, "loss 1", "?")
    shown = [page.split('value="')[1].split('"')[0] for page in notebook.pages]
    assert shown == ["0", "1", "3"]


def test_what_a_notebook_shows_is_text_and_never_markup(paper: Console, notebook: FakeHandle) -> None:
    choose_display(paper, total=1).print("<b>&")
    assert "&lt;b&gt;&amp;" in notebook.pages[-1]


def test_outside_a_notebook_the_console_is_used(paper: Console) -> None:
    assert isinstance(choose_display(paper, total=1), TerminalDisplay)
