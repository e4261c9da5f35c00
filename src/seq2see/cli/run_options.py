"""Options of all commands that open runs."""

from typing import Annotated

import typer

SandboxOption = Annotated[
    bool, typer.Option("--sandbox", help="First try runs in a process with limits and without a network (seconds).")
]
