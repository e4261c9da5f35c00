"""Sharing between encoder and decoder: parameters that are one and the same tensor under two names."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from torch import Size, nn

from seq2see.core.errors import ConfigError
from seq2see.nn.embed import Embed

PATH = ("model", "share")


def share_parameters(model: Any, wanted: Sequence[str]) -> None:
    """Make one of what is wanted: `output`, `embeddings`, `layers`.

    Parameters are shared, never modules, so that each half keeps names of its own in a trace.
    """
    for name, make_one in (("output", _share_output), ("embeddings", _share_embeddings), ("layers", _share_layers)):
        if name in wanted:
            make_one(model.encoder, model.decoder)


def share_fitting(model: Any, *, joint: bool) -> None:
    """Make one of embeddings and output as far as their sizes permit it; embeddings if there is one vocabulary."""
    for make_one in (_share_output, _share_embeddings) if joint else (_share_output,):
        with suppress(ConfigError):
            make_one(model.encoder, model.decoder)


def table_scales(model: nn.Module) -> dict[str, float]:
    """By what the tables of embeddings that are stored scaled down are multiplied when they are read."""
    tables = [(name, module) for name, module in model.named_modules() if isinstance(module, Embed)]
    return {f"{name}.weight": table.scale for name, table in tables if table.scale != 1.0}


def _share_output(_: Any, decoder: Any) -> None:
    """Press & Wolf 2017: the output layer's weights are the decoder's embeddings."""
    table, output = _table(decoder, "decoder"), decoder.output.weight
    if table.weight.shape != output.shape:
        raise ConfigError(
            f"sharing the output needs embeddings as wide as what the output layer sees; got {table.weight.shape[1]} "
            f"and {output.shape[1]}; set model.decoder.embedding_size to {output.shape[1]}, or leave output out of "
            "model.share.",
            path=PATH,
        )
    table.shrink()
    decoder.output.weight = table.weight


def _share_embeddings(encoder: Any, decoder: Any) -> None:
    """One table for both sides; the decoder's, because its output layer may be in it too."""
    mine, theirs = _table(encoder, "encoder"), _table(decoder, "decoder")
    if mine.weight.shape != theirs.weight.shape:
        raise ConfigError(
            "sharing the embeddings needs tables of one size; got "
            f"{_show(mine.weight.shape)} for the encoder and {_show(theirs.weight.shape)} for the decoder; "
            "give both the same embedding_size, or leave embeddings out of model.share.",
            path=PATH,
        )
    mine.weight, mine.scale = theirs.weight, theirs.scale


def _share_layers(encoder: Any, decoder: Any) -> None:
    """Every module of the encoder's layers that the decoder has too, at the same place and with the same shapes."""
    layers = zip(_layers(encoder), _layers(decoder), strict=False)  # as far as both go
    pairs = [pair for mine, theirs in layers for pair in zip(mine, theirs, strict=False)]
    fitting = [(mine, theirs) for mine, theirs in pairs if _outline(mine) == _outline(theirs)]
    if not fitting:
        shown = "; ".join(f"{_describe(mine)} beside {_describe(theirs)}" for mine, theirs in pairs)
        raise ConfigError(
            "sharing the layers needs layers of one kind and shape at the same place in encoder and decoder; got "
            f"{shown or 'none that can be shared'}; give both the same cell and sizes, or leave layers out.",
            path=PATH,
        )
    for mine, theirs in fitting:
        for name, parameter in mine.named_parameters():
            owner, _, leaf = name.rpartition(".")
            setattr(theirs.get_submodule(owner), leaf, parameter)


def _table(half: Any, name: str) -> Embed:
    table = getattr(half, "embed", None)
    if not isinstance(table, Embed):
        raise ConfigError(f"the {name} has no embeddings that can be shared; leave them out of model.share.", path=PATH)
    return table


def _layers(half: Any) -> list[list[nn.Module]]:
    return half.own_layers() if hasattr(half, "own_layers") else []


def _outline(module: nn.Module) -> tuple[type, dict[str, Size]]:
    return type(module), {name: parameter.shape for name, parameter in module.named_parameters()}


def _describe(module: nn.Module) -> str:
    shapes = [_show(parameter.shape) for parameter in module.parameters() if parameter.ndim > 1]
    return f"{type(module).__name__} ({', '.join(shapes)})"


def _show(shape: Size) -> str:
    return " x ".join(str(side) for side in shape)
