"""Shapes and types of the whole package are checked while the tests run."""

import os
import tempfile
from typing import TYPE_CHECKING

import pytest
from jaxtyping import install_import_hook

import shapes

if TYPE_CHECKING:
    import torch

install_import_hook("seq2see", "shapes.check")
pytest_plugins = ["traces"]  # after the hook, so that what it imports is checked too
os.environ["SEQ2SEE_CACHE"] = tempfile.mkdtemp(prefix="seq2see-cache-")
os.environ["OMP_NUM_THREADS"] = "1"  # tiny tensors: two threads would only wait for each other


@pytest.fixture(params=["cpu", "pretend"])
def device(request: pytest.FixtureRequest) -> "torch.device":
    """Every device that a law holds on: the CPU, and one that is as strict as an accelerator."""
    import torch

    from seq2see.testing import pretend_device

    return torch.device("cpu") if request.param == "cpu" else pretend_device()


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: with several workers, a long test that begins last would be waited for alone."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_runtest_setup() -> None:
    """Every test sees every function checked again, and has one thread, whatever a training before it left."""
    import torch  # here, because who only hands tests out to others does not need it

    from seq2see.testing import pretend_device

    pretend_device()  # torch counts its devices at the first backward pass of a process
    shapes.forget()
    torch.set_num_threads(1)
