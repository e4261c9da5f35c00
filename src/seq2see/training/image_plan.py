"""Decisions about images that a configuration leaves to the data."""

from seq2see.config.schema import Config
from seq2see.data.checks.infer import infer_modality
from seq2see.data.checks.sides import decide_mirroring
from seq2see.data.pairs import Pairs
from seq2see.runs.folder import RunFolder


def settle_mirroring(config: Config, folder: RunFolder, pairs: Pairs) -> tuple[Config, dict[str, str]]:
    """Return the configuration with what it leaves open about mirror images, and the reason by its key.

    Args:
        config: the configuration of the training.
        folder: the run folder; a run that has begun there has decided.
        pairs: the training data.
    """
    images = _read_images(config)
    if images is None or images.get("mirror") is not None or infer_modality(pairs) != "images":
        return config, {}
    begun = _read_images(folder.read_config()) if folder.holds_run() else None
    if begun is not None and isinstance(begun.get("mirror"), bool):
        return _with_mirror(config, images, begun["mirror"]), {}
    mirroring = decide_mirroring(pairs)
    return _with_mirror(config, images, mirroring.allowed), {"tokens.source": str(mirroring)}


def _read_images(config: Config) -> dict[str, object] | None:
    """Return the options of the images that are read; None where sources are none."""
    source = config.tokens.source
    options: dict[str, object] = {"kind": source} if isinstance(source, str) else dict(source or {})
    return options if options.get("kind") == "images" else None


def _with_mirror(config: Config, images: dict[str, object], mirror: object) -> Config:
    tokens = config.tokens.model_copy(update={"source": {**images, "mirror": mirror}})
    return config.model_copy(update={"tokens": tokens})
