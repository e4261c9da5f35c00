"""Products by another library are those of torch."""

import subprocess
import sys

import pytest
import torch
from torch import Tensor

from seq2see.system.blas import MIN_MULTIPLICATIONS, multiply, multiply_and_add

pytestmark = pytest.mark.skipif(
    not hasattr(torch.ops.mkldnn, "_linear_pointwise"), reason="this build of torch has no oneDNN"
)
ROWS, INNER, COLUMNS = 67, 61, 71
INSTALLED = """
import torch
from seq2see.system import processes as process
from seq2see.system import blas as product
process.own_process()
product._is_stranger = lambda: True
assert product.quicken_products()
x, w, b = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in ((67, 61), (71, 61), (71,)))
cell = torch.nn.GRU(61, 71).double()
sums = []
for dtype in (torch.float64, torch.float32):
    x.grad = w.grad = b.grad = None
    torch.nn.functional.linear(x.to(dtype), w.to(dtype), b.to(dtype)).square().sum().backward()
    sums.append([x.grad, w.grad, b.grad, cell.to(dtype)(x.detach().to(dtype).unsqueeze(1))[0].double()])
print(max((exact - found).abs().max().item() / exact.abs().max().item() for exact, found in zip(*sums)))
"""


def matrices(dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    """A row to add and two factors, large enough for the other library."""
    assert ROWS * INNER * COLUMNS > MIN_MULTIPLICATIONS
    torch.manual_seed(1)
    sizes = ((COLUMNS,), (ROWS, INNER), (INNER, COLUMNS))
    added, first, second = (torch.randint(-9, 9, size).to(dtype) for size in sizes)
    return added, first, second


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.int64])
@pytest.mark.parametrize("rows", [0, 1, ROWS])
def test_products_are_those_of_torch(rows: int, dtype: torch.dtype) -> None:
    added, first, second = matrices(dtype)
    first = first[:rows]  # whole numbers: sums are exact in any order
    assert multiply(first, second).equal(first @ second)
    assert multiply_and_add(added, first, second).equal(torch.addmm(added, first, second))


def test_transposed_factors_are_multiplied_as_they_are() -> None:
    _, first, second = matrices()
    turned = first.t().contiguous().t(), second.t().contiguous().t()
    assert multiply(*turned).equal(first @ second)


def test_factors_with_gaps_are_left_to_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    _, first, second = matrices()
    wide, expected = second.repeat(1, 2)[:, :COLUMNS], first @ second
    monkeypatch.setattr(torch.ops.mkldnn, "_linear_pointwise", None)  # there it would take a thousand times as long
    assert multiply(first, wide).equal(expected)
    with pytest.raises(TypeError):
        multiply(first, second)


def test_scaled_products_and_whole_matrices_can_be_added() -> None:
    added, first, second = matrices()
    whole = added.expand(ROWS, -1)
    assert multiply_and_add(whole, first, second, beta=2).equal(2 * whole + first @ second)
    assert multiply_and_add(added, first, second, alpha=3).equal(added + 3 * (first @ second))


def test_layers_cells_and_gradients_go_through_it() -> None:
    shown = subprocess.run([sys.executable, "-c", INSTALLED], capture_output=True, text=True, check=True)
    assert not shown.stderr
    assert 0 < float(shown.stdout) < 1e-5


def test_a_program_that_imports_us_keeps_its_own_products() -> None:
    code = "from seq2see.system.blas import quicken_products; print(quicken_products())"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "False"
