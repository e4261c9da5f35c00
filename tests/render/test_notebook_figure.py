"""A notebook shows the figure that `plot()` returns, whether or not matplotlib was told that it runs in one."""

import io

import matplotlib.image
from IPython.core.formatters import DisplayFormatter

from seq2see.explain.attention_trace import AttentionTrace


def test_a_figure_shows_itself_in_a_notebook(hand_trace: AttentionTrace) -> None:
    shown, _ = DisplayFormatter().format(hand_trace.plot())
    pixels = matplotlib.image.imread(io.BytesIO(shown["image/png"]))
    assert pixels.std() > 0
