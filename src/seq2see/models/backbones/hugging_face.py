"""Vision models of Hugging Face transformers as backbones."""

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from math import isqrt
from typing import Any

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from torch import Tensor

from seq2see.core.errors import ConfigError
from seq2see.core.installation import say_install
from seq2see.models.backbones.backbone import Backbone, FeatureMap

HUGGING_FACE_PREFIX = "transformers:"  # before the name of a model on the hub, or of a folder
IMAGENET_MEAN, IMAGENET_STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of pixels from 0 to 1


class HuggingFaceBackbone(Backbone):
    """Is any vision model of Hugging Face transformers, by its name on the hub or from a folder; never from a pickle.

    Its maps are the hidden states of the model; of a Vision Transformer only those of the patches are used, not those
    of the tokens before them. Pixels are scaled as the model's preprocessor_config.json says; without that file, by the
    mean and deviation of ImageNet.

    Args:
        name: the name of the model on the hub, or a folder.
        image_size: pixels a side of an image; the constructor runs one image of that size to see whether it fits.
    """

    pretrained = True

    def __init__(self, name: str, *, image_size: int) -> None:
        library = import_package("transformers", f"{HUGGING_FACE_PREFIX}{name}", extra="transformers")
        mean, std = _read_scaling(library, name)
        super().__init__(mean=[255 * value for value in mean], std=[255 * value for value in std])
        try:
            with _silence(library):
                model = library.AutoModel.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
        except (OSError, ValueError, ImportError, SafetensorError) as error:
            raise ConfigError(f"the backbone {name} cannot be loaded: {' '.join(str(error).split())}") from error
        self.net = getattr(model, "vision_model", model)  # of a pair such as CLIP, the half for images
        known = inspect.signature(self.net.forward).parameters
        self.options = {"interpolate_pos_encoding": True} if "interpolate_pos_encoding" in known else {}
        try:
            with torch.no_grad():
                self.eval()(torch.zeros(1, 3, image_size, image_size, dtype=torch.uint8))
        except (ValueError, RuntimeError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"the backbone {name} gives no maps of images of {image_size} pixels a side: "
                f"{' '.join(str(error).split())}"
            ) from error

    def compute_maps(self, scaled: Float[Tensor, "b 3 y x"]) -> list[FeatureMap]:
        output = self.net(pixel_values=scaled, output_hidden_states=True, **self.options)
        reshaped = getattr(output, "reshaped_hidden_states", None)
        # the last state comes with the normalisation that belongs to it
        return [_arrange(states) for states in reshaped or (*output.hidden_states[:-1], output.last_hidden_state)]


def import_package(module: str, backbone: str, *, extra: str) -> Any:  # modules of others have no types
    """Import a package that a backbone needs, or raise an error that says how to install it.

    Args:
        module: the module to import.
        backbone: the name of the backbone, for the error message.
        extra: the extra of ours that brings it, for the error message.
    """
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"backbone {backbone} needs more packages; run: {say_install(extra=extra)}") from error


def _read_scaling(library: Any, name: str) -> tuple[Sequence[float], Sequence[float]]:
    """Return the mean and deviation of pixels (0 to 1) that a model was trained with."""
    try:
        facts, _ = library.image_processing_base.ImageProcessingMixin.get_image_processor_dict(name)
    except (OSError, ValueError):
        return IMAGENET_MEAN, IMAGENET_STD
    return facts.get("image_mean") or IMAGENET_MEAN, facts.get("image_std") or IMAGENET_STD


@contextmanager
def _silence(library: Any) -> Iterator[None]:
    """Turn off progress bars and warnings about heads that are not used."""
    logging = library.utils.logging
    before, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(before)
        if bars:
            logging.enable_progress_bar()


def _arrange(states: Float[Tensor, "b ..."]) -> FeatureMap:
    """Return hidden states as a map: patches in rows, without the tokens before them."""
    if states.ndim == 4:
        return states
    side = isqrt(states.shape[1])
    return states[:, -side * side :].transpose(1, 2).unflatten(2, (side, side))
