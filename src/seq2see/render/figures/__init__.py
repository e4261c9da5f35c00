"""Figures for papers and slides, made with matplotlib: a `draw_...` function each, and `figure_file` to save them."""

__all__ = [
    "document_figure",
    "figure_file",
    "fonts",
    "heatmap",
    "length_curve",
    "overlay",
    "position_similarity",
    "reliability_diagram",
]
