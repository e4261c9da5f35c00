"""The cosines of positions: whether a model has learned which patches, or places of a text, are neighbours."""

import numpy as np
import torch
import torch.nn.functional as F
from jaxtyping import Float, Float32
from torch import Tensor

from seq2see.core.errors import AttentionError
from seq2see.models.network import Encoder

MAX_TEXT_POSITIONS = 64
PositionCosines = Float32[np.ndarray, "y x v u"] | Float32[np.ndarray, "t s"]


@torch.inference_mode()
def compare_positions(encoder: Encoder) -> PositionCosines:
    """Return the cosine of each position of an encoder with each other: places of a text, or cells of an image.

    Args:
        encoder: an encoder that adds positions to what it reads (Dosovitskiy et al. 2021, arXiv:2010.11929, figure 7).
    """
    positions = _read_positions(encoder)
    unit = F.normalize(positions.flatten(0, -2).float(), dim=-1)
    return np.asarray((unit @ unit.T).reshape(*positions.shape[:-1], *positions.shape[:-1]).cpu().numpy())


def _read_positions(encoder: Encoder) -> Float[Tensor, "... d"]:
    """Return what an encoder adds to say where something is: of an image its `places`, of a text its first ones."""
    places = getattr(encoder, "places", None)
    if places is not None:
        positions = places()
    else:
        position = getattr(encoder, "position", None)
        positions = None if position is None else position.first(MAX_TEXT_POSITIONS)
    if positions is None:
        raise AttentionError(
            f"the encoder of this run ({type(encoder).__name__}) has no positions to compare; take one with a "
            "transformer, conv or vit encoder, or a cnn with a position."
        )
    return positions
