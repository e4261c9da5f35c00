"""The contract of backbones."""

import hashlib
from collections.abc import Sequence

import torch
from jaxtyping import Float, UInt8
from torch import Tensor, nn

# pixels from 0 to 255 minus the mean, divided by the deviation: the scaling of EfficientNet-Lite
EFFICIENTNET_MEAN, EFFICIENTNET_STD = (127.0,) * 3, (128.0,) * 3

FeatureMap = Float[Tensor, "b _ _ _"]


class Backbone(nn.Module):
    """Base of the backbones: from pixels to feature maps [b d y x], from the finest to the coarsest.

    A pretrained backbone stays in evaluation mode, fine-tuned or not. So its batch normalisation uses the statistics of
    its own training, and an image's features do not depend on the other images of the batch.

    Args:
        mean: what is subtracted from each channel of the pixels, which are 0 to 255.
        std: what the channels are divided by.
    """

    pretrained = False
    mean: Tensor
    std: Tensor

    def __init__(self, *, mean: Sequence[float] = EFFICIENTNET_MEAN, std: Sequence[float] = EFFICIENTNET_STD) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(3, 1, 1), persistent=False)

    def forward(self, pixels: UInt8[Tensor, "b 3 y x"]) -> list[FeatureMap]:
        """Return all feature maps, from the first and finest to the last.

        Args:
            pixels: images of three channels from 0 to 255, [b 3 y x].
        """
        scaled = (pixels.to(self.mean.dtype) - self.mean) / self.std
        return self.compute_maps(scaled.contiguous(memory_format=torch.channels_last))  # faster convolutions on CPUs

    def compute_maps(self, scaled: Float[Tensor, "b 3 y x"]) -> list[FeatureMap]:
        """Return all feature maps, from the finest to the coarsest.

        Args:
            scaled: pixels minus `mean`, divided by `std`, [b 3 y x].
        """
        raise NotImplementedError

    def truncate(self, depth: int) -> None:
        """Remove the layers that only later maps need.

        Args:
            depth: how many of the first maps to keep.
        """
        raise NotImplementedError

    @property
    def for_inference(self) -> "Backbone":
        """Return the same network for inference alone, perhaps faster; it does not follow a change of the weights."""
        return self

    def train(self, mode: bool = True) -> "Backbone":
        """Set training mode; a pretrained backbone stays in evaluation mode.

        Args:
            mode: True for training, False for evaluation.
        """
        return super().train(mode and not self.pretrained)

    def fingerprint(self) -> str:
        """Return a short text that changes with the weights and the scaling."""
        digest = hashlib.sha256()
        for name, tensor in [("mean", self.mean), ("std", self.std), *sorted(self.state_dict().items())]:
            digest.update(f" {name} {tuple(tensor.shape)} ".encode())
            digest.update(tensor.detach().float().cpu().numpy().tobytes())
        return digest.hexdigest()[:32]
