"""Gated convolutions over time, with normalised weights."""

import math

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn

SQRT_HALF = math.sqrt(0.5)  # keeps the variance of a sum of two
# section 3.5 has 4, for inputs so small that the gate is 1/2; for unit variance, g E[sigmoid(N(0, g))^2] = 1 at g = 3
GATE_GAIN = 3.0


class NormedLinear(nn.Module):
    """Computes y = W x + b, where each row of W is a length times a direction: W_i = g_i v_i / |v_i|.

    Weight normalisation of Salimans & Kingma 2016 (arXiv:1602.07868), eq. 2. Weights start from N(0, gain kept /
    inputs) and biases at zero, so that the variance stays the same from layer to layer (Gehring et al. 2017,
    arXiv:1705.03122, section 3.5).

    Args:
        input_size: channels i of x.
        size: channels o of y.
        gain: the factor of the initial weights' variance, which makes up for what the next nonlinearity takes away.
        kept: the share of the inputs that dropout lets through, above 0 to 1.
    """

    def __init__(self, input_size: int, size: int, *, gain: float = 1.0, kept: float = 1.0) -> None:
        super().__init__()
        self.direction = nn.Parameter(torch.randn(size, input_size) * math.sqrt(gain * kept / input_size))
        self.length = nn.Parameter(self.direction.detach().norm(dim=1))
        self.bias = nn.Parameter(torch.zeros(size))

    @property
    def weight(self) -> Float[Tensor, "o i"]:
        """Return W, as a plain linear layer would hold it."""
        return self.direction * (self.length / self.direction.norm(dim=1)).unsqueeze(1)

    def forward(self, inputs: Float[Tensor, "n t i"]) -> Float[Tensor, "n t o"]:
        """Return y.

        Args:
            inputs: x, [n t i].
        """
        return F.linear(inputs, self.weight, self.bias)


class GatedConvolution(nn.Module):
    """Convolves with a gated linear unit: A * sigmoid(B) with [A B] = W [x_1 ... x_k] + b for every k neighbours.

    Gehring et al. 2017 (arXiv:1705.03122), section 3.2; the gated linear unit is that of Dauphin et al. 2017
    (arXiv:1612.08083). It does not pad: the caller pads the inputs.

    Args:
        size: channels d of inputs and outputs.
        width: how many neighbours k a window has.
        kept: the share of the inputs that dropout lets through, above 0 to 1; it sets the initial weights.
    """

    def __init__(self, *, size: int, width: int, kept: float = 1.0) -> None:
        super().__init__()
        self.width = width
        self.project = NormedLinear(width * size, 2 * size, gain=GATE_GAIN, kept=kept)

    def forward(self, inputs: Float[Tensor, "n s d"]) -> Float[Tensor, "n t d"]:
        """Return one output for each full window, [n t d] with t = s - width + 1.

        Args:
            inputs: the inputs with their padding, [n s d].
        """
        windows_count = inputs.shape[1] - self.width + 1
        # windows side by side and one matrix product: a third faster on a CPU than conv1d with its two transpositions
        windows = torch.cat([inputs[:, offset : offset + windows_count] for offset in range(self.width)], dim=2)
        return F.glu(self.project(windows), dim=2)
