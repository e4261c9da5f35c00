"""Parameter sharing between encoder and decoder: one tensor under two names."""

from collections.abc import Sequence
from contextlib import suppress
from typing import Protocol, runtime_checkable

from torch import Size, nn

from seq2see.core.errors import ConfigError
from seq2see.nn.embed import Embed

CONFIG_PATH = ("model", "share")


@runtime_checkable
class _Writer(Protocol):
    """What sharing knows of a decoder."""

    output: nn.Linear


@runtime_checkable
class SharesLayers(Protocol):
    """Is an encoder or decoder whose layers can be shared."""

    def shareable_layers(self) -> list[list[nn.Module]]:
        """Return for each layer the modules that the other half may have, too."""
        ...


@runtime_checkable
class _Model(Protocol):
    """What sharing knows of a model."""

    @property
    def encoder(self) -> object: ...
    @property
    def decoder(self) -> _Writer: ...


def share_parameters(model: _Model, wanted: Sequence[str]) -> None:
    """Share parameters between encoder and decoder.

    Parameters are shared, never modules, so that each half keeps its own names in a trace.

    Args:
        model: the model to change.
        wanted: any of `output` (Press & Wolf 2017, arXiv:1608.05859), `embeddings` and `layers`.
    """
    shares = (("output", _share_output), ("embeddings", _share_embeddings), ("layers", _share_layers))
    for name, share in shares:
        if name in wanted:
            share(model.encoder, model.decoder)


def share_fitting(model: _Model, *, joint: bool) -> None:
    """Share the output layer and the embeddings where their sizes permit it; where they do not, change nothing.

    Args:
        model: the model to change.
        joint: whether source and target have one vocabulary; else the embeddings stay apart.
    """
    for share in (_share_output, _share_embeddings) if joint else (_share_output,):
        with suppress(ConfigError):
            share(model.encoder, model.decoder)


def table_scales(model: nn.Module) -> dict[str, float]:
    """Return the factor of each embedding table that is stored scaled down, by the name of its weight.

    Args:
        model: any model; tables of other classes than `Embed` are ignored.
    """
    tables = [(name, module) for name, module in model.named_modules() if isinstance(module, Embed)]
    return {f"{name}.weight": table.scale for name, table in tables if table.scale != 1.0}


def _share_output(_: object, decoder: _Writer) -> None:
    """Make the decoder's embeddings the weights of its output layer (Press & Wolf 2017, arXiv:1608.05859)."""
    table, output = _table(decoder, "decoder"), decoder.output.weight
    if table.weight.shape != output.shape:
        raise ConfigError(
            f"sharing the output needs embeddings as wide as what the output layer sees; got {table.weight.shape[1]} "
            f"and {output.shape[1]}; set model.decoder.embedding_size to {output.shape[1]}, or leave output out of "
            "model.share.",
            path=CONFIG_PATH,
        )
    table.scale_down()
    decoder.output.weight = table.weight


def _share_embeddings(encoder: object, decoder: _Writer) -> None:
    """Use one table for both sides: the decoder's, which may be its output layer, too."""
    mine, theirs = _table(encoder, "encoder"), _table(decoder, "decoder")
    if mine.weight.shape != theirs.weight.shape:
        raise ConfigError(
            "sharing the embeddings needs tables of one size; got "
            f"{_show(mine.weight.shape)} for the encoder and {_show(theirs.weight.shape)} for the decoder; "
            "give both the same embedding_size, or leave embeddings out of model.share.",
            path=CONFIG_PATH,
        )
    mine.weight, mine.scale = theirs.weight, theirs.scale


def _share_layers(encoder: object, decoder: _Writer) -> None:
    """Share every module of the encoder's layers that the decoder has at the same place with the same shapes."""
    layers = zip(_layers(encoder), _layers(decoder), strict=False)  # as far as both go
    pairs = [pair for mine, theirs in layers for pair in zip(mine, theirs, strict=False)]
    fitting = [(mine, theirs) for mine, theirs in pairs if _outline(mine) == _outline(theirs)]
    if not fitting:
        shown = "; ".join(f"{_describe(mine)} beside {_describe(theirs)}" for mine, theirs in pairs)
        raise ConfigError(
            "sharing the layers needs layers of one kind and shape at the same place in encoder and decoder; got "
            f"{shown or 'none that can be shared'}; give both the same cell and sizes, or leave layers out.",
            path=CONFIG_PATH,
        )
    for mine, theirs in fitting:
        for name, parameter in mine.named_parameters():
            owner, _, leaf = name.rpartition(".")
            setattr(theirs.get_submodule(owner), leaf, parameter)


def _table(half: object, name: str) -> Embed:
    table = getattr(half, "embed", None)
    if not isinstance(table, Embed):
        raise ConfigError(
            f"the {name} has no embeddings that can be shared; leave them out of model.share.", path=CONFIG_PATH
        )
    return table


def _layers(half: object) -> list[list[nn.Module]]:
    return half.shareable_layers() if isinstance(half, SharesLayers) else []


def _outline(module: nn.Module) -> tuple[type, dict[str, Size]]:
    return type(module), {name: parameter.shape for name, parameter in module.named_parameters()}


def _describe(module: nn.Module) -> str:
    shapes = [_show(parameter.shape) for parameter in module.parameters() if parameter.ndim > 1]
    return f"{type(module).__name__} ({', '.join(shapes)})"


def _show(shape: Size) -> str:
    return " x ".join(str(side) for side in shape)
