"""The list of decoding options: `python -m seq2see.search.option_table docs/guide/predicting.md` writes it there."""

import sys
from pathlib import Path
from textwrap import fill

from seq2see.search.option_description import OptionDescription
from seq2see.search.options import OPTIONS

BEGIN = "<!-- decoding options: begin (python -m seq2see.search.option_table docs/guide/predicting.md) -->"
END = "<!-- decoding options: end -->"
LINE_LENGTH = 120
TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "flag",
    "words": "list of words",
    "dictionary": "dictionary from word to word; on the command line a file",
}


def render_options() -> str:
    """Return all decoding options as a Markdown list, each with both of its names, its type and its help text."""
    return "\n".join(map(_render_option, OPTIONS))


def _render_option(option: OptionDescription) -> str:
    flag = option.name.replace("_", "-")
    text = f"- **`--{flag}`** / `{option.name}` ({describe_type(option)}): {option.help}"
    return fill(text, LINE_LENGTH, subsequent_indent="  ", break_on_hyphens=False, break_long_words=False)


def describe_type(option: OptionDescription) -> str:
    """Return the type and the bounds of an option in a few words.

    Args:
        option: an entry of `OPTIONS`.
    """
    if option.choices:
        return " or ".join(f"`{choice}`" for choice in option.choices)
    bounds = {"at least": option.minimum, "above": option.above, "at most": option.maximum, "below": option.below}
    said = [f"{word} {_describe_bound(bound)}" for word, bound in bounds.items() if bound is not None]
    return ", ".join([TYPES[option.kind], *([" and ".join(said)] if said else [])])


def _describe_bound(bound: int | float) -> str:
    return f"{bound:,}" if isinstance(bound, int) else f"{bound:,.10f}".rstrip("0").rstrip(".")


def insert_options(page: str) -> str:
    """Return a page with the list between its two markers.

    Args:
        page: Markdown with the lines `BEGIN` and `END`; what is between them is replaced.
    """
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n\n{render_options()}\n\n{END}{after}"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(insert_options(file.read_text(encoding="utf-8")), encoding="utf-8")
