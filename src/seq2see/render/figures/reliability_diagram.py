"""Reliability diagrams: accuracy of a classifier at each confidence (Guo et al. 2017, arXiv:1706.04599, figure 1)."""

from collections.abc import Mapping, Sequence

from matplotlib.figure import Figure

from seq2see.metrics.labels import Bin
from seq2see.render.colours import MUTED, RUNS
from seq2see.render.figures.notebook_figure import NotebookFigure


def draw_reliability(tables: Mapping[str, Sequence[Bin]]) -> Figure:
    """Draw accuracy against confidence, and below it the number of predictions in each bin.

    On the diagonal, confidence equals accuracy: the classifier is calibrated. The legend has the expected calibration
    error, ECE = sum_i count_i / N |accuracy_i - confidence_i|, over the bins i with N predictions together.

    Args:
        tables: the bins of each curve by its name in the legend, such as before and after calibration.
    """
    figure = NotebookFigure(figsize=(4.4, 5.0), layout="constrained")
    above, below = figure.subplots(2, 1, sharex=True, height_ratios=(4, 1))
    above.plot([0, 1], [0, 1], color=MUTED, lw=1, ls=(0, (2, 3)), label="calibrated")
    for number, (name, table) in enumerate(tables.items()):
        full, colour = [each for each in table if each.count], RUNS[number % len(RUNS)][0]
        gap = sum(each.count * abs(each.accuracy - each.confidence) for each in full) / sum(b.count for b in full)
        style = {"color": colour, "marker": "os^D"[number % 4], "ms": 4, "lw": 1.5, "ls": "-" if number == 0 else "--"}
        label = f"{name}: off by {gap:.1%} on average"
        above.plot([each.confidence for each in full], [each.accuracy for each in full], label=label, **style)
        below.step(
            [each.low for each in table] + [1.0], [each.count for each in table] + [0], where="post", color=colour
        )
    above.set(xlim=(0, 1), ylim=(0, 1.02), ylabel="share that is right")
    above.legend(loc="upper left", frameon=False, fontsize=8)
    below.set(xlabel="probability of the chosen label", ylabel="answers")
    for axes in (above, below):
        axes.spines[["top", "right"]].set_visible(False)
        axes.tick_params(labelsize=8, labelcolor=MUTED)
    return figure
