"""The configuration of a run: its schema, its YAML notation, and how files and command line are merged.

`schema.Config` is public: its keys are what users write. It depends on `core` alone.
"""

__all__ = [
    "load",
    "notation",
    "schema",
    "section",
    "settings",
    "synonyms",
    "write",
]
