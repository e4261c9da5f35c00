"""Search for outputs: greedy, beam, sampling, minimum Bayes risk, ensembles and the rules outputs must obey.

A search knows a `step` function and no model, so it is public for any decoder; it imports `core` alone.
"""

__all__ = [
    "beam",
    "ensemble",
    "factory",
    "greedy",
    "hypothesis",
    "mbr",
    "observers",
    "option_description",
    "option_table",
    "options",
    "rules",
    "sample",
    "walk",
]
