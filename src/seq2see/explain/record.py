"""Recording the attention of any PyTorch model while it runs; what the model computes does not change."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from jaxtyping import Float
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

from seq2see.core.errors import AttentionError
from seq2see.core.trace import Trace
from seq2see.data.modalities.modality import Grid
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.from_arrays import from_arrays

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import ArrayLike
    from PIL.Image import Image


Kernel = Callable[..., Tensor]
Forward = Callable[..., tuple[Tensor, Tensor | None]]


@dataclass(frozen=True)
class RecordedModel:
    """The attention weights that a model used, by the name of the module that attended.

    Args:
        trace: what was recorded.
    """

    trace: Trace

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of the modules that attended, in the order of their first use."""
        return self.trace.names

    def weights(self, name: str) -> Float[Tensor, "b h t s"]:
        """Return all weights of one module, joined over the steps of a model that writes token by token.

        A module that is called anew, as a shared layer is, has a further name with a number for each time.

        Args:
            name: one of `names`.
        """
        return self.trace.weights(name)

    def attention(
        self,
        queries: Sequence[str] | None = None,
        keys: Sequence[str] | None = None,
        *,
        row: int = 0,
        image: "str | Path | Image | ArrayLike | None" = None,
        grid: Grid | None = None,
    ) -> AttentionTrace:
        """Return the attention of one row of the batch as a trace.

        Args:
            queries: a token for each query; None for numbers.
            keys: a token for each key; None for numbers, or for the queries where all attention is self-attention.
            row: the row of the batch.
            image: instead of keys, an image that is attended to: a file, or pixels [rows columns 3].
            grid: rows and columns of the cells of the image; a square unless it is given.
        """
        weights = {name: self.weights(name)[row] for name in self.names}
        return from_arrays(weights, queries, keys, image=image, grid=grid)


@contextmanager
def record(model: nn.Module) -> Iterator[RecordedModel]:
    """Record every nn.MultiheadAttention and every scaled_dot_product_attention of a model inside the block.

    Args:
        model: any PyTorch model that is not compiled.

    Yields:
        The recorded weights, which grow while the model runs.

    Raises:
        AttentionError: if nothing was recorded.
    """
    trace = Trace(model)
    with ExitStack() as stack:
        stack.enter_context(_without_fast_path())
        recorder = _Recorder(trace)
        for module in model.modules():
            enter = module.register_forward_pre_hook(recorder.enter)
            leave = module.register_forward_hook(recorder.leave, always_call=True)
            stack.callback(enter.remove)
            stack.callback(leave.remove)
            if isinstance(module, nn.MultiheadAttention):
                module.forward = _record_heads(module, recorder)  # type: ignore[method-assign]
                stack.callback(module.__dict__.pop, "forward")
        stack.callback(setattr, F, "scaled_dot_product_attention", recorder.kernel)
        setattr(F, "scaled_dot_product_attention", recorder.attend)  # noqa: B010 (mypy knows the kernel as a function)
        stack.enter_context(recorder)
        yield RecordedModel(trace)
    if not trace.names:
        raise AttentionError(
            "nothing was recorded: inside the block the model called neither nn.MultiheadAttention nor "
            "scaled_dot_product_attention (compiled models hide theirs); run it there, or use seq2see.from_arrays."
        )


@contextmanager
def _without_fast_path() -> Iterator[None]:
    """Switch off kernels that run whole layers at once, because they show no attention."""
    before = torch.backends.mha.get_fastpath_enabled()
    torch.backends.mha.set_fastpath_enabled(False)
    try:
        yield
    finally:
        torch.backends.mha.set_fastpath_enabled(before)


class _Recorder(TorchFunctionMode):
    """Records every scaled dot product attention, and knows which module is running.

    Functions of torch that call others by name find `attend`; calls of the kernel itself are recorded as a mode.
    """

    def __init__(self, trace: Trace) -> None:
        super().__init__()
        self.trace, self.stack = trace, list[nn.Module]()
        self.kernel: Kernel = F.scaled_dot_product_attention
        self.inside = False  # whether the kernel is running, so that nothing is recorded twice
        self.calls: dict[nn.Module, tuple[int, int]] = {}  # how often each attended anew, and to how many keys

    def enter(self, module: nn.Module, inputs: object) -> None:
        """Note that a module begins."""
        self.stack.append(module)

    def leave(self, module: nn.Module, inputs: object, output: object) -> None:
        """Note that it has ended, or failed."""
        if module in self.stack:
            del self.stack[self.stack.index(module) :]

    def attend(self, *args: object, **options: object) -> Tensor:
        """Record the weights and call the kernel."""
        if self.stack and not self.inside:
            compute: Callable[..., tuple[Tensor, bool]] = compute_weights  # takes what the kernel takes
            weights, causal = compute(*args, **options)
            self.record(self.stack[-1], weights, causal=causal)
        self.inside = True
        try:
            return self.kernel(*args, **options)
        finally:
            self.inside = False

    def record(self, module: nn.Module, weights: Float[Tensor, "b h t s"], *, causal: bool = False) -> None:
        """Keep the weights of a call; a step, or keys that grew by the queries, continues the module's last call."""
        number, before = self.calls.get(module, (0, 0))
        steps, keys = weights.shape[2:]
        number += not (number and (steps == 1 or keys == before + steps))
        self.calls[module] = number, keys
        self.trace.record(module, weights, causal=causal, number=number)

    def __torch_function__(
        self,
        func: Callable[..., object],
        types: object,
        args: Sequence[object] = (),
        kwargs: Mapping[str, object] | None = None,
    ) -> object:
        own = self.attend if func is self.kernel and not self.inside else func
        return own(*args, **(kwargs or {}))


@torch.no_grad()
def compute_weights(
    query: Float[Tensor, "*b t e"],
    key: Float[Tensor, "*c s e"],
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> tuple[Float[Tensor, "b h t s"], bool]:
    """Return the weights of a scaled dot product attention, softmax(scale q k + mask), and whether it is causal.

    The arguments are those of `torch.nn.functional.scaled_dot_product_attention`.

    Args:
        query: the queries, [b h t e]; dimensions in front may be missing.
        key: the keys, [b h s e].
        value: the values; they have no effect.
        attn_mask: True where a query may attend to a key, or numbers that are added to the scores; None allows all.
        dropout_p: the dropout rate of the weights; it has no effect, so the weights are those before dropout.
        is_causal: whether query i sees the keys 0 to i only.
        scale: the factor of the scores; None is 1 / sqrt(e).
        enable_gqa: whether several heads of queries share one head of keys (grouped-query attention).

    Returns:
        The weights on the CPU, [b h t s], where a query without any key has zeros; and `is_causal`.
    """
    query, key = query.float(), key.float()
    if enable_gqa:
        key = key.repeat_interleave(query.shape[-3] // key.shape[-3], dim=-3)
    scores = query @ key.transpose(-1, -2) * (query.shape[-1] ** -0.5 if scale is None else scale)
    if is_causal:
        past = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).tril()
        scores = scores.masked_fill(~past, -torch.inf)
    if attn_mask is not None:
        scores = scores.masked_fill(~attn_mask, -torch.inf) if attn_mask.dtype == torch.bool else scores + attn_mask
    weights = scores.softmax(dim=-1).nan_to_num(0.0).cpu()  # a row that may attend to nothing has no weights
    while weights.dim() < 4:
        weights = weights.unsqueeze(0 if weights.dim() == 2 else -3)
    return weights.flatten(0, -4), is_causal


def _record_heads(module: nn.MultiheadAttention, recorder: _Recorder) -> Forward:
    """Return the module's own forward, which also records the weights of each head where it computes them itself."""
    own: Forward = module.forward

    def forward(
        query: Tensor, key: Tensor, value: Tensor, *args: object, need_weights: bool = True, **options: object
    ) -> tuple[Tensor, Tensor | None]:
        names = ("key_padding_mask", "need_weights", "attn_mask", "average_attn_weights", "is_causal")
        options |= {"need_weights": need_weights, **dict(zip(names, args, strict=False))}
        if not options["need_weights"]:  # then it calls scaled_dot_product_attention, which is recorded
            return own(query, key, value, **options)
        average = options.pop("average_attn_weights", True)
        output, weights = own(query, key, value, average_attn_weights=False, **options)
        assert weights is not None
        kept = weights.detach().float().cpu()
        recorder.record(module, kept if kept.dim() == 4 else kept.unsqueeze(0))
        return output, weights.mean(dim=-3) if average else weights

    return forward
