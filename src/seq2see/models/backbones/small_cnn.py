"""A small convolutional network that is trained from scratch."""

from collections.abc import Callable, Sequence
from typing import Literal

from jaxtyping import Float
from torch import Tensor, nn

from seq2see.models.backbones.backbone import Backbone, FeatureMap
from seq2see.nn.module_list import TypedModuleList

Padding = Literal["zeros", "replicate"]
GROUPS = 8  # of channels, in group normalisation


class SmallCnn(Backbone):
    """Has stages of two convolutions, each at half the resolution of the one before.

    It normalises groups of channels or single cells and never batches, so that images do not depend on each other, not
    even in training.

    Args:
        norm: makes the normalisation layer for a number of channels.
        padding: what convolutions see beyond the border of a map: zeros, by which a cell can tell that it is at the
            border, or the nearest cell once more.
        widths: the channels of each stage, from the finest map to the coarsest.
    """

    def __init__(
        self, *, norm: Callable[[int], nn.Module], padding: Padding, widths: Sequence[int] = (32, 64, 128, 256)
    ) -> None:
        super().__init__()
        sides = zip((3, *widths), widths, strict=False)
        self.stages: TypedModuleList[nn.Sequential] = TypedModuleList(
            nn.Sequential(
                *_convolve(before, width, norm, padding, stride=2), *_convolve(width, width, norm, padding, stride=1)
            )
            for before, width in sides
        )

    def truncate(self, depth: int) -> None:
        self.stages = self.stages[:depth]

    def compute_maps(self, scaled: Float[Tensor, "b 3 y x"]) -> list[FeatureMap]:
        maps = [scaled]
        for stage in self.stages:
            maps.append(stage(maps[-1]))
        return maps[1:]


class GroupNorm(nn.GroupNorm):
    """Normalises groups of channels over a whole map, so that every cell depends on all others.

    Wu & He 2018 (arXiv:1803.08494).

    Args:
        channels: channels of the map; a multiple of `GROUPS`.
    """

    def __init__(self, channels: int) -> None:
        super().__init__(GROUPS, channels)


class CellNorm(nn.LayerNorm):
    """Normalises the channels of each cell, so that a cell depends only on the part of the image that it sees.

    Ba et al. 2016 (arXiv:1607.06450).
    """

    def forward(self, states: FeatureMap) -> FeatureMap:
        """Return the normalised map, [b d y x].

        Args:
            states: the map before, [b d y x].
        """
        return super().forward(states.movedim(1, 3)).movedim(3, 1)


def build_small_cnn() -> SmallCnn:
    """Build the backbone `small`, whose cells know of the whole image: by normalisation, and by zeros at its border."""
    return SmallCnn(norm=GroupNorm, padding="zeros")


def build_local_cnn() -> SmallCnn:
    """Build the backbone `cells`, whose cells know only the part of the image that they see, and not where they are."""
    return SmallCnn(norm=CellNorm, padding="replicate")


SMALL_CNNS: dict[str, Callable[[], SmallCnn]] = {"small": build_small_cnn, "cells": build_local_cnn}  # by backbone name


def _convolve(
    inputs: int, outputs: int, norm: Callable[[int], nn.Module], padding: Padding, *, stride: int
) -> list[nn.Module]:
    convolution = nn.Conv2d(inputs, outputs, kernel_size=3, stride=stride, padding=1, padding_mode=padding, bias=False)
    nn.init.kaiming_normal_(convolution.weight, nonlinearity="relu")
    return [convolution, norm(outputs), nn.ReLU(inplace=True)]
