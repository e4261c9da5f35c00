"""A run that has begun in a folder: whether a training is the same one, and goes on with it."""

from seq2see.config.schema import Config
from seq2see.core.errors import ConfigError
from seq2see.core.trust import trusting
from seq2see.data.modalities.learn import names_plugin
from seq2see.runs.config_changes import describe_changes
from seq2see.runs.folder import RunFolder
from seq2see.tasks.task import Task


def holds_run(folder: RunFolder, config: Config) -> bool:
    """Return whether the folder holds a run of the same configuration, to go on with.

    Args:
        folder: the run folder; it may be empty or not exist yet.
        config: the configuration of the training.

    Raises:
        ConfigError: the folder holds a run of another configuration.
        CheckpointError: the folder holds other files, or is a file.
    """
    if not folder.holds_run():
        return False
    changes = describe_changes(folder.read_config().model_dump(), config.model_dump())
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
    limits = {"updates": before.train.updates, "patience": before.train.patience}
    kept = config.model_copy(update={"train": config.train.model_copy(update=limits)})
    return config if describe_changes(before.model_dump(), kept.model_dump()) else kept


def read_task(folder: RunFolder, config: Config) -> Task:
    """Return the task of a run that has begun; the tokenizers of a plug-in may have any part of their library.

    Args:
        folder: the run folder.
        config: its configuration, whose code the user trusts.
    """
    with trusting(names_plugin(config.tokens.model_dump())):
        return folder.read_task(config)
