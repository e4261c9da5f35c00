"""Data that is made, not collected: dates, shapes and the exercises of the NTM paper.

The functions that write files are public; the same seed always writes the same bytes.
"""

__all__ = [
    "date_clock",
    "date_locales",
    "dates",
    "exercises",
    "month_words",
    "shapes",
]
