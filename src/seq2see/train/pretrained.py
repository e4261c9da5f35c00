"""Parts of other runs to start from: an encoder or a decoder that was trained before, with its tokenizer."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from seq2see.config.schema import Config, Init, PartSpec, Tokens
from seq2see.core.errors import ConfigError
from seq2see.core.registry import shorten
from seq2see.models.share import table_scales
from seq2see.train.checkpoint import Checkpoint
from seq2see.train.folder import RunFolder

SIDES = {"encoder": "source", "decoder": "target"}  # whose tokens a part reads or writes
NAMED = 6  # names of new tensors that are told


@dataclass(frozen=True)
class Pretrained:
    """A part of another run."""

    part: str  # encoder or decoder
    folder: RunFolder
    tokens: PartSpec
    tokenizer: Any  # what cuts its side
    weights: Checkpoint

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors of the part, by their names inside it."""
        prefix = f"{self.part}."
        tensors = self.weights.tensors.items()
        return {name.removeprefix(prefix): tensor for name, tensor in tensors if name.startswith(prefix)}


def read_pretrained(init: Init | None) -> list[Pretrained]:
    """The parts that a configuration wants to start from."""
    wanted = {part: getattr(init, part) for part in SIDES} if init is not None else {}
    return [_read(part, RunFolder(Path(path))) for part, path in wanted.items() if path is not None]


def choose_tokenizers(config: Config, parts: list[Pretrained]) -> dict[str, Any]:
    """The tokenizers that come with the parts, because ids must mean the same; the configuration may not disagree."""
    for each in parts:
        side = SIDES[each.part] if config.tokens.joint is None else "joint"
        asked = getattr(config.tokens, side)
        if _spell(asked) != _spell(each.tokens):
            raise ConfigError(
                f"tokens.{side} asks for {shorten(asked)}, but the {each.part} of {each.folder.path} knows tokens of "
                f"{shorten(each.tokens)}; write that, or take another run.",
                path=("tokens", side),
            )
    if config.tokens.joint is not None and len({each.tokenizer.to_json() for each in parts}) > 1:
        raise ConfigError(
            "tokens.joint needs one vocabulary, but those of init.encoder and init.decoder differ; train both with one "
            "joint vocabulary, or write tokens.source and tokens.target.",
            path=("tokens", "joint"),
        )
    return {SIDES[each.part]: each.tokenizer for each in parts}


def inherit_tokens(tokens: Mapping[str, Any], parts: list[Pretrained]) -> dict[str, Any]:
    """The tokens section for these parts where nobody has written one: theirs, and `tokens` for the other side."""
    same = {each.tokenizer.to_json() for each in parts}
    if len(parts) == 2 and len(same) == 1:
        return {"joint": parts[0].tokens}
    own = {side: tokens.get(side) or tokens["joint"] for side in SIDES.values()}
    return {**own, **{SIDES[each.part]: each.tokens for each in parts}}


def take_over(model: nn.Module, parts: list[Pretrained]) -> list[str]:
    """Put the tensors of the parts whose names and shapes agree into the model; what fitted, a sentence a part."""
    taken: dict[nn.Parameter, Tensor] = {}
    return [_take(model, each, taken) for each in parts]


def freeze(model: nn.Module, init: Init | None) -> None:
    """Keep a part as it is, however long the training."""
    if init is not None and init.freeze is not None:
        for parameter in model.get_submodule(init.freeze).parameters():
            parameter.requires_grad_(False)


def _read(part: str, folder: RunFolder) -> Pretrained:
    config = folder.read_config()
    weights, task = folder.read_weights(config), folder.read_task()
    tokens = _tokens(config.tokens, SIDES[part])
    return Pretrained(part, folder, tokens, getattr(task, SIDES[part]), weights)


def _tokens(tokens: Tokens, side: str) -> PartSpec:
    spec: PartSpec = tokens.joint if tokens.joint is not None else getattr(tokens, side)
    return spec


def _spell(spec: PartSpec) -> dict[str, Any]:
    return {"kind": spec} if isinstance(spec, str) else dict(spec)


@torch.no_grad()
def _take(model: nn.Module, source: Pretrained, taken: dict[nn.Parameter, Tensor]) -> str:
    part, tensors = model.get_submodule(source.part), source.tensors
    scales, old_scales = table_scales(model), source.weights.facts.get("scales", {})
    parameters = dict(part.named_parameters())  # a parameter with several names once, under the first of them
    new = [name for name, p in parameters.items() if name not in tensors or tensors[name].shape != p.shape]
    if len(new) == len(parameters):
        raise ConfigError(
            f"nothing of the {source.part} of {source.folder.path} fits: no tensor has the same name and shape; give "
            f"model.{source.part} the options it was trained with.",
            path=("init", source.part),
        )
    for name in [name for name in parameters if name not in new]:
        parameter, full = parameters[name], f"{source.part}.{name}"
        value = tensors[name] * (old_scales.get(full, 1.0) / scales.get(full, 1.0))
        if not torch.equal(taken.setdefault(parameter, value), value):
            raise ConfigError(
                f"{full} is shared by encoder and decoder (model.share), but the two runs of init have it differently; "
                "take one part only, or both from one run.",
                path=("init", source.part),
            )
        parameter.copy_(value)
    count = f"{len(parameters) - len(new)} of {len(parameters)} tensors"
    return f"{source.part} from {source.folder.path}: {count}{_name(new)}"


def _name(new: list[str]) -> str:
    more = f" and {len(new) - NAMED} more" if len(new) > NAMED else ""
    return f"; new: {', '.join(new[:NAMED])}{more}" if new else ""
