"""A trace draws nothing itself: it asks the renderer that the registry names for its kind."""

from pathlib import Path
from typing import Any, ClassVar

import pytest

from seq2see.core.part_table import TABLE
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.explain.output_trace import OutputTrace, Renderer

WORDS = (AttendedWord("so", 0, 2, 0.25), AttendedWord("good", 3, 7, 0.75))
DOCUMENT = DocumentTrace("so good", "yes", {"yes": 0.9}, (AttendedSentence(0, 7, WORDS),))
FLAT = AttentionTrace("a", "b", (), (), ())


class Scribe:
    """A renderer of somebody's own, which writes down what it is asked for."""

    asked: ClassVar[list[tuple[str, Any]]] = []

    def draw(self, trace: OutputTrace, *, name: str | None = None, heads: bool = False, cells: bool = False) -> Any:
        self.asked.append(("draw", trace))

    def save(
        self, trace: OutputTrace, path: Path, *, name: str | None = None, heads: bool = False, cells: bool = False
    ) -> Path:
        self.asked.append(("save", trace))
        return path

    def embed(self, trace: OutputTrace) -> str:
        self.asked.append(("embed", trace))
        return "embedded"

    def to_terminal(
        self, trace: OutputTrace, *, width: int | None = None, name: str | None = None, heads: bool = False
    ) -> Any: ...
    def pack(self, trace: OutputTrace, *, max_weights: int) -> Any: ...
    def summarise_drops(self, trace: OutputTrace) -> Any: ...


@pytest.mark.parametrize("trace", [FLAT, DOCUMENT])
def test_every_kind_of_trace_has_a_renderer(trace: OutputTrace, tmp_path: Path) -> None:
    assert isinstance(trace.renderer, Renderer)
    assert trace.save(tmp_path / "x.json").read_text() == trace.to_json()
    assert trace.source in trace.save(str(tmp_path / "x.html")).read_text()
    assert trace._repr_html_().startswith("<iframe")
    assert trace.plot().get_size_inches()[0] > 1


@pytest.mark.parametrize("trace", [FLAT, DOCUMENT])
def test_drawing_is_asked_of_whatever_the_registry_names(trace: OutputTrace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Scribe, "asked", [])
    monkeypatch.setitem(TABLE["renderer"], trace.kind, f"{__name__}:Scribe")
    trace.plot()
    assert trace.save("anywhere.png") == Path("anywhere.png")
    assert trace._repr_html_() == "embedded"
    assert Scribe.asked == [("draw", trace), ("save", trace), ("embed", trace)]
