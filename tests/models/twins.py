"""Torch's own Transformer with the weights of ours, to be compared with it."""

from typing import Any

import torch
from torch import Tensor, nn


class Twice(nn.Module):
    """Stands where torch drops, as our dropout does under the fixture `doubled`."""

    def forward(self, states: Tensor) -> Tensor:
        return states * 2


def shake(model: Any) -> Any:
    """In double precision with random numbers everywhere: biases of 0 and norms of 1 would hide a mistake with them."""
    torch.manual_seed(8)
    for parameter in model.double().parameters():
        nn.init.normal_(parameter, std=0.4)
    return model


def twin_attention(ours: Any, *, own_values: bool = False) -> nn.MultiheadAttention:
    """With values of their own, its memory is states and values side by side, of which each projection sees one."""
    size, width = ours.output.weight.shape[0], ours.memory.weight.shape[1]
    keys, values = ours.memory.weight.detach().chunk(2)
    if own_values:
        width = 2 * width
        keys, values = (torch.cat(pair, 1) for pair in ((keys, keys * 0), (values * 0, values)))
    theirs = nn.MultiheadAttention(size, ours.heads, kdim=width, vdim=width, batch_first=True).double()
    if theirs.in_proj_weight is None:
        parts = {"q_proj_weight": ours.query.weight, "k_proj_weight": keys, "v_proj_weight": values}
    else:
        parts = {"in_proj_weight": torch.cat([ours.query.weight, keys, values])}
    parts |= {"in_proj_bias": torch.cat([ours.query.bias, ours.memory.bias])}
    theirs.load_state_dict(parts | {f"out_proj.{name}": value for name, value in ours.output.state_dict().items()})
    return theirs


def twin_encoder(ours: Any, *, norm: str, doubled: bool = False) -> nn.TransformerEncoder:
    """The layers of an encoder, and the norm after them."""
    return _stack(nn.TransformerEncoder, nn.TransformerEncoderLayer, ours, norm, doubled, enable_nested_tensor=False)


def twin_decoder(ours: Any, *, norm: str, doubled: bool = False, own_values: bool = False) -> nn.TransformerDecoder:
    """The layers of a decoder, and the norm after them."""
    stack = _stack(nn.TransformerDecoder, nn.TransformerDecoderLayer, ours, norm, doubled)
    for theirs, layer in zip(stack.layers, ours.layers, strict=True):
        theirs.multihead_attn = twin_attention(layer.cross, own_values=own_values)
    return stack


def _stack(stack: Any, kind: Any, ours: Any, norm: str, doubled: bool, **options: Any) -> Any:
    inner, size = ours.layers[0].feed_forward.expand.weight.shape
    heads = ours.layers[0].self_attention.heads
    plain = kind(size, heads, inner, dropout=0.0, batch_first=True, norm_first=norm == "pre")
    last = nn.LayerNorm(size) if norm == "pre" else None
    theirs = stack(plain, len(ours.layers), norm=last, **options).double()
    if last is not None:
        theirs.norm.load_state_dict(ours.norm.state_dict())
    for into, layer in zip(theirs.layers, ours.layers, strict=True):
        into.self_attn = twin_attention(layer.self_attention)
        into.linear1.load_state_dict(layer.feed_forward.expand.state_dict())
        into.linear2.load_state_dict(layer.feed_forward.contract.state_dict())
        frames = [
            getattr(layer, name) for name in ("self_norm", "cross_norm", "feed_forward_norm") if hasattr(layer, name)
        ]
        for number, frame in enumerate(frames, start=1):
            into.get_submodule(f"norm{number}").load_state_dict(frame.norm.state_dict())
            if doubled:
                setattr(into, f"dropout{number}", Twice())
    return theirs
