"""Every kind of HTML file has a title that says what it shows."""

import html
import re
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.document_trace import DocumentTrace
from seq2see.render.html.comparison_page import Sheet, render_comparison
from seq2see.render.html.page import render_page
from seq2see.render.html.report import Report, render_report

LONG = "word " * 40


def read_title(page: str) -> str:
    found = re.search(r"<title>(.*?)</title>", page, re.DOTALL)
    assert found is not None
    return html.unescape(found[1])


def test_traces_are_called_by_what_they_lead_from_and_to(hand_trace: AttentionTrace) -> None:
    assert read_title(render_page(hand_trace.to_dict())) == "ab → xy"
    image = replace(hand_trace, source="/home/someone/photos/dog.jpg", image=np.zeros((2, 2, 3), dtype=np.uint8))
    assert read_title(render_page(image.to_dict())) == "dog.jpg → xy"
    document = DocumentTrace("Line one.\nLine <two>.", "good & new", {"good & new": 1.0}, ())
    assert read_title(render_page(document.to_dict())) == "Line one. Line <two>. → good & new"
    long = read_title(render_page(replace(hand_trace, source=LONG, target=LONG).to_dict()))
    assert long == f"{LONG[:60]}… → {LONG[:60]}…"


@pytest.mark.parametrize(
    ("page", "title"),
    [
        (render_report(Report("digits: report on test data")), "digits: report on test data"),
        (render_comparison(Sheet("a and b on 3 pairs", ["a", "b"], [], None)), "a and b on 3 pairs"),
    ],
)
def test_reports_and_comparisons_are_called_by_their_runs(page: str, title: str) -> None:
    assert read_title(page) == title


@pytest.mark.parametrize("payload", [{"maps": []}, {"source": "", "target": "", "maps": []}, {"title": "", "maps": []}])
def test_no_title_is_empty(payload: Mapping[str, object]) -> None:
    assert read_title(render_page(payload)) == "Attention weights"
