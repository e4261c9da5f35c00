"""The description of a decoding option, in plain values: name, type, bounds and help text.

This file must import neither torch nor pydantic, because the command line reads it for `--help`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, Any, Literal, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    JsonSchema = dict[str, object]

Use = Literal["search", "beam", "mbr", "sample", "rules", "output"]  # what an option is for; search: any of them


@dataclass(frozen=True)
class Option:
    """Holds what people read about an option, and which constructor it goes to.

    Args:
        title: its label in the form of the page.
        help: one sentence or two, for the command line, HTTP, the page and the guide.
        use: the kind of search whose constructor takes it; `search` for several kinds, `rules` for `Rules`, `output`
            for what is done to an output.
        parameter: its name in that constructor; empty if that is the name of the field.
    """

    title: str
    help: str
    use: Use
    parameter: str = ""

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> "JsonSchema":
        return {**handler(schema), "title": self.title, "description": self.help}


@dataclass(frozen=True)
class OptionDescription:
    """Describes a field of `DecodeOptions` in plain values.

    Args:
        name: the name of the field, which HTTP requests and Python use too.
        parameter: its name in the constructor of the search or of the rules.
        title: its label in the form of the page.
        help: one sentence or two, for the command line, HTTP, the page and the guide.
        use: the same as in `Option`.
        kind: the kind of its values; `words` is a list of texts, `dictionary` maps texts to texts.
        annotation: its type, without bounds and help.
        choices: the values of a `choice`; empty for other kinds.
        minimum: the smallest value; None if there is none.
        above: what a value must be larger than; None if there is no such bound.
        maximum: the largest value; None if there is none.
        below: what a value must be smaller than; None if there is no such bound.
    """

    name: str
    parameter: str
    title: str
    help: str
    use: Use
    kind: Literal["integer", "number", "boolean", "choice", "words", "dictionary"]
    annotation: object
    choices: tuple[str, ...] = ()
    minimum: int | float | None = None
    above: int | float | None = None
    maximum: int | float | None = None
    below: int | float | None = None


KINDS: dict[object, Literal["integer", "number", "boolean", "words", "dictionary"]] = {
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple: "words",
    Mapping: "dictionary",
}
BOUNDS = {Ge: ("minimum", "ge"), Gt: ("above", "gt"), Le: ("maximum", "le"), Lt: ("below", "lt")}


def describe_options(options: type[Any]) -> list[OptionDescription]:
    """Describe all fields of a dataclass of options, in their order.

    Args:
        options: a dataclass such as `DecodeOptions`, each of whose annotations has an `Option`.
    """
    hints = get_type_hints(options, include_extras=True)
    return [_describe(field.name, hints[field.name]) for field in fields(options)]


def _describe(name: str, hint: object) -> OptionDescription:
    whole, *metadata = get_args(hint)
    [option] = [each for each in metadata if isinstance(each, Option)]
    optional = type(None) in get_args(whole)
    [inner] = [each for each in get_args(whole) if each is not type(None)] if optional else [whole]
    base, *constraints = get_args(inner) if get_origin(inner) is Annotated else (inner, *metadata)
    bounds = {
        BOUNDS[type(each)][0]: getattr(each, BOUNDS[type(each)][1]) for each in constraints if type(each) in BOUNDS
    }
    about = (name, option.parameter or name, option.title, option.help, option.use)
    if get_origin(base) is Literal:
        return OptionDescription(*about, "choice", whole, choices=get_args(base))
    return OptionDescription(*about, KINDS[get_origin(base) or base], whole, **bounds)
