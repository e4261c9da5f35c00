"""The numbers that a training computes with: float32, or half as many bits where that is precise enough."""

from collections.abc import Mapping
from contextlib import AbstractContextManager

import torch
from torch import Tensor

TYPES: Mapping[str, torch.dtype] = {
    "float32": torch.float32,
    "bfloat16": torch.bfloat16,
    "float16": torch.float16,
}
FIRST_FACTOR = 2.0**16  # of the loss in float16
UPDATES_TO_DOUBLE = 2000  # without an overflow, after which the factor is doubled


class Precision:
    """Computes the forward pass with fewer bits (autocast), and keeps the gradients of float16 in its range.

    Weights, gradients, optimizer and loss stay in float32. Mixed precision and loss scaling: Micikevicius et al. 2018
    (arXiv:1710.03740). In float16 small gradients would be 0, so the loss is multiplied by a factor before the backward
    pass: it is halved where a gradient overflows, and doubled after many updates in which none did.

    Args:
        name: the type of the numbers, one of `TYPES`; bfloat16 has the range of float32, and needs no factor.
    """

    def __init__(self, name: str) -> None:
        self.type = TYPES[name]
        self.factor = FIRST_FACTOR if self.type == torch.float16 else 1.0  # of the loss, and so of its gradients
        self._updates = 0  # since the factor changed

    def autocast(self, device: torch.device) -> AbstractContextManager[object]:
        """Return the context of a forward pass.

        Args:
            device: where the model is.
        """
        return torch.autocast(device.type, self.type, enabled=self.type != torch.float32)

    def observe(self, *, finite: bool) -> None:
        """Adapt the factor after an update.

        Args:
            finite: whether its gradient was finite.
        """
        if self.type != torch.float16:
            return
        self._updates = self._updates + 1 if finite else 0
        if not finite:
            self.factor /= 2
        elif self._updates == UPDATES_TO_DOUBLE:
            self.factor, self._updates = self.factor * 2, 0

    def dump(self) -> dict[str, Tensor]:
        """Return what changes in training, by name; nothing but in float16."""
        if self.type != torch.float16:
            return {}
        return {"factor": torch.tensor(self.factor), "updates": torch.tensor(self._updates)}

    def restore(self, tensors: Mapping[str, Tensor]) -> None:
        """Put back what `dump` returned.

        Args:
            tensors: the tensors by name; none if they were saved by a training in another precision.
        """
        if self.type == torch.float16 and tensors:
            self.factor, self._updates = tensors["factor"].item(), int(tensors["updates"])
