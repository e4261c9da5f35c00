"""A device that is none: it computes real numbers with the kernels of the CPU, and obeys the rules of an accelerator.

A program that runs on it, and gives the CPU's numbers, makes every tensor where the others are. So what is written for
any device can be tested on a machine that has only one.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._mode_utils import no_dispatch
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend

NAME = "pretend"
aten: Any = torch.ops.aten  # torch's own names of its operators

# operators that move numbers between devices
MOVES = {aten.copy_, aten._to_copy, aten.to}
# operators whose result, or the size of it, the host must wait for
LOOKS = {
    *(aten._local_scalar_dense, aten.item, aten.is_nonzero, aten.equal, aten.allclose),
    *(aten.nonzero, aten.nonzero_numpy, aten.argwhere, aten.masked_select),
    *(aten._unique, aten._unique2, aten.unique_dim, aten.unique_consecutive),
}
INDEXING = {aten.index, aten.index_put, aten.index_put_}
# operators that make a tensor of a size that their arguments say
FACTORIES = ("arange", "arange.start", "arange.start_step", "eye", "eye.m", "linspace", "randperm")

_looks = 0
_libraries: list[torch.library.Library] = []


class DeviceError(RuntimeError):
    """Tensors of different devices met."""


class PretendTensor(Tensor):
    """A tensor on the pretend device, around one of the CPU with the same numbers.

    Args:
        numbers: the tensor of the CPU.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]  # as torch's own do

    @staticmethod
    def __new__(cls, numbers: Tensor) -> "PretendTensor":
        """Wrap a tensor of the CPU."""
        wrapped: PretendTensor = Tensor._make_wrapper_subclass(
            cls,
            numbers.shape,
            strides=numbers.stride(),
            storage_offset=numbers.storage_offset(),
            dtype=numbers.dtype,
            layout=numbers.layout,
            device=torch.device(NAME, 0),
        )
        return wrapped

    def __init__(self, numbers: Tensor) -> None:
        self.numbers = numbers

    def __tensor_flatten__(self) -> tuple[list[str], None]:
        return ["numbers"], None

    @staticmethod
    def __tensor_unflatten__(
        tensors: Mapping[str, Tensor], meta: None, size: object, stride: object
    ) -> "PretendTensor":
        return PretendTensor(tensors["numbers"])

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]  # torch types it as a function
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, *args, **(kwargs or {}))

    def tolist(self) -> Any:
        """Return the numbers as nested lists, as any tensor does."""
        return self.cpu().tolist()

    def data_ptr(self) -> int:
        """Return where the numbers are, which tells tensors that share them."""
        return self.numbers.data_ptr()

    def __deepcopy__(self, memo: dict[int, object]) -> Tensor:
        copied = PretendTensor(self.numbers.detach().clone()).requires_grad_(self.requires_grad)
        copied = nn.Parameter(copied, self.requires_grad) if getattr(self, "_is_param", False) else copied
        memo[id(self)] = copied
        return copied

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]  # torch says nothing of it
        return f"{self.numbers!r} on {NAME}"


class _Backend(_DummyBackendModule):
    """What torch asks a device for, beside its operators."""

    def get_amp_supported_dtype(self) -> list[torch.dtype]:
        """Return the types of autocast."""
        return [torch.bfloat16, torch.float16]


def pretend_device() -> torch.device:
    """Return the pretend device; it is registered with torch when it is asked for first.

    An operator that meets a tensor of the CPU with one dimension or more raises a `DeviceError`, as an accelerator
    does, and so do generators of the CPU. Ask for it before the first backward pass of a process, because torch counts
    its devices then. Random numbers come from torch's generator of the CPU, so that they are the
    same as there.
    """
    if not _libraries:
        _setup_privateuseone_for_python_backend(NAME, backend_module=_Backend())
        everything, some = torch.library.Library("_", "IMPL"), torch.library.Library("aten", "IMPL")
        everything.fallback(_run, "PrivateUse1")
        # torch.tensor passes by the tensors' own dispatch, which a fallback does not survive
        some.impl("copy_", lambda mine, other, wait=False: _run(aten.copy_.default, mine, other, wait), "PrivateUse1")
        for name in FACTORIES:
            some.impl(name, _run_always(name), "PrivateUse1")
        for operator, cell in CELLS.items():
            some.impl(operator._schema.name, cell, "AutogradPrivateUse1")
        _libraries.extend([everything, some])
    return torch.device(NAME, 0)


@contextmanager
def counting_looks() -> Iterator[Callable[[], int]]:
    """Count inside the block how often the host looks at numbers of the pretend device, and so waits for it.

    `.item()`, `int()`, `bool()`, `.tolist()`, `.cpu()`, `torch.equal`, `nonzero` and boolean indices are looks.

    Yields:
        A function that returns the number of looks since the block began.
    """
    before = _looks
    yield lambda: _looks - before


def _run(func: Any, *args: Any, **kwargs: Any) -> Any:
    """Run an operator on the CPU, and return its results on the pretend device."""
    if func in CELLS:
        return CELLS[func](*args, **kwargs)
    given = tree_leaves((args, kwargs))
    _check(func, given)
    _count(func, args, kwargs)
    results = func(*tree_map(_unwrap, args), **tree_map(_unwrap, kwargs))
    if func is aten.copy_.default:
        return args[0]
    if torch.device(kwargs.get("device") or NAME).type == "cpu":
        return results
    if torch.Tag.inplace_view in func.tags:  # the tensor around it gets the new shape, too
        with no_dispatch():
            func(*args, **kwargs)
    changed = [argument for argument in func._schema.arguments if argument.is_write]
    if changed:  # in place, or into a tensor that was given for the result
        if not func._schema.returns:
            return None
        return kwargs[changed[0].name] if changed[0].kwarg_only else args[0]
    # as everywhere in torch, a view of a tensor that was made outside of inference mode is none of inference mode
    outside = func.is_view and not args[0].is_inference()
    with torch.inference_mode(False) if outside else nullcontext():
        return tree_map(lambda each: PretendTensor(each) if isinstance(each, Tensor) else each, results)


def _check(func: Any, given: Sequence[Any]) -> None:
    """Raise a DeviceError if tensors of the CPU are among those of the device."""
    if func.overloadpacket in MOVES or not any(isinstance(each, PretendTensor) for each in given):
        return
    for each in given:
        if isinstance(each, Tensor) and not isinstance(each, PretendTensor) and each.ndim:
            raise DeviceError(f"{func} met a tensor of the CPU of shape {tuple(each.shape)} on {NAME}")
        if isinstance(each, torch.Generator):
            raise DeviceError(f"{func} was given a generator of the CPU on {NAME}")


def _count(func: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> None:
    global _looks
    kind = func.overloadpacket
    to_host = kind in MOVES and torch.device(kwargs.get("device") or NAME).type == "cpu"
    to_host = to_host or (kind is aten.copy_ and not isinstance(args[0], PretendTensor))
    boolean = kind in INDEXING and any(each is not None and each.dtype == torch.bool for each in args[1])
    repeated = kind is aten.repeat_interleave and any(isinstance(each, Tensor) for each in args[1:2])
    _looks += int(kind in LOOKS or to_host or boolean or repeated)


def _unwrap(each: Any) -> Any:
    if isinstance(each, PretendTensor):
        return each.numbers
    return torch.device("cpu") if isinstance(each, torch.device) and each.type == NAME else each


def _run_always(name: str) -> Callable[..., Any]:
    """Return what runs a factory as one operator; torch would make an empty tensor first, and resize it."""
    base, _, overload = name.partition(".")
    operator = getattr(getattr(aten, base), overload or "default")
    return lambda *args, **kwargs: _run(operator, *args, **kwargs)


def _lstm_cell(
    inputs: Tensor,
    hidden: Tensor,
    memory: Tensor,
    input_bias: Tensor | None = None,
    hidden_bias: Tensor | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the step of an LSTM that accelerators have as one kernel, and the CPU has not."""
    gates = inputs + hidden if input_bias is None or hidden_bias is None else inputs + input_bias + hidden + hidden_bias
    write, forget, candidate, output = gates.chunk(4, dim=1)
    memory = forget.sigmoid() * memory + write.sigmoid() * candidate.tanh()
    return output.sigmoid() * memory.tanh(), memory, gates


def _gru_cell(
    inputs: Tensor, hidden: Tensor, state: Tensor, input_bias: Tensor | None = None, hidden_bias: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """Compute the step of a GRU that accelerators have as one kernel, and the CPU has not."""
    if input_bias is not None and hidden_bias is not None:
        inputs, hidden = inputs + input_bias, hidden + hidden_bias
    ours, theirs = inputs.chunk(3, dim=1), hidden.chunk(3, dim=1)
    reset, update = (ours[0] + theirs[0]).sigmoid(), (ours[1] + theirs[1]).sigmoid()
    candidate = (ours[2] + reset * theirs[2]).tanh()
    return candidate + update * (state - candidate), reset


CELLS: dict[Any, Callable[..., Any]] = {
    aten._thnn_fused_lstm_cell.default: _lstm_cell,
    aten._thnn_fused_gru_cell.default: _gru_cell,
}
