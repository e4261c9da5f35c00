"""Writing a configuration as YAML that explains itself."""

from collections.abc import Mapping
from typing import Any

import yaml
from pydantic import BaseModel

from seq2see.config.schema import Config


def write_config(config: Config, *, heading: str, remarks: Mapping[str, str] | None = None) -> str:
    """YAML with the meaning of every key behind it; `remarks` (by dotted key) say why a value was chosen."""
    lines = [f"# {line}" if line else "#" for line in heading.splitlines()]
    return "\n".join([*lines, "", *_section(config, "", remarks or {}, "")]) + "\n"


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
            lines += [f"{indent}{name}:{comment}", *_block(value, indent + "  ")]
        else:
            lines.append(f"{indent}{name}: {_scalar(value)}{comment}")
    return lines


def _block(value: Any, indent: str) -> list[str]:
    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True)
    return [indent + line for line in text.splitlines()]


def _scalar(value: Any) -> str:
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10_000)
    return text.removesuffix("\n").removesuffix("\n...")
