"""The labels of a report in a real browser: a table to sort, and a confusion matrix to walk through."""

import pytest

from browser import Browser
from seen import Show, name_colour, read_colours, read_texts, read_told
from seq2see.metrics.class_scores import score_classes, score_label_sets
from seq2see.render.colours import LIGHT, WARM_LIGHT
from seq2see.render.html.report import Report, render_report

TRUE = ["cat"] * 5 + ["dog"] * 4 + ["عصفور"] * 2
CHOSEN = ["cat"] * 4 + ["dog", "dog", "cat", "cat", "cat", "عصفور", "cat"]
CELLS = ".confusion tbody td"


def read_names(browser: Browser) -> list[str]:
    return read_texts(browser, ".classes tbody th")


def test_labels_are_sorted_by_any_column(show: Show) -> None:
    browser = show(render_report(Report("labels", classes=score_classes(CHOSEN, TRUE))))
    # F1: cat 2*4/(8+5), dog 2*1/(2+4), bird 2*1/(1+2)
    assert read_names(browser) == ["dog", "cat", "عصفور"]
    assert read_texts(browser, ".classes tbody tr:first-child td") == ["50.00", "25.00", "33.33", "4", "2"]
    assert read_texts(browser, ".classes tfoot th") == ["macro mean", "weighted mean"]
    browser.click(".classes .sorter", 4)
    assert read_names(browser) == ["عصفور", "dog", "cat"]
    browser.click(".classes .sorter", 4)
    assert read_names(browser) == ["cat", "dog", "عصفور"]
    assert browser.run("document.querySelector('.classes ~ .more, .more').hidden") is True
    assert not browser.complaints()


def test_the_confusion_matrix_shows_counts_shares_and_colours(show: Show) -> None:
    browser = show(render_report(Report("labels", classes=score_classes(CHOSEN, TRUE))))
    assert read_texts(browser, CELLS) == ["480%", "120%", "", "375%", "125%", "", "150%", "", "150%"]
    right, wrong = (4 / 5, 1 / 4, 1 / 2), {1: 0.2, 3: 0.75, 6: 0.5}
    colours = read_colours(browser, CELLS)
    assert [colours[place] for place in (0, 4, 8)] == [name_colour(share, LIGHT) for share in right]
    for place, share in wrong.items():
        assert colours[place] == name_colour(share / 0.75, WARM_LIGHT)  # as strong as the largest mistake
    assert colours[2] is None
    browser.hover(CELLS, 3)
    assert read_told(browser) == "dog was taken for cat: 3 of 4 (75%)"
    browser.run(f"document.querySelectorAll('{CELLS}')[3].focus()")
    browser.press("ArrowRight")
    assert read_told(browser) == "dog is right and was chosen: 1 of 4 (25%)"
    browser.press("ArrowUp")
    browser.press("ArrowUp")
    assert read_told(browser) == "dog was chosen for 2 inputs"
    assert not browser.complaints()


@pytest.mark.parametrize(("width", "dark"), [(1366, False), (390, True)])
def test_a_hundred_long_names_stay_inside_the_page(show: Show, width: int, dark: bool) -> None:
    names = [f"a label with a long name and the number {number:03d}" for number in range(120)]
    browser = show(render_report(Report("labels", classes=score_classes(names, [*names[-3:], *names[:-3]]))))
    browser.resize(width, 800)
    browser.set_dark(dark)
    assert browser.run("document.documentElement.scrollWidth") <= width
    assert len(read_names(browser)) == 20
    browser.click(".more")
    assert len(read_names(browser)) == 120
    assert browser.run(f"document.querySelectorAll('{CELLS}').length") == 100 * 100
    assert not browser.complaints()


def test_several_labels_of_a_source_have_scores_and_no_matrix(show: Show) -> None:
    browser = show(render_report(Report("labels", classes=score_label_sets([{"a", "b"}, {"c"}], [{"a"}, {"c"}]))))
    assert read_texts(browser, ".classes tfoot th") == ["micro mean", "macro mean", "weighted mean"]
    assert browser.run("document.querySelector('.confusion')") is None
