"""The command line: one file for each command, which calls the Python API with its arguments and prints the results.

Nothing is computed here. Importing `app` must stay light: no torch, numpy or pydantic before a command runs.
"""

__all__ = [
    "align",
    "app",
    "bulk_request",
    "cache",
    "compare",
    "data_options",
    "doctor",
    "evaluate",
    "inputs",
    "inspect",
    "messages",
    "parts",
    "predict",
    "predicted_shards",
    "predicted_table",
    "presets",
    "progress_bar",
    "quickstart",
    "resume",
    "run_options",
    "search_options",
    "serve",
    "train",
    "training_report",
    "usage",
]
