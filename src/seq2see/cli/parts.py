"""`seq2see parts`: the parts that a configuration can name, with their options."""

from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from seq2see.core.part_docs import OptionDocs, PartDocs


def parts(
    group: Annotated[str | None, typer.Argument(help="Only this group, such as score or encoder.")] = None,
    kind: Annotated[str | None, typer.Argument(help="Only this part of the group.")] = None,
) -> None:
    """List the parts of models and trainings: every score, cell, reader, encoder ..., with its options.

    \b
    Examples:
      seq2see parts
      seq2see parts score
      seq2see parts encoder rnn
    """
    from seq2see.core.errors import ConfigError
    from seq2see.core.part_docs import describe_part
    from seq2see.core.part_table import TABLE
    from seq2see.core.registry import names, suggest, trust_named

    groups = [name for name in TABLE if name != "renderer"]  # no configuration names a renderer
    if group is not None and group not in groups:
        raise ConfigError(
            f"there is no group of parts named {group!r}{suggest(group, groups)} (known: {', '.join(groups)})."
        )
    trust_named(kind)
    for each in groups if group is None else [group]:
        found = [describe_part(each, name) for name in (names(each) if kind is None else [kind])]
        typer.echo(f"{each}:")
        for one in found:
            _show(one, options=group is not None)


def _show(found: "PartDocs", *, options: bool) -> None:
    typer.echo(f"  {found.kind:<16} {found.summary}")
    for option in found.options if options else ():
        typer.echo(f"      {option.name}: {_explain(option)}")


def _explain(option: "OptionDocs") -> str:
    default = "required" if option.default is None else f"default {option.default}"
    return f"{option.type}; {default}" + (f"; {option.meaning}" if option.meaning else "")
