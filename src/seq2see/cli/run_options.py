"""Options of all commands that open runs."""

from typing import Annotated

import typer

DeviceOption = Annotated[
    str,
    typer.Option(metavar="DEVICE", help="Where the model computes: cpu, cuda, cuda:1, mps, xpu; auto: the best one."),
]
SandboxOption = Annotated[
    bool, typer.Option("--sandbox", help="First try runs in a process with limits and without a network (seconds).")
]
