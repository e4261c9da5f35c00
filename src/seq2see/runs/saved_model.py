"""The model of a run that a training goes on with or starts from: it must be that of its weights before it is built."""

from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError
from seq2see.runs.checkpoint import read_outline
from seq2see.runs.folder import RunFolder
from seq2see.runs.model_limits import build_within, check_cells, require_memory
from seq2see.runs.weights_header import TensorForm
from seq2see.tasks.task import Task

MODEL = "model."  # before the names of a checkpoint's weights


def check_saved_model(folder: RunFolder, config: Config, task: Task, *, trust: bool) -> None:
    """Refuse a configuration whose model is not that of the weights, or of the newest checkpoint, of its run.

    Args:
        folder: the run folder; one without weights and checkpoints has nothing to compare with.
        config: the configuration of the run.
        task: its task, with its tokenizers.
        trust: whether the user trusts the run.

    Raises:
        Seq2SeeError: the model is another, its weights do not fit into memory, or an image has very many cells.
    """
    forms = _read_forms(folder)
    if forms is not None:
        model = build_within(task, config, forms, name=str(folder.config_file))
        check_cells(model, name=str(folder.config_file), trust=trust)


def _read_forms(folder: RunFolder) -> dict[str, TensorForm] | None:
    """Return the tensors of the first file of weights that is whole; the training tells of those that are not."""
    for file in (folder.weights_file, *folder.checkpoints()):
        try:
            forms = read_outline(file).forms
        except CheckpointError:
            continue
        require_memory(file)
        saved = {name.removeprefix(MODEL): form for name, form in forms.items() if name.startswith(MODEL)}
        return dict(forms) if file == folder.weights_file else saved
    return None
