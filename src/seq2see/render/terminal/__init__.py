"""Traces, evaluations and comparisons in the terminal, made with rich; shades or numbers repeat what colours show."""

__all__ = [
    "terminal_classes",
    "terminal_comparison",
    "terminal_document",
    "terminal_evaluation",
    "terminal_heatmap",
]
