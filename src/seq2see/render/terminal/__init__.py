"""Traces and comparisons in the terminal, made with rich; shades, bars or numbers repeat what colours show."""

__all__ = [
    "terminal_comparison",
    "terminal_document",
    "terminal_heatmap",
]
