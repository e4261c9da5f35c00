"""Three tiny texts, documents and images, for the laws of encoders and decoders."""

import inspect
from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from seq2see.models.network import Encoder
from seq2see.testing.attention_laws import Device

Draw = Callable[[Sequence[int]], tuple[Tensor, Tensor]]

SOURCES, LENGTH, SOURCE_VOCABULARY = 3, 7, 13
IMAGE_PIXELS = 32  # a side


def place(draw: Draw, device: Device) -> Draw:
    """Return what draws the same sources on a device.

    Args:
        draw: draws them anywhere.
        device: where they are to be.
    """

    def drawn(rows: Sequence[int]) -> tuple[Tensor, Tensor]:
        source, mask = draw(rows)
        return source.to(device), mask.to(device)

    return drawn


def choose_draw(encoder: Encoder) -> Draw:
    """Choose images for an encoder that takes an image_size, texts for others.

    Args:
        encoder: an encoder, whose constructor is asked.
    """
    return draw_images if "image_size" in inspect.signature(type(encoder)).parameters else draw_texts


def draw_texts(rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the given rows of three texts, padded to the longest of them.

    Args:
        rows: which texts, 0 to 2, in any order.

    Returns:
        The tokens [b s], and a mask that is True at real ones [b s].
    """
    torch.manual_seed(2)
    tokens = torch.randint(0, SOURCE_VOCABULARY, (SOURCES, LENGTH))[list(rows)]
    mask = torch.arange(LENGTH) < torch.tensor([LENGTH, 4, 1])[list(rows)].unsqueeze(1)
    longest = int(mask.sum(dim=1).max())
    return tokens[:, :longest], mask[:, :longest]


def draw_documents(rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the given rows of three documents of up to four sentences, padded to the longest of each.

    Args:
        rows: which documents, 0 to 2, in any order.

    Returns:
        The tokens [b u w], and a mask that is True at real ones [b u w].
    """
    torch.manual_seed(2)
    lengths = torch.tensor([[2, 7, 1, 5], [3, 1, 0, 0], [4, 0, 0, 0]])[list(rows)]
    tokens = torch.randint(0, SOURCE_VOCABULARY, (SOURCES, 4, LENGTH))[list(rows)]
    sentences, words = int((lengths > 0).sum(dim=1).max()), int(lengths.max())
    mask = torch.arange(words) < lengths[:, :sentences].unsqueeze(2)
    return tokens[:, :sentences, :words], mask


def draw_images(rows: Sequence[int]) -> tuple[Tensor, Tensor]:
    """Return the given rows of three images.

    Args:
        rows: which images, 0 to 2, in any order.

    Returns:
        The pixels as bytes, [b 3 y x], and a mask that is True everywhere, [b 1].
    """
    torch.manual_seed(2)
    pixels = torch.randint(0, 256, (SOURCES, 3, IMAGE_PIXELS, IMAGE_PIXELS), dtype=torch.uint8)
    return pixels[list(rows)], torch.ones(len(rows), 1, dtype=torch.bool)
