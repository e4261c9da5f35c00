"""The command line: one file a command, which turns arguments into calls of the Python API and prints the results.

Nothing is computed here. Importing `app` must stay light: no torch, numpy or pydantic before a command runs.
"""

__all__ = [
    "align",
    "app",
    "cache",
    "compare",
    "data_options",
    "doctor",
    "evaluate",
    "inputs",
    "inspect",
    "parts",
    "predict",
    "presets",
    "progress_bar",
    "quickstart",
    "resume",
    "search_options",
    "serve",
    "train",
    "training_report",
]
