"""Writing a configuration as YAML with a comment behind every key."""

from collections.abc import Mapping
from itertools import pairwise

from pydantic import BaseModel

from seq2see.config.notation import dump
from seq2see.config.schema import Config


def write_config(config: Config, *, heading: str, remarks: Mapping[str, str] | None = None) -> str:
    """Return a configuration as YAML with the meaning of every key behind it.

    It ends with YAML's end marker, so that a truncated file can be recognised.

    Args:
        config: the configuration.
        heading: the comment at the top.
        remarks: why a value was chosen, by dotted key.
    """
    lines = [f"# {line}" if line else "#" for line in heading.splitlines()]
    return "\n".join([*lines, "", *_section(config, "", remarks or {}, ""), "..."]) + "\n"


def read_remarks(text: str) -> dict[str, str]:
    """Return the remarks that `write_config` wrote above the sections of a configuration, by key.

    Args:
        text: the content of a file that `write_config` wrote.
    """
    lines = text.splitlines()
    above = pairwise(lines)
    return {
        line.partition(":")[0]: remark.removeprefix("# ")
        for remark, line in above
        if remark.startswith("# ") and line[:1].isalpha()
    }


def _section(section: BaseModel, indent: str, remarks: Mapping[str, str], prefix: str) -> list[str]:
    lines: list[str] = []
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), prefix + name
        if value is None:
            continue
        lines += [f"{indent}# {_escape(remarks[key])}"] if key in remarks else []
        comment = f"  # {field.description}" if field.description else ""
        if isinstance(value, BaseModel):
            title = f"  # {(type(value).__doc__ or '').strip().rstrip('.').lower()}"
            lines += [f"{indent}{name}:{title}", *_section(value, indent + "  ", remarks, f"{key}.")]
        elif isinstance(value, dict):
            block = dump(value).split("\n")
            lines += [f"{indent}{name}:{comment}", *(f"{indent}  {line}" for line in block)]
        else:
            lines.append(f"{indent}{name}: {dump(value)}{comment}")
    return lines


def _escape(remark: str) -> str:
    """Return a remark as a comment may have it: the name of a run in it may have any characters."""
    return "".join(char if char.isprintable() else char.encode("unicode_escape").decode() for char in remark)
