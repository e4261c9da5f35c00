"""Traces and comparisons in the terminal, made with rich; what colours say, shades, bars or numbers say too."""

__all__ = [
    "terminal_comparison",
    "terminal_document",
    "terminal_heatmap",
]
