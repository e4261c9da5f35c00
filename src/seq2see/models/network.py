"""What all networks have in common: an encoder that makes a memory, and a layer of outputs."""

from typing import Protocol, TypeVar, runtime_checkable

import torch
from jaxtyping import Bool, Shaped
from torch import Tensor, nn

from seq2see.core.memory import Memory

AnyNetwork = TypeVar("AnyNetwork", bound="Network")


@runtime_checkable
class Encoder(Protocol):
    """A module that reads a batch of sources.

    Args of a call:
        source: ids of texts [b s] or documents [b u w], pixels or features of images [b d y x].
        mask: True at positions that are no padding.
    """

    def __call__(self, source: Shaped[Tensor, "b *_"], mask: Bool[Tensor, "b *_"]) -> Memory: ...


@runtime_checkable
class SizedEncoder(Encoder, Protocol):
    """An encoder that says how wide its memory is, as every registered one does."""

    memory_size: int  # channels of the states in its memory


class Network(nn.Module):
    """Is the base of the networks that a task trains."""

    encoder: Encoder

    @property
    def output_layer(self) -> nn.Linear:
        """Return the last layer, from features to the logits of tokens or labels."""
        raise NotImplementedError

    @property
    def device(self) -> torch.device:
        """Return the device that the weights are on; whatever the model reads must be there."""
        return self.output_layer.weight.device

    def place(self, given: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
        """Return a batch of sources and its mask on the device of the model.

        Args:
            given: the sources as the encoder takes them, and their mask.
        """
        return given[0].to(self.device, non_blocking=True), given[1].to(self.device, non_blocking=True)

    @classmethod
    def of(cls: type[AnyNetwork], model: nn.Module) -> AnyNetwork:
        """Return the same model, typed as this class.

        Args:
            model: the model, which must be of this class.

        Raises:
            TypeError: if the model is of another class.
        """
        if not isinstance(model, cls):
            raise TypeError(f"the model must be a {cls.__name__}; got {type(model).__name__}; let its task build it.")
        return model
