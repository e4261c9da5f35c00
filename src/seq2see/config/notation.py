"""YAML 1.2 with line numbers: 1e-3 is a number, `no` is a text, and a key occurs once.

Anchors, aliases, merges and tags are refused: a few lines of them stand for a tree that no memory holds.
"""

import re
from typing import Any

import yaml

from seq2see.core.errors import ConfigError
from seq2see.core.registry import shorten

KeyPath = tuple[str, ...]

MAX_CHARACTERS = 100_000  # of a configuration; PyYAML needs up to two seconds for as many
MAX_DEPTH = 32  # of sections and lists inside each other

# the scalars of YAML 1.2; PyYAML's own are those of 1.1, where 1e-3 is a text, `no` is false and 010 is eight
SCALARS = {
    "null": ("~|null|Null|NULL|", "~nN"),
    "bool": ("true|True|TRUE|false|False|FALSE", "tTfF"),
    "int": ("[-+]?[0-9][0-9_]{0,30}", "-+0123456789"),
    "float": (
        r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?|[-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN)",
        "-+.0123456789",
    ),
    "merge": ("<<", "<"),
}
PLAIN_TAGS = {None, *(f"tag:yaml.org,2002:{name}" for name in ("null", "bool", "int", "float", "str"))}


class _Loader(yaml.SafeLoader):
    yaml_implicit_resolvers = {}  # noqa: RUF012 (filled below)
    depth = 0

    def compose_node(self, parent: yaml.Node | None, index: Any) -> yaml.Node | None:
        """Compose a node as it is written; one that stands for others, or is too deep, is an error."""
        event = self.peek_event()
        mark = event.start_mark
        if isinstance(event, yaml.AliasEvent) or getattr(event, "anchor", None) is not None:
            raise _NotPlainError(None, None, f"anchors and aliases (&{event.anchor[:40]}) are not read", mark)
        if getattr(event, "tag", None) not in PLAIN_TAGS:
            raise _NotPlainError(None, None, f"tags ({event.tag[:40]}) are not read", mark)
        if self.depth >= MAX_DEPTH:
            raise _NotPlainError(None, None, f"sections are at most {MAX_DEPTH} deep", mark)
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        if node is not None and node.tag == "tag:yaml.org,2002:merge":
            raise _NotPlainError(None, None, "merges (<<) are not read", mark)
        return node


class _NotPlainError(yaml.MarkedYAMLError):
    """Is YAML that is refused because little text may stand for much."""


class _Dumper(yaml.SafeDumper):
    yaml_implicit_resolvers = {}  # noqa: RUF012

    def ignore_aliases(self, data: object) -> bool:
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = None if text.isprintable() else '"'  # escapes: other styles fold some line ends into spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


for _name, (_pattern, _first) in SCALARS.items():
    _tag, _scalar = f"tag:yaml.org,2002:{_name}", re.compile(rf"(?:{_pattern})\Z")
    for _kind in (_Loader, _Dumper):
        _kind.add_implicit_resolver(_tag, _scalar, [*_first, ""] if _name == "null" else [*_first])
_Loader.add_constructor("tag:yaml.org,2002:int", lambda loader, node: int(node.value.replace("_", "")))
_Dumper.add_representer(str, _represent_text)


def parse(text: str, name: str) -> tuple[object, dict[KeyPath, int]]:
    """Return the tree of YAML text, and the line of every key.

    Args:
        text: YAML, in which a key must occur once in its section.
        name: the name of the text in errors, such as its path.

    Returns:
        The tree, which is None for an empty text, and for each path of keys its line, counted from 1.

    Raises:
        ConfigError: the text is no YAML, is too long or too deep, has anchors, aliases, merges or tags, or a key occurs
            twice.
    """
    if len(text) > MAX_CHARACTERS:
        raise ConfigError(
            f"{name}: a configuration must have at most {MAX_CHARACTERS:,} characters; got {len(text):,}; shorten it."
        )
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        lines = _find_lines(node, (), name)
        return (None if node is None else loader.construct_document(node)), lines
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(f"{name}, line {line}: this is not YAML: a control character; remove it.") from None
    except _NotPlainError as error:
        line = error.problem_mark.line + 1 if error.problem_mark else 1
        raise ConfigError(f"{name}, line {line}: {error.problem}; write the values themselves.") from None
    except yaml.MarkedYAMLError as error:
        place = f"{name}, line {error.problem_mark.line + 1}" if error.problem_mark else name
        raise ConfigError(f"{place}: this is not YAML: {(error.problem or '')[:200]}; fix it.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{name}: this is not YAML: {str(error)[:200]}; fix it.") from None


def dump(value: object) -> str:
    """Return a value as YAML without a final line end; `parse` returns the same value.

    Args:
        value: texts, numbers, lists and dictionaries; a list is written in one line.
    """
    flow = isinstance(value, list)
    text = yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=float("inf"), default_flow_style=flow
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _find_lines(node: yaml.Node | None, path: KeyPath, name: str) -> dict[KeyPath, int]:
    found: dict[KeyPath, int] = {}
    for key, value in node.value if isinstance(node, yaml.MappingNode) else ():
        if not isinstance(key, yaml.ScalarNode):
            raise ConfigError(f"{name}, line {key.start_mark.line + 1}: a key must be a word, not a list or section.")
        below, line = (*path, str(key.value)), key.start_mark.line + 1
        if below in found:
            key_name = shorten(".".join(below))[1:-1]
            raise ConfigError(
                f"{name}, line {line}: the key {key_name} must occur once; it is in line {found[below]}, too; remove "
                "one of them."
            )
        found |= {below: line, **_find_lines(value, below, name)}
    return found
