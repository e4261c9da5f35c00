"""Writing a configuration as YAML that explains itself."""

from collections.abc import Mapping

from pydantic import BaseModel

from seq2see.config.notation import dump
from seq2see.config.schema import Config


def write_config(config: Config, *, heading: str, remarks: Mapping[str, str] | None = None) -> str:
    """YAML with the meaning of every key behind it; `remarks` (by dotted key) say why a value was chosen.

    It ends with YAML's own mark for the end, so that a file that was cut short can be told.
    """
    lines = [f"# {line}" if line else "#" for line in heading.splitlines()]
    return "\n".join([*lines, "", *_section(config, "", remarks or {}, ""), "..."]) + "\n"


def _section(section: BaseModel, indent: str, remarks: Mapping[str, str], prefix: str) -> list[str]:
    lines: list[str] = []
    for name, field in type(section).model_fields.items():
        value, key = getattr(section, name), prefix + name
        if value is None:
            continue
        lines += [f"{indent}# {remarks[key]}"] if key in remarks else []
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
