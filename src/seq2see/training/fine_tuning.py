"""Fine-tuning: the configuration of a training that starts from all weights of another run."""

from collections.abc import Mapping
from pathlib import Path

from seq2see.config.schema import Config, Train
from seq2see.core.errors import ConfigError
from seq2see.runs.data_files import name_fields
from seq2see.runs.folder import RunFolder

RATE_SHARE = 0.1  # of the largest learning rate of the run
UNKNOWN_RATE = 1e-3  # of a run whose schedule multiplies something else, and which has no record of its rates
MIN_VALIDATIONS = 5
WARMUP_SHARE, MAX_WARMUP = 10, 100  # one update in ten, because the averages of Adam begin anew
RELATIVE_SCHEDULES = ("noam", "inverse_sqrt")  # which may never come to train.learning_rate


def continue_run(path: Path, out: Path) -> dict[str, object]:
    """Return the configuration of another run as a base for a new one that starts from its weights, without its data.

    Args:
        path: the folder of the other run.
        out: the folder of the new run; a run that has begun there is the base itself.
    """
    config = _read_base(path, out)
    base = config.model_dump(exclude={"init"}, exclude_none=True)
    return {**base, "data": {"held_out": config.data.held_out, "max_tokens": config.data.max_tokens}}


def refuse_other_preset(path: Path, out: Path, early: Mapping[str, object]) -> None:
    """Refuse a preset beside a run to start from, because the run has a configuration of its own.

    Args:
        path: the folder of the run whose weights are taken.
        out: the folder of the new run; a run that has begun there has the same preset.
        early: the settings of the user by dotted key.

    Raises:
        ConfigError: another preset than that of the run is named.
    """
    own, asked = _read_base(path, out).preset, early.get("preset")
    if asked is not None and asked != own:
        raise ConfigError(
            f"{path} starts the training with its own model (preset {own or 'none'}), so there is no preset to choose; "
            f"got {asked}; leave it out, or train without init."
        )


def find_usual_fields(path: Path, out: Path) -> tuple[str, str] | None:
    """Return the columns of source and target that the data of another run has; None if it names none.

    Args:
        path: the folder of the other run.
        out: the folder of the new run; one that has begun there has columns of its own.
    """
    return name_fields(_read_base(path, out))


def decide_fine_tuning(path: Path, out: Path, early: Mapping[str, object]) -> tuple[dict[str, object], str]:
    """Return the keys of section `train` that differ from those of the run, and the reasons in a sentence.

    Small steps keep what the run has learned, and frequent validations keep the best weights of a short training.

    Args:
        path: the folder of the run whose weights are taken.
        out: the folder of the new run; one that has begun is not decided about again.
        early: the settings of the user by dotted key, which stay as they are.

    Returns:
        The keys with their values, and the sentence; both are empty if nothing is left to decide.
    """
    if RunFolder(out).config_file.is_file():
        return {}, ""
    folder = RunFolder(path)
    before = folder.read_config().train
    chosen = early.get("train.updates", before.updates)
    updates = chosen if isinstance(chosen, int) else before.updates  # a wrong setting is refused later
    rate, interval = _find_rate(folder, before) * RATE_SHARE, max(updates // MIN_VALIDATIONS, 1)
    warmup = min(updates // WARMUP_SHARE, MAX_WARMUP)
    decided: dict[str, tuple[object, str]] = {
        "learning_rate": (float(f"{rate:.3g}"), f"learning rate {rate:.3g}, a tenth of the run's"),
        "schedule": ({"kind": "constant", "warmup": warmup}, f"constant after {warmup} updates"),
    }
    if before.validate_every > interval:
        decided["validate_every"] = (interval, f"a validation every {interval:,} updates")
    if before.bidirectional_pretraining:
        decided["bidirectional_pretraining"] = (0.0, "no pre-training from target to source")
    kept = {key: each for key, each in decided.items() if f"train.{key}" not in early}
    if "train.optimizer" in early:
        kept.pop("learning_rate", None)  # a tenth of another optimizer's rate says nothing
    return {key: value for key, (value, _) in kept.items()}, ", ".join(why for _, why in kept.values())


def _read_base(path: Path, out: Path) -> Config:
    """Return the configuration of the run that has begun in the folder `out`, else that of the run it starts from."""
    begun = RunFolder(out)
    return (begun if begun.config_file.is_file() else RunFolder(path)).read_config()


def _find_rate(folder: RunFolder, train: Train) -> float:
    """Return the largest learning rate of a run."""
    kind = train.schedule["kind"] if isinstance(train.schedule, dict) else train.schedule
    if kind not in RELATIVE_SCHEDULES:
        return train.learning_rate
    rates = [row.get("learning_rate") or 0.0 for row in folder.read_metrics()]
    return max(rates, default=0.0) or UNKNOWN_RATE
