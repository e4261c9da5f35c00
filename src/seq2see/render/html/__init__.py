"""Self-contained HTML pages: a trace, the report of a run, a comparison of runs.

A page holds its payload as JSON, its style and its scripts (`static/`), and asks the network for nothing. To show more,
add to the payload and to the script that draws it.
"""

__all__ = [
    "comparison_page",
    "label_scores",
    "page",
    "report",
    "run_report",
]
