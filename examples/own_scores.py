"""Two score functions for `score_of_your_own.py`: one that keeps the laws, and one that breaks one of them."""

import torch
from torch import Tensor, nn

from seq2see.nn.score import Score


class Gaussian(Score):
    """-|q - W k|^2 / (2 sigma^2), with a learned sigma.

    With the softmax behind it, this is kernel regression with a Gaussian kernel (Nadaraya 1964, Watson 1964).
    """

    def __init__(self, *, query_size: int, key_size: int, sigma: float = 2.0) -> None:
        super().__init__()
        self.project = nn.Linear(key_size, query_size, bias=False)
        self.log_sigma = nn.Parameter(torch.tensor(sigma).log())  # as a logarithm, so that sigma stays positive

    def prepare(self, keys: Tensor) -> Tensor:
        """W k, once for each source: [b h s k] -> [b h s q]."""
        return self.project(keys)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """One score for each pair of query and key: [b h t q], [b h s q] -> [b h t s]."""
        distances = (query.unsqueeze(3) - keys.unsqueeze(2)).square().sum(dim=-1)
        return -distances / (2 * (2 * self.log_sigma).exp())


class Standardised(Score):
    """q . k, divided by the standard deviation over all keys: wrong, because padding counts among the keys."""

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        scores = query @ keys.transpose(2, 3)
        return scores / scores.std(dim=-1, keepdim=True)
