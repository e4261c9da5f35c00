"""What the sections of a configuration have in common: how they are checked, and the types of their fields."""

from collections.abc import Mapping
from typing import Annotated

from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field


def _check_spec(spec: object) -> object:
    options = {"kind": spec} if isinstance(spec, str) else spec
    if (
        isinstance(options, Mapping)
        and isinstance(options.get("kind"), str)
        and all(isinstance(k, str) for k in options)
    ):
        return spec
    raise ValueError("must be a name or {kind: name, option: value}")


def _name_columns(fields: object) -> object:
    """Numbers of columns as names, because a column may well be called 1."""
    return [str(name) if type(name) is int else name for name in fields] if isinstance(fields, list) else fields


def _check_fields(fields: list[str]) -> list[str]:
    if len(set(fields)) != 2 or len(fields) != 2:
        raise ValueError("must be two different names, [SOURCE, TARGET]")
    return fields


# a name, or {kind: name, option: value}; checked against the constructor it names when it is built
PartSpec = Annotated[str | dict[str, object], BeforeValidator(_check_spec)]

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
MAX_PROCESSES = 1024  # of a training, and threads of each
Processes = Annotated[int, Field(ge=0, le=MAX_PROCESSES)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, lt=1)]
Fields = Annotated[list[str], BeforeValidator(_name_columns), AfterValidator(_check_fields)]


class Section(BaseModel):
    """A section of a configuration: frozen, and an unknown key is an error."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)
