"""Products of matrices, by the library that knows the processor."""

import platform
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Num
from torch import Tensor

from seq2see.core import process

Number = int | float | complex

LEAST = 200_000  # multiplications; with fewer the way to another library takes what it wins


@cache
def quicken_products() -> bool:
    """In a process of ours, let oneDNN multiply matrices where that is quicker; whether it does.

    torch asks MKL, which has AVX-512 for processors of its maker alone: on one of AMD's it multiplied at 50 to 120
    billion operations a second, and oneDNN, which is as exact, at 140 to 270.
    """
    if not process.ours or not _is_stranger():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch says that its own way is replaced
        LIBRARY.impl("mm", multiply, "CPU")
        LIBRARY.impl("addmm", multiply_and_add, "CPU")
    return True


LIBRARY = torch.library.Library("aten", "IMPL")  # what it has replaced lasts as long as it does


def _is_stranger() -> bool:
    """Whether MKL does not know the best of this processor, and oneDNN is there."""
    if not (torch.backends.mkl.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    maker = platform.processor()
    with suppress(OSError):
        maker = Path("/proc/cpuinfo").read_text()
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and "GenuineIntel" not in maker


def multiply(first: Num[Tensor, "n d"], second: Num[Tensor, "d m"]) -> Num[Tensor, "n m"]:
    """first @ second, as `torch.mm` has it."""
    if _is_worthwhile(first, second):
        return torch.ops.mkldnn._linear_pointwise(first, second.t(), None, "none", [], "")
    return torch.ops.aten.mm.out(first, second, out=_make_room(first, second))


def multiply_and_add(
    added: Tensor, first: Num[Tensor, "n d"], second: Num[Tensor, "d m"], *, beta: Number = 1, alpha: Number = 1
) -> Num[Tensor, "n m"]:
    """beta added + alpha first @ second, as `torch.addmm` has it."""
    if beta == alpha == 1 and added.shape == second.shape[1:] and _is_worthwhile(first, second):
        return torch.ops.mkldnn._linear_pointwise(first, second.t(), added, "none", [], "")
    return torch.ops.aten.addmm.out(added, first, second, beta=beta, alpha=alpha, out=_make_room(first, second))


def _is_worthwhile(first: Tensor, second: Tensor) -> bool:
    """Whether the product is large, and its second factor has no gaps: there oneDNN takes a thousand times as long."""
    large = first.dtype == torch.float32 and first.shape[0] * second.numel() >= LEAST
    return large and (second.is_contiguous() or second.t().is_contiguous())


def _make_room(first: Tensor, second: Tensor) -> Tensor:
    return first.new_empty(first.shape[0], second.shape[1])
