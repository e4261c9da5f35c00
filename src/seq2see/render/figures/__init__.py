"""Figures for papers and slides, made with matplotlib: a function `draw_...` for each; `figure_file` saves them."""

__all__ = [
    "document_figure",
    "figure_file",
    "fonts",
    "footnote",
    "heatmap",
    "length_curve",
    "notebook_figure",
    "overlay",
    "position_similarity",
    "reliability_diagram",
]
