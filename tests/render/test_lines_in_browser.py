"""The table of all held-out lines in a report: sorted, filtered, and with a way to the attention of a line."""

from dataclasses import replace

import numpy as np
import pytest

from browser import Browser
from seen import Show, read_texts
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.image_grid import encode_image
from seq2see.render.html.report import Example, Report, render_report
from seq2see.runs.held_out_file import HeldOut, HeldOutLine

LINES = (
    HeldOutLine(2, "zwei 10", "Two", ("two",), 0.75, False),
    HeldOutLine(4, "äpfel 9", "apples", ("apples", "fruit"), 0.5, True),
    HeldOutLine(6, "", "", ("nothing",), None, False),
    HeldOutLine(8, "acht 9", "eight", ("eight",), 0.875, True),
)
REPORT = Report("Numbers", held_out=HeldOut("test data", 9, LINES))
NUMBERS = "[...document.querySelectorAll('.lines-table tbody tr')].map((row) => Number(row.dataset.line))"


def read_numbers(browser: Browser) -> list[int]:
    return list(browser.run(NUMBERS))


def read_order(browser: Browser) -> list[str]:
    return list(browser.run("[...document.querySelectorAll('.lines-table th')].map((head) => head.ariaSort)"))


def find(browser: Browser, word: str) -> None:
    browser.run("document.querySelector('input[type=search]').select()")
    browser.click("input[type=search]")
    browser.run("document.querySelector('input[type=search]').select()")
    browser.type(word)


def test_lines_are_sorted_upwards_and_downwards(show: Show) -> None:
    browser = show(render_report(REPORT))
    assert read_numbers(browser) == [2, 4, 6, 8]
    orders = {1: [6, 8, 4, 2], 2: [6, 4, 8, 2], 3: [4, 8, 6, 2], 4: [4, 2, 8, 6], 5: [2, 6, 4, 8]}
    for column, numbers in orders.items():
        browser.click(".sorter", column)
        assert read_numbers(browser) == numbers, column
        assert read_order(browser) == ["ascending" if place == column else "none" for place in range(6)]
        browser.click(".sorter", column)
        assert read_order(browser)[column] == "descending"
        if column == 4:  # what has no confidence comes last in both directions
            assert read_numbers(browser) == [8, 2, 4, 6]
        elif column == 5:
            assert read_numbers(browser) == [4, 8, 2, 6]
        else:
            assert read_numbers(browser) == numbers[::-1]
    browser.run("document.querySelectorAll('.sorter')[0].focus()")
    browser.press("Enter")
    assert read_numbers(browser) == [2, 4, 6, 8]


def test_lines_are_found_by_word_and_by_verdict(show: Show) -> None:
    browser = show(render_report(REPORT))
    find(browser, "TWO ")
    assert read_numbers(browser) == [2]
    find(browser, "fruit")
    assert read_numbers(browser) == [4]
    find(browser, "9")
    assert read_numbers(browser) == [4, 8]
    browser.choose(".held-out select", "wrong (2)")
    assert read_numbers(browser) == []
    assert read_texts(browser, ".held-out [role=status]") == ["No line is like that."]
    find(browser, "e")
    assert read_numbers(browser) == [2]
    browser.choose(".held-out select", "right (2)")
    assert read_numbers(browser) == [4, 8]
    assert read_texts(browser, ".column-right b") == ["✓", "✓"]
    assert read_texts(browser, ".column-confidence") == ["50.0%", "87.5%"]


def test_a_line_opens_its_example_if_there_is_one(show: Show, hand_trace: AttentionTrace) -> None:
    examples = [Example("a", "b", "b", 0.5, hand_trace, number=1), Example("b", "c", "c", 0.5, None, number=2)]
    mistakes = [Example("c", "d", "e", 0.5, hand_trace, number=8)]
    browser = show(render_report(replace(REPORT, examples=examples, mistakes=mistakes)))
    assert read_texts(browser, ".inside") == ["8"]
    assert browser.run("document.querySelectorAll('.grid').length") == 1
    browser.run("document.querySelector('.inside').focus()")
    browser.press("Enter")
    browser.wait("document.querySelectorAll('.grid').length === 2")
    assert browser.run("document.querySelector('details[data-number=\"8\"]').open")
    top = browser.run("document.querySelector('details[data-number=\"8\"]').getBoundingClientRect().top")
    assert -2 < top < 600


def test_what_is_left_out_is_said(show: Show) -> None:
    browser = show(render_report(REPORT))
    assert "4 of the 9 lines of the test data, at equal distances" in browser.text()
    whole = replace(REPORT.held_out, count=4)
    browser = show(render_report(replace(REPORT, held_out=whole)))
    assert "All 4 lines of the test data, which the run was not trained on." in browser.text()
    browser = show(render_report(Report("Numbers")))
    assert "All lines" not in browser.text()


def test_many_lines_come_in_parts_and_captions_have_no_verdict(show: Show) -> None:
    image = encode_image(np.zeros((2, 3, 3), dtype=np.uint8), lossless=True)
    lines = tuple(
        HeldOutLine(number, f"{number}.png", "a dog", ("x", "y"), 0.5, None, image) for number in range(1, 121)
    )
    browser = show(render_report(Report("Captions", held_out=HeldOut("held-out data", 120, lines))), width=390)
    assert len(read_numbers(browser)) == 50
    assert read_texts(browser, ".held-out select, .column-right") == []
    assert read_texts(browser, ".held-out [role=status]") == ["50 of 120 lines shown"]
    for shown in (100, 120):
        browser.click(".held-out .more")
        assert len(read_numbers(browser)) == shown
    assert not browser.run("document.querySelector('.held-out .more').checkVisibility()")
    assert browser.run("document.scrollingElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("text", ["</script><img src=x onerror=alert(1)>", "<b>bold</b>"])
def test_no_text_of_a_line_becomes_markup(show: Show, text: str) -> None:
    line = HeldOutLine(1, text, text, (text,), 0.5, False)
    browser = show(render_report(Report("x", held_out=HeldOut(text, 1, (line,)))))
    assert read_texts(browser, ".clamped") == [text] * 3
    assert browser.run("document.querySelectorAll('td b:not(.wrong), td img').length") == 0
