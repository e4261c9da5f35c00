"""Shapes and types of the whole package are checked while the tests run."""

import os
import tempfile

from jaxtyping import install_import_hook

install_import_hook("seq2see", "beartype.beartype")
os.environ["SEQ2SEE_CACHE"] = tempfile.mkdtemp(prefix="seq2see-cache-")

import torch  # noqa: E402 (the hook must come first)

torch.set_num_threads(1)  # tiny tensors: two threads would only wait for each other
