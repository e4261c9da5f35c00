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
    from seq2see.config.load import preset_names, preset_text, read_preset

    if name is not None:
        read_preset(name)  # an unknown name is an error with a suggestion
        typer.echo(preset_text(name), nl=False)
        return
    for known in preset_names():
        typer.echo(f"{known:<20} {preset_text(known).splitlines()[0].removeprefix('# ')}")
