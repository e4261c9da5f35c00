"""Matrix products by the BLAS library that is faster on this processor."""

import platform
import warnings
from contextlib import suppress
from functools import cache
from pathlib import Path

import torch
from jaxtyping import Num
from torch import Tensor

from seq2see.system import processes

Number = int | float | complex

MIN_MULTIPLICATIONS = 200_000  # of a product; for smaller ones calling another library costs more than it gains


@cache
def quicken_products() -> bool:
    """Let oneDNN multiply matrices where that is faster, in a process of our own.

    torch uses MKL, which uses AVX-512 on Intel's processors alone: on one of AMD's it reached 50 to 120 billion
    operations a second, and oneDNN, which is as exact, 140 to 270.

    Returns:
        Whether oneDNN multiplies them from now on.
    """
    if not processes.ours or not _lacks_avx512_in_mkl():
        return False
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that its own implementation is replaced
        LIBRARY.impl("mm", multiply, "CPU")
        LIBRARY.impl("addmm", multiply_and_add, "CPU")
    return True


LIBRARY = torch.library.Library("aten", "IMPL")  # its replacements last as long as this object


def _lacks_avx512_in_mkl() -> bool:
    """Tell whether MKL does not use AVX-512 on this processor, and oneDNN is available."""
    if not (torch.backends.mkl.is_available() and hasattr(torch.ops.mkldnn, "_linear_pointwise")):
        return False
    maker = platform.processor()
    with suppress(OSError):
        maker = Path("/proc/cpuinfo").read_text()
    return torch.backends.cpu.get_cpu_capability() == "AVX512" and "GenuineIntel" not in maker


def multiply(first: Num[Tensor, "n d"], second: Num[Tensor, "d m"]) -> Num[Tensor, "n m"]:
    """Return first @ second, as `torch.mm` does.

    Args:
        first: the left factor, [n d].
        second: the right factor, [d m]; large float32 factors without gaps in memory are multiplied by oneDNN.
    """
    if _is_worthwhile(first, second):
        return torch.ops.mkldnn._linear_pointwise(first, second.t(), None, "none", [], "")
    return torch.ops.aten.mm.out(first, second, out=_make_output(first, second))


def multiply_and_add(
    added: Tensor, first: Num[Tensor, "n d"], second: Num[Tensor, "d m"], *, beta: Number = 1, alpha: Number = 1
) -> Num[Tensor, "n m"]:
    """Return beta added + alpha first @ second, as `torch.addmm` does.

    Args:
        added: what is added to the product; its shape broadcasts to [n m].
        first: the left factor, [n d].
        second: the right factor, [d m].
        beta: the factor of `added`.
        alpha: the factor of the product.
    """
    if beta == alpha == 1 and added.shape == second.shape[1:] and _is_worthwhile(first, second):
        return torch.ops.mkldnn._linear_pointwise(first, second.t(), added, "none", [], "")
    return torch.ops.aten.addmm.out(added, first, second, beta=beta, alpha=alpha, out=_make_output(first, second))


def _is_worthwhile(first: Tensor, second: Tensor) -> bool:
    """Tell whether a product is large and its second factor contiguous; else oneDNN takes a thousand times as long."""
    large = first.dtype == torch.float32 and first.shape[0] * second.numel() >= MIN_MULTIPLICATIONS
    return large and (second.is_contiguous() or second.t().is_contiguous())


def _make_output(first: Tensor, second: Tensor) -> Tensor:
    return first.new_empty(first.shape[0], second.shape[1])
