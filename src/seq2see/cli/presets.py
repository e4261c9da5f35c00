"""`seq2see presets`: the configurations of papers that come with the package."""

from typing import Annotated

import typer


def presets(
    name: Annotated[str | None, typer.Argument(help="Print this preset, with the score to expect.")] = None,
) -> None:
    """List the presets, or print one.

    \b
    Example:
      seq2see presets bahdanau2015
    """
    from itertools import takewhile

    from seq2see.config.load import preset_names, preset_text, read_preset

    if name is not None:
        read_preset(name)  # an unknown name is an error with a suggestion
        typer.echo(preset_text(name), nl=False)
        return
    width = max(map(len, preset_names()))
    for known in preset_names():
        lines = [line.removeprefix("#").strip() for line in preset_text(known).splitlines()]
        typer.echo(f"{known:<{width}}  {' '.join(takewhile(bool, lines))}")  # the first paragraph
