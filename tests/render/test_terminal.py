"""Terminal heatmaps line up, and their shades are the weights."""

from collections.abc import Callable
from dataclasses import replace

import pytest
from rich.cells import cell_len
from rich.console import Console

from seen import make_tokens
from seq2see.explain.attention_agreement import MEANING
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.render.colours import DARK
from seq2see.render.terminal.terminal_heatmap import render_terminal, shade_weight


def list_blocks(trace: AttentionTrace, *, width: int) -> list[list[str]]:
    """The lines of each band: header and rows, without titles, legend and caption."""
    lines = render_terminal(trace, width=width).plain.split("\n")
    blocks: list[list[str]] = [[]]
    legend = next(place for place, line in enumerate(lines) if "attention weight" in line)
    for line in lines[:legend]:
        if line.strip() and not line.startswith("decoder"):
            blocks[-1].append(line)
        elif not line.strip():
            blocks.append([])
    return [block for block in blocks if block]


def test_shades_by_hand(hand_trace: AttentionTrace) -> None:
    lines = render_terminal(hand_trace, width=60).plain.split("\n")
    assert lines[1:4] == [
        "       a b ",
        "x  97% ██  ",
        "y  97% ░░▓▓",
    ]
    assert lines[5].endswith(" 1  attention weight, 100%: probability of the token")
    assert " ".join(line.strip() for line in lines[6:]) == MEANING
    unsure = replace(hand_trace, target_tokens=make_tokens(["x", "y"], sure=False))
    assert render_terminal(unsure, width=60).plain.split("\n")[5].endswith(" 1  attention weight")


@pytest.mark.parametrize(
    ("weight", "shade"), [(0.0, " "), (0.12, " "), (0.13, "░"), (0.5, "▒"), (0.88, "█"), (1.0, "█"), (2.0, "█")]
)
def test_nearest_shade(weight: float, shade: str) -> None:
    assert shade_weight(weight) == shade


def test_colours_are_the_ramp(hand_trace: AttentionTrace) -> None:
    styles = [span.style for span in render_terminal(hand_trace, width=60).spans]
    colours = {style.bgcolor.name for style in styles if not isinstance(style, str) and style.bgcolor}
    assert {DARK[0], DARK[2], DARK[6], DARK[8]} <= colours


@pytest.mark.parametrize("target", [["中", "x"], ["हिन्दी", "a"], ["👍🏽", "\x1b[31m"], ["a" * 40, "b"]])
@pytest.mark.parametrize("source", [["二", "a", " "], ["agreement", "中国", "👩‍💻", "हि"], ["x"] * 50])
def test_rows_line_up(make_trace: Callable[..., AttentionTrace], source: list[str], target: list[str]) -> None:
    for block in list_blocks(make_trace(source, target), width=60):
        widths = {cell_len(line) for line in block}
        assert len(widths) == 1
        assert widths.pop() <= 60


def test_wide_maps_wrap_into_bands(make_trace: Callable[..., AttentionTrace]) -> None:
    trace = make_trace(["x"] * 50, ["y", "z"])
    blocks = list_blocks(trace, width=47)  # a side of 7 leaves 40 cells, or 20 columns
    assert [len(block[0]) for block in blocks] == [47, 47, 27]


def test_without_colour_no_escape_is_written(hand_trace: AttentionTrace) -> None:
    console = Console(width=60, color_system=None, force_terminal=True)
    with console.capture() as capture:
        console.print(render_terminal(hand_trace, width=60))
    assert "██" in capture.get()
    assert "38;2" not in capture.get()


def test_no_attention_is_said(hand_trace: AttentionTrace) -> None:
    assert render_terminal(replace(hand_trace, maps=())).plain == "This model has no attention to show."
