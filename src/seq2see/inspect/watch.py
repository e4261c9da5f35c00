"""Watching somebody else's PyTorch model: every attention it computes while it runs; nothing else changes."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seq2see.core.errors import AttentionError
from seq2see.core.trace import Trace
from seq2see.inspect.attention import AttentionTrace
from seq2see.inspect.view import view


@dataclass(frozen=True)
class Watched:
    """The weights a model used, by the name of the module that attended."""

    trace: Trace

    @property
    def names(self) -> tuple[str, ...]:
        """The modules that attended, in the order of their first use."""
        return self.trace.names

    def weights(self, name: str) -> Float[Tensor, "b h t s"]:
        """All weights of one module, joined over the steps of a model that writes token by token.

        A module that attends anew, as a shared layer does, has a name with a number for each time.
        """
        return self.trace.weights(name)

    def view(
        self, queries: Sequence[str] | None = None, keys: Sequence[str] | None = None, *, row: int = 0, **options: Any
    ) -> AttentionTrace:
        """What was seen of one row of the batch, on a page."""
        return view({name: self.weights(name)[row] for name in self.names}, queries, keys, **options)


@contextmanager
def watch(model: nn.Module) -> Iterator[Watched]:
    """Record every nn.MultiheadAttention and every scaled_dot_product_attention of a model inside the block."""
    trace = Trace(model)
    with ExitStack() as stack:
        stack.enter_context(_slow_paths())
        listener = _Listener(trace)
        for module in model.modules():
            enter = module.register_forward_pre_hook(listener.enter)
            leave = module.register_forward_hook(listener.leave, always_call=True)
            stack.callback(enter.remove)
            stack.callback(leave.remove)
            if isinstance(module, nn.MultiheadAttention):
                module.forward = _tell_heads(module, listener)  # type: ignore[method-assign]
                stack.callback(module.__dict__.pop, "forward")
        stack.callback(setattr, F, "scaled_dot_product_attention", listener.kernel)
        setattr(F, "scaled_dot_product_attention", listener.attend)  # noqa: B010 (mypy knows the kernel as a function)
        stack.enter_context(listener)
        yield Watched(trace)
    if not trace.names:
        raise AttentionError(
            "nothing was seen: inside the block the model called neither nn.MultiheadAttention nor "
            "scaled_dot_product_attention (compiled models hide theirs); run it there, or use seq2see.view."
        )


@contextmanager
def _slow_paths() -> Iterator[None]:
    """Whole layers that run as one kernel show no attention."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class _Listener(TorchFunctionMode):
    """Hears of every scaled dot product, and knows which module is at work.

    Functions of torch that call others by name find `attend`; whoever imported the kernel itself is heard as a mode.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace, self.stack = trace, list[nn.Module]()
        self.kernel, self.heard = F.scaled_dot_product_attention, False
        self.calls: dict[nn.Module, tuple[int, int]] = {}  # how often each attended anew, and to how many keys

    def enter(self, module: nn.Module, inputs: Any) -> None:
        """A module begins."""
        self.stack.append(module)

    def leave(self, module: nn.Module, inputs: Any, output: Any) -> None:
        """It has ended, or failed."""
        if module in self.stack:
            del self.stack[self.stack.index(module) :]

    def attend(self, *args: Any, **options: Any) -> Tensor:
        """The kernel, overheard."""
        if self.stack and not self.heard:
            weights, causal = weigh(*args, **options)
            self.record(self.stack[-1], weights, causal=causal)
        self.heard = True
        try:
            return self.kernel(*args, **options)
        finally:
            self.heard = False

    def record(self, module: nn.Module, weights: Float[Tensor, "b h t s"], *, causal: bool = False) -> None:
        """Keep the weights of a call: a step, or keys that grew by the queries, goes on with what the module did."""
        number, seen = self.calls.get(module, (0, 0))
        steps, keys = weights.shape[2:]
        number += not (number and (steps == 1 or keys == seen + steps))
        self.calls[module] = number, keys
        self.trace.record(module, weights, causal=causal, number=number)

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        own = self.attend if func is self.kernel and not self.heard else func
        return own(*args, **(kwargs or {}))


@torch.no_grad()
def weigh(
    query: Float[Tensor, "*b t e"],
    key: Float[Tensor, "*c s e"],
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Float[Tensor, "b h t s"], bool]:
    """The weights inside a scaled dot product attention, softmax(scale q k + mask), and whether it is causal."""
    query, key = query.float(), key.float()
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        seen = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~seen, -torch.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = scores.softmax(dim=-1).nan_to_num(0.0).cpu()  # a row that sees nothing has no weights
    while weights.dim() < 4:
        weights = weights.unsqueeze(0 if weights.dim() == 2 else -3)
    return weights.flatten(0, -4), is_causal


def _tell_heads(module: nn.MultiheadAttention, listener: _Listener) -> Callable[..., Any]:
    """The module's own forward, that also tells the weights of each head where it computes them itself."""
    own = module.forward

    def forward(
        query: Tensor, key: Tensor, value: Tensor, *args: Any, need_weights: bool = True, **options: Any
    ) -> tuple[Tensor, Tensor | None]:
        names = ("key_padding_mask", "need_weights", "attn_mask", "average_attn_weights", "is_causal")
        options |= {"need_weights": need_weights, **dict(zip(names, args, strict=False))}
        if not options["need_weights"]:  # then it calls scaled_dot_product_attention, which is heard
            return own(query, key, value, **options)
        average = options.pop("average_attn_weights", True)
        output, weights = own(query, key, value, average_attn_weights=False, **options)
        assert weights is not None
        seen = weights.detach().float().cpu()
        listener.record(module, seen if seen.dim() == 4 else seen.unsqueeze(0))
        return output, weights.mean(dim=-3) if average else weights

    return forward
