"""`seq2see resume`: continue the training of a run."""

from pathlib import Path
from typing import Annotated

import typer


def resume(
    run: Annotated[Path, typer.Argument(help="The run folder.")],
    updates: Annotated[int | None, typer.Option(min=1, help="Updates to make in all, if more than planned.")] = None,
    patience: Annotated[
        int | None, typer.Option(min=0, help="Another train.patience, after early stopping; 0: never stop early.")
    ] = None,
    trust: Annotated[bool, typer.Option(help="Run the code of its own that the run names.")] = False,
) -> None:
    """Continue a run in its own folder, from where it was stopped, or for more updates.

    \b
    Examples:
      seq2see resume runs/pairs
      seq2see resume runs/pairs --updates 4000
    """
    from seq2see.cli.training_report import run_training
    from seq2see.training.arguments import resume_request

    run_training(resume_request(run, updates=updates, patience=patience, trust=trust))
