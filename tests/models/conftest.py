"""What tests of models share."""

import pytest
import torch
from torch import Tensor

from seq2see.nn.dropout import Dropout


@pytest.fixture
def doubled(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever would be dropped somewhere is doubled instead, so that equations can tell where dropout stands."""
    drop = Dropout.forward

    def double(self: Dropout, states: Tensor) -> Tensor:
        return states * 2 if (drop(self, torch.ones(999)) == 0).any() else states

    monkeypatch.setattr(Dropout, "forward", double)
