"""Other runs as teachers of a new one: only those that read and write as it does."""

from dataclasses import replace
from pathlib import Path
from typing import Any

from seq2see.config.schema import Teacher
from seq2see.core.errors import ConfigError
from seq2see.core.foreign import foreign_kinds, is_admitted
from seq2see.train.folder import SIDES, RunFolder


def add_teachers(teacher: Teacher | None, task: Any, model: Any) -> Any:
    """The task with its teachers, if there are to be any; they know the same tokens and see the same in pictures."""
    if teacher is None:
        return task
    return replace(task, teachers=tuple(_open(RunFolder(Path(run)), task, model) for run in teacher.runs))


def _open(folder: RunFolder, task: Any, model: Any) -> Any:
    own = [kind for kind in foreign_kinds(folder.read_config().model_dump()) if not is_admitted(kind)]
    if own:
        raise ConfigError(
            f"a teacher may run only code that its pupil names, too; {folder.path} runs {', '.join(own)}; read it, and "
            "name it in this configuration, or take another teacher.",
            path=("train", "teacher", "runs"),
        )
    _, theirs, teacher = folder.open(trust=True)
    differing = [side for side in SIDES if getattr(theirs, side).to_json() != getattr(task, side).to_json()]
    if differing:
        raise ConfigError(
            f"a teacher must know the same tokens as its pupil; {folder.path} has others for its {differing[0]}; train "
            f"both on the same data with the same tokens.{differing[0]}.",
            path=("train", "teacher", "runs"),
        )
    if getattr(teacher.encoder, "frozen_key", None) != getattr(model.encoder, "frozen_key", None):
        raise ConfigError(
            f"a teacher must see the same in pictures as its pupil; {folder.path} has another backbone or other "
            "layers; take the same for both.",
            path=("train", "teacher", "runs"),
        )
    return teacher.requires_grad_(False)
