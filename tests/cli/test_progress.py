"""What people see while they wait."""

from io import StringIO

import pytest
from rich.console import Console

from seq2see.cli import progress
from seq2see.cli.progress import show_progress, showing_preparation, write_time
from seq2see.train.event import Evaluated, Finished, Stepped


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
    # one picture a second since the first 100, which were there before; a line a minute
    assert read(paper) == [
        "looking at pictures: 160 of 290, ETA 0:02:10",
        "looking at pictures: 230 of 290, ETA 0:01:00",
    ]


def test_the_pictures_of_a_second_file_have_a_pace_of_their_own(
    paper: Console, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = iter([0.0, 0.0, 50.0, 60.0, 160.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(clock))
    with showing_preparation(paper) as tell:
        for done, total in ((0, 1000), (1000, 1000), (0, 100), (50, 100)):
            tell(done, total)
    # half of the second file in a hundred seconds, whatever the first one took
    assert read(paper) == ["looking at pictures: 50 of 100, ETA 0:01:40"]


def test_a_look_shows_the_scores_that_say_something(paper: Console) -> None:
    texts = {"valid_loss": 1.5, "exact_match": 0.0, "bleu": 31.25, "chrf": 50.0}
    dates = {"valid_loss": 0.5, "exact_match": 99.5, "bleu": 0.0, "chrf": 90.0}
    events = [
        Stepped(1, 2.0, 100, 0.5, 0.1),
        Evaluated(1, texts, best=True),
        Evaluated(2, dates, best=False),
        Finished(2, "done", complete=True),
    ]
    assert show_progress(events, paper, total=2).complete
    assert read(paper) == [
        "update      1  loss 2.000  held-out loss 1.500  exact match 0.0%  BLEU 31.2 (best so far)  200 tokens/s",
        "update      2  loss 2.000  held-out loss 0.500  exact match 99.5%  200 tokens/s",
    ]
