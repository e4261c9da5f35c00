"""The teachers of a distillation: runs with the same tokens and the same frozen encoder as the model that learns."""

from pathlib import Path

from seq2see.config.schema import DistillationOptions
from seq2see.core.errors import ConfigError
from seq2see.core.registry import is_trusted
from seq2see.models.network import Network
from seq2see.models.seq2seq import Seq2Seq
from seq2see.runs.folder import SIDES, RunFolder
from seq2see.system.foreign_code import foreign_kinds
from seq2see.tasks.task import Task

PATH = ("train", "distillation", "teachers")


def open_teachers(options: DistillationOptions | None, task: Task, model: Network) -> tuple[Seq2Seq, ...]:
    """Load the models of the runs that a distillation names, without gradients; none if there is no distillation.

    Args:
        options: section `train.distillation` of the configuration; None without a distillation.
        task: the task of the student; its teachers must have the same tokens.
        model: the student; its teachers must have the same frozen encoder of images, if it has one.

    Raises:
        ConfigError: a teacher has other tokens or another frozen encoder, or names code that this configuration does
            not name.
    """
    runs = [] if options is None else options.teachers
    return tuple(_open_teacher(RunFolder(Path(run)), task, model) for run in runs)


def _open_teacher(folder: RunFolder, task: Task, model: Network) -> Seq2Seq:
    foreign = [kind for kind in foreign_kinds(folder.read_config().model_dump()) if not is_trusted(kind)]
    if foreign:
        raise ConfigError(
            f"a teacher may run only code that this configuration names, too; {folder.path} runs {', '.join(foreign)}; "
            "read it, and name it in this configuration, or take another teacher.",
            path=PATH,
        )
    _, theirs, teacher = folder.open(trust=True)
    differing = [side for side in SIDES if getattr(theirs, side).to_json() != getattr(task, side).to_json()]
    if differing:
        raise ConfigError(
            f"a teacher must have the same tokens as the model that learns; {folder.path} has others for its "
            f"{differing[0]}; train both on the same data with the same tokens.{differing[0]}.",
            path=PATH,
        )
    if _frozen_key(teacher) != _frozen_key(model):
        raise ConfigError(
            f"a teacher must have the same frozen encoder of images as the model that learns; {folder.path} has "
            "another backbone or other layers; take the same for both.",
            path=PATH,
        )
    teacher.requires_grad_(False)
    return Seq2Seq.of(teacher.to(model.device))


def _frozen_key(model: Network) -> str | None:
    """Return the name of the frozen encoder of images whose features are the sources of a batch; None without one."""
    return getattr(model.encoder, "frozen_key", None)
