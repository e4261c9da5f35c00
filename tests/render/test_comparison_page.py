"""The page of a comparison holds what was compared, and says what a run does not have."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

from seq2see.core.errors import Seq2SeeError
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.metrics.length import Bucket, Buckets, LengthScores
from seq2see.render.figures.figure_file import check_figure_path
from seq2see.render.figures.length_curve import draw_lengths, save_lengths
from seq2see.render.html.comparison_page import DASH, Row, ScoreCell, Sheet, render_comparison
from seq2see.render.html.report import Example

ATTACK = "</script><img src=x onerror=alert(1)>"


@pytest.fixture
def lengths() -> LengthScores:
    buckets = (Bucket(1, 5, tuple(range(12)), 3.5), Bucket(6, 40, (12, 13), 20.0))
    return LengthScores(Buckets("words", buckets), {"bleu": {"one": [30.0, 20.0], "two $x$": [25.0, 5.0]}})


def read_payload(page: str) -> Any:
    found = re.search(r'<script type="application/json" id="seq2see-payload">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_everything_is_packed(lengths: LengthScores, hand_trace: AttentionTrace) -> None:
    rows = [
        Row("BLEU", [ScoreCell("30.0"), ScoreCell("25.0", "p 0.010, worse")], "more is better"),
        Row("AER", [ScoreCell(), ScoreCell()]),
    ]
    examples = [[Example("ab", "xy", "xy", -0.1, hand_trace), Example("ab", "xz", "xy", -0.2)]]
    sheet = Sheet("two runs", ["one", "two $x$"], rows, lengths, examples, ["one: odd."], {"Data": "test.tsv"})
    payload = read_payload(render_comparison(sheet))
    assert payload["runs"] == ["one", "two $x$"]
    assert payload["rows"][0]["cells"][1] == {"text": "25.0", "note": "p 0.010, worse"}
    assert payload["rows"][1]["cells"][0]["text"] == DASH
    assert payload["lengths"]["buckets"][1] == {"label": "6–40", "count": 2, "mean": 20.0, "few": True}
    assert payload["lengths"]["scores"] == [{"name": "BLEU", "runs": [[30.0, 20.0], [25.0, 5.0]]}]
    assert payload["examples"][0][0]["trace"] == hand_trace.to_dict()
    assert payload["examples"][0][1]["trace"] is None
    assert (payload["notes"], payload["facts"]) == (["one: odd."], {"Data": "test.tsv"})


def test_no_text_becomes_markup(lengths: LengthScores) -> None:
    sheet = Sheet(
        ATTACK, [ATTACK], [Row(ATTACK, [ScoreCell(ATTACK, ATTACK)], ATTACK)], lengths, [], [ATTACK], {ATTACK: ATTACK}
    )
    page = render_comparison(sheet)
    assert "<img" not in page
    assert page.count("</script>") == 3
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {"http://www.w3.org/2000/svg"}


def test_the_figure_has_a_line_for_each_run(lengths: LengthScores) -> None:
    axes = draw_lengths(lengths).axes[0]
    assert axes.get_ylabel() == "BLEU"
    assert [text.get_text() for text in axes.get_legend().get_texts()] == ["one", "two $x$"]
    lines = [line for line in axes.lines if len(line.get_xdata()) > 1]
    assert [list(line.get_xdata()) for line in axes.lines if line not in lines] == [[20.0]] * 2  # few sentences: hollow
    assert [list(line.get_xdata()) for line in lines] == [[3.5, 20.0]] * 2
    assert [list(line.get_ydata()) for line in lines] == [[30.0, 20.0], [25.0, 5.0]]
    assert lines[0].get_linestyle() != lines[1].get_linestyle()
    assert [text.get_text() for text in axes.get_xticklabels()] == ["1–5\n12", "6–40\n2"]


@pytest.mark.parametrize(("kind", "begin"), [("png", b"\x89PNG"), ("svg", b"<?xml")])
def test_the_figure_is_written(lengths: LengthScores, tmp_path: Path, kind: str, begin: bytes) -> None:
    file = save_lengths(lengths, tmp_path / "deep" / f"lengths.{kind}")
    assert file.read_bytes().startswith(begin)


def test_other_figures_are_refused() -> None:
    with pytest.raises(Seq2SeeError, match=r"must end in \.png or \.svg; got lengths\.pdf"):
        check_figure_path(Path("lengths.pdf"))
