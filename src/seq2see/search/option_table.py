"""The table of decoding options in the guide: `python -m seq2see.search.option_table docs/guide.md` writes it there."""

import sys
from pathlib import Path

from seq2see.search.options import OPTIONS, OptionDescription

BEGIN = "<!-- decoding options: begin (python -m seq2see.search.option_table docs/guide.md) -->"
END = "<!-- decoding options: end -->"
TYPES = {
    "integer": "whole number",
    "number": "number",
    "boolean": "flag",
    "words": "list of words",
    "dictionary": "words by word; on the command line a file",
}


def render_table() -> str:
    """All decoding options as a Markdown table."""
    rows = [
        f"| `--{each.name.replace('_', '-')}` | `{each.name}` | {describe_type(each)} | {each.help} |"
        for each in OPTIONS
    ]
    return "\n".join(["| command line | Python, HTTP | value | what it does |", "|---|---|---|---|", *rows])


def describe_type(option: OptionDescription) -> str:
    """The type and the bounds of an option in a few words."""
    if option.choices:
        return " or ".join(f"`{choice}`" for choice in option.choices)
    bounds = {"from": option.minimum, "above": option.above, "to": option.maximum, "below": option.below}
    said = [f"{word} {bound:,.10g}" for word, bound in bounds.items() if bound is not None]
    return " ".join([TYPES[option.kind], *said])


def insert_table(page: str) -> str:
    """A page with the table between its two markers."""
    before, _, rest = page.partition(BEGIN)
    _, _, after = rest.partition(END)
    return f"{before}{BEGIN}\n{render_table()}\n{END}{after}"


if __name__ == "__main__":
    for file in map(Path, sys.argv[1:]):
        file.write_text(insert_table(file.read_text(encoding="utf-8")), encoding="utf-8")
