"""A run that has begun in a folder: whether a training is the same one, and goes on with it."""

from collections.abc import Iterator

from seq2see.config.schema import Config, Train
from seq2see.core.errors import CheckpointError, ConfigError
from seq2see.core.plural import say_count
from seq2see.core.registry import Part, part
from seq2see.core.trust import trusting
from seq2see.data.modalities.learn import names_plugin
from seq2see.runs.checkpoint import read_checkpoint
from seq2see.runs.config_changes import describe_changes
from seq2see.runs.folder import RunFolder
from seq2see.tasks.task import Task
from seq2see.training.training_state import SavedProgress, TrainingState, read_progress, say_limits

# keys of section train whose objectives follow a schedule over all updates
SCHEDULED_KEYS = ("scheduled_sampling", "bidirectional_pretraining", "minimum_risk", "occlusion_agreement")


def holds_run(folder: RunFolder, config: Config) -> bool:
    """Return whether the folder holds a run of the same configuration, to go on with; its limits may be others.

    Args:
        folder: the run folder; it may be empty or not exist yet.
        config: the configuration of the training.

    Raises:
        ConfigError: the folder holds a run of another configuration.
        CheckpointError: the folder holds other files, or is a file.
    """
    if not folder.holds_run():
        return False
    before = folder.read_config()
    if config.train.microbatches:  # any number of processes gives the same weights
        processes = {"workers": before.train.workers, "threads": before.train.threads}
        config = config.model_copy(update={"train": config.train.model_copy(update=processes)})
    changes = _describe_changes(_with_limits(before, config.train), config)
    if changes:
        raise ConfigError(
            f"{folder.path} holds another run ({changes}); choose another folder (out), or undo the change."
        )
    return True


def keep_limits(folder: RunFolder, config: Config) -> Config:
    """Return the configuration with the limits that the run in the folder got when it was resumed for more updates.

    So the call that began a run returns it, also after it was trained for longer.

    Args:
        folder: the run folder; it may be empty or not exist yet.
        config: the configuration of the training.
    """
    if not folder.holds_run():
        return config
    before = folder.read_config()
    if before.train.updates <= config.train.updates:
        return config
    kept = _with_limits(config, before.train)
    return config if _describe_changes(before, kept) else kept


def changes_limits(folder: RunFolder, config: Config) -> bool:
    """Return whether the run in the folder ends by other limits than a configuration, which is the same but for them.

    Args:
        folder: the folder of the run.
        config: the configuration of the training that goes on with it.
    """
    return say_limits(folder.read_config().train) != say_limits(config.train)


def describe_going_on(folder: RunFolder, train: Train, *, fingerprint: str, held_out: str) -> str:
    """Return a sentence on what a run becomes under new limits: that of one longer training, or why not.

    Args:
        folder: the folder of the run, with the old limits in its configuration.
        train: section `train` with the new limits.
        fingerprint: of the training data, which must not have changed.
        held_out: of the validation data, which must not have changed.

    Raises:
        ConfigError: the training would not go on under the new limits.
        CheckpointError: there is no checkpoint to go on from, or the data has changed.
    """
    saved = _read_newest(folder)
    check_data(folder, saved, fingerprint=fingerprint, held_out=held_out)
    before, state = folder.read_config().train, saved.state
    if state.update >= train.updates:
        raise ConfigError(f"{folder.path}: updates must be more than the {state.update:,} made; got {train.updates:,}.")
    if state.complete and state.stops_early(train.patience):
        raise ConfigError(
            f"{folder.path}: the training stopped early at update {state.update:,}, so patience must be more than "
            f"{state.without_improvement}, or 0 (never stop early); got {train.patience}."
        )
    longer, one_go = f"going on, to {say_count(train.updates, 'update')}", f"{train.updates:,} updates in one go"
    why = next(_find_differences(state, before, train), None)
    return (
        f"{longer}, with the weights of {one_go}" if why is None else f"{longer}; {one_go} would differ, because {why}"
    )


def check_data(folder: RunFolder, saved: SavedProgress, *, fingerprint: str, held_out: str) -> None:
    """Refuse data that has changed since a checkpoint was written.

    Args:
        folder: the folder of the run.
        saved: what the checkpoint recorded.
        fingerprint: of the training data.
        held_out: of the validation data.

    Raises:
        CheckpointError: the training data or the validation data is another.
    """
    if saved.fingerprint != fingerprint:
        raise CheckpointError(
            f"{folder.path}: the training data has changed since this run began; train in another folder."
        )
    if saved.held_out not in (None, held_out):
        raise CheckpointError(
            f"{folder.path}: the held-out data has changed since this run began, and its validations could not be "
            "compared; train in another folder."
        )


def read_task(folder: RunFolder, config: Config) -> Task:
    """Return the task of a run that has begun; the tokenizers of a plug-in may have any part of their library.

    Args:
        folder: the run folder.
        config: its configuration, whose code the user trusts.
    """
    with trusting(names_plugin(config.tokens.model_dump())):
        return folder.read_task(config)


def _describe_changes(before: Config, after: Config) -> str:
    """Return what differs between two configurations but for the device, because another machine may go on."""
    here = before.train.model_copy(update={"device": after.train.device})
    return describe_changes(before.model_copy(update={"train": here}).model_dump(), after.model_dump())


def _with_limits(config: Config, train: Train) -> Config:
    """Return a configuration with the limits of another section `train`."""
    limits = {"updates": train.updates, "patience": train.patience}
    return config.model_copy(update={"train": config.train.model_copy(update=limits)})


def _read_newest(folder: RunFolder) -> SavedProgress:
    """Return what was recorded by the newest checkpoint that is whole."""
    for path in folder.checkpoints():
        try:
            checkpoint = read_checkpoint(path)
        except CheckpointError:
            continue  # the loop tells of it
        return read_progress(checkpoint.facts, file=path)
    raise CheckpointError(
        f"{folder.path}: the run has no checkpoints to go on from; start another run from its weights (init)."
    )


def _find_differences(state: TrainingState, before: Train, after: Train) -> Iterator[str]:
    """Yield why a training under new limits is not that of one go: what follows from the number of its updates."""
    if before.updates == after.updates:
        return
    schedule: Part[object] = part("schedule", after.schedule)
    scheduled = [f"train.schedule ({schedule.kind})"] if schedule.takes("updates") else []
    scheduled += [f"train.{key}" for key in SCHEDULED_KEYS if getattr(after, key)]
    if scheduled:
        yield f"{scheduled[0]} follows the number of updates"
    if state.complete and state.update % before.validate_every:
        yield f"they would have no validation at update {state.update:,} (train.validate_every={before.validate_every})"
