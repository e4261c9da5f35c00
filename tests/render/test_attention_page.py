"""The page holds exactly what it was given, safely, and needs no network."""

import base64
import hashlib
import html
import json
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from seq2see.explain.attention_trace import AttentionTrace
from seq2see.render.html.page import render_page, save_page

ATTACK = "</script><img src=x onerror=alert(1)><!--\u2028&amp;"


def read_payload(page: str) -> Any:
    """What a browser would parse out of the page."""
    found = re.search(r'<script type="application/json" id="seq2see-payload">(.*?)</script>', page, re.DOTALL)
    assert found is not None
    return json.loads(found[1])


def test_weights_come_back_exactly(make_trace: Callable[..., AttentionTrace]) -> None:
    trace = make_trace(list("中a b"), list("हx😀"), heads=4, maps=2)
    payload = read_payload(render_page(trace.to_dict()))
    assert payload == trace.to_dict()
    for packed, each in zip(payload["maps"], trace.maps, strict=True):
        np.testing.assert_array_equal(np.array(packed["weights"], dtype=np.float32), each.weights)


def test_text_cannot_become_markup(hand_trace: AttentionTrace) -> None:
    trace = replace(hand_trace, source=ATTACK, target=ATTACK)
    page = render_page(trace.to_dict())
    assert "<img" not in page
    assert page.count("</script>") == 3
    assert read_payload(page)["source"] == ATTACK


def test_scripts_never_write_markup() -> None:
    page = render_page({"title": "x", "maps": []})
    for way in ("innerHTML", "outerHTML", "insertAdjacentHTML", "document.write", "eval("):
        assert way not in page


def test_no_address_outside(make_trace: Callable[..., AttentionTrace]) -> None:
    page = render_page(make_trace(["a"], ["b"]).to_dict())
    assert set(re.findall(r"https?://[^\s\"'<]*", page)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"<link|<script src|@import|url\(", page)


def test_policy_names_this_script_and_style() -> None:
    page = render_page({"maps": []})
    for tag in ("style", "script"):
        content = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)[-1]
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert f"{tag}-src 'sha256-{digest}'" in page


def test_nan_becomes_null() -> None:
    page = render_page({"title": "diverged", "history": [{"loss": float("nan")}, {"loss": float("inf")}]})
    assert read_payload(page)["history"] == [{"loss": None}, {"loss": None}]


def test_embedded_page_is_the_page(hand_trace: AttentionTrace) -> None:
    frame = hand_trace._repr_html_()
    found = re.fullmatch(r'<iframe [^>]*sandbox="allow-scripts"[^>]* srcdoc="([^"]*)"></iframe>', frame)
    assert found is not None
    assert html.unescape(found[1]) == render_page(hand_trace.to_dict())
    assert hand_trace._repr_html_() == frame


def test_save_replaces_in_one_step(tmp_path: Path) -> None:
    path = tmp_path / "new" / "page.html"
    save_page("old", path)
    save_page("lone surrogate \ud800", path)
    assert path.read_text(encoding="utf-8") == "lone surrogate ?"
    assert list(path.parent.iterdir()) == [path]
