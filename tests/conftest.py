"""Shapes and types of the whole package are checked while the tests run."""

import os
import tempfile

from jaxtyping import install_import_hook

install_import_hook("seq2see", "shapes.check")
os.environ["SEQ2SEE_CACHE"] = tempfile.mkdtemp(prefix="seq2see-cache-")

import torch  # noqa: E402 (the hook must come first)

torch.set_num_threads(1)  # tiny tensors: two threads would only wait for each other

import pytest  # noqa: E402

import shapes  # noqa: E402


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """The slow ones first: with several workers, a long test that begins last would be waited for alone."""
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


def pytest_runtest_setup() -> None:
    """Every test sees every function checked again."""
    shapes.forget()
