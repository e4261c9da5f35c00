"""Traces that the drawing tests share, and a browser for pages."""

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from browser import Browser, browse, find_browser
from seen import Show, make_tokens
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace

TraceMaker = Callable[..., AttentionTrace]


@pytest.fixture
def make_trace() -> TraceMaker:
    """Makes a trace with random weights whose rows sum to 1."""

    def make(source: list[str], target: list[str], *, heads: int = 1, maps: int = 1) -> AttentionTrace:
        random = np.random.default_rng(7)
        shape = (heads, len(target), len(source))
        draws = [random.dirichlet(np.ones(shape[2]), size=shape[:2]).astype(np.float32) for _ in range(maps)]
        return AttentionTrace(
            source="".join(source),
            target="".join(target),
            source_tokens=make_tokens(source, sure=False),
            target_tokens=make_tokens(target, sure=True),
            maps=tuple(AttentionMap(f"decoder.{place}", weights) for place, weights in enumerate(draws)),
        )

    return make


@pytest.fixture
def hand_trace() -> AttentionTrace:
    """Two by two, with weights a person can check by eye."""
    weights = np.array([[[1.0, 0.0], [0.25, 0.75]]], dtype=np.float32)
    source, target = make_tokens(["a", "b"], sure=False), make_tokens(["x", "y"], sure=True)
    return AttentionTrace("ab", "xy", source, target, (AttentionMap("attend", weights),))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    if find_browser() is None:
        pytest.skip("no browser here; install chromium to test pages")
    with browse() as found:
        yield found


@pytest.fixture
def show(browser: Browser, tmp_path: Path) -> Iterator[Show]:
    """Opens pages in the browser, which must find nothing wrong with them."""

    def open_page(page: str, **screen: bool) -> Browser:
        file = tmp_path / f"{len(list(tmp_path.iterdir()))}.html"
        file.write_text(page, encoding="utf-8")
        browser.send("Input.dispatchMouseEvent", type="mouseMoved", x=0, y=0)  # points at nothing
        browser.open(file.as_uri(), **screen)
        return browser

    yield open_page
    assert browser.complaints() == []
