"""Weights of other runs to start from: of a whole run, of its encoder or of its decoder, with their tokenizers."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import torch
from annotated_types import Gt, Le
from pydantic import TypeAdapter, ValidationError
from torch import Tensor, nn

from seq2see.config.schema import Config, Init, Tokens
from seq2see.config.section import PartSpec
from seq2see.core.errors import CheckpointError, ConfigError
from seq2see.core.registry import shorten
from seq2see.data.modalities.modality import Modality
from seq2see.data.modalities.target import Target
from seq2see.models.shared_parameters import table_scales
from seq2see.runs.checkpoint import Checkpoint
from seq2see.runs.folder import RunFolder
from seq2see.runs.saved_model import check_saved_model
from seq2see.system.foreign_code import foreign_kinds
from seq2see.tasks.task import Task
from seq2see.training.begun_run import read_task

Scale = Annotated[float, Gt(0), Le(1e6)]
SIDES = {"encoder": ("source",), "decoder": ("target",), "run": ("source", "target")}  # the tokens of each part
NAMED = 6  # names of new tensors, or unknown words, that are told


@dataclass(frozen=True)
class Pretrained:
    """A part of another run, or all of it.

    Args:
        part: encoder, decoder or run (all of it).
        folder: the folder of that run.
        tokens: the tokenizer of each side of the part, as its configuration has it: source, target, or both; None: the
            configuration does not name one (labels).
        task: the task of that run, with its tokenizers.
        weights: the weights that predict, all parts included.
    """

    part: str
    folder: RunFolder
    tokens: Mapping[str, PartSpec | None]
    task: Task
    weights: Checkpoint

    @property
    def prefix(self) -> str:
        """Return what the names of its tensors begin with; nothing for a whole run."""
        return "" if self.part == "run" else f"{self.part}."

    @property
    def source(self) -> Modality | None:
        """Return the modality of its sources; None for a decoder."""
        return self.task.source if "source" in self.tokens else None

    @property
    def target(self) -> Target | None:
        """Return the vocabulary or labels of its targets; None for an encoder."""
        return self.task.target if "target" in self.tokens else None

    @property
    def vocabularies(self) -> list[str]:
        """Return the tokenizers of its sides as JSON, as the files of its run have them."""
        return [side.to_json() for side in (self.source, self.target) if side is not None]

    @property
    def scales(self) -> dict[str, float]:
        """Return by what the rows of each table are multiplied where the table is read, as its run has saved it.

        Raises:
            CheckpointError: these are no numbers.
        """
        try:
            return TypeAdapter(dict[str, Scale]).validate_python(self.weights.facts.get("scales", {}))
        except ValidationError:
            raise CheckpointError(
                f"{self.folder.weights_file}: the scales of tables must be numbers above 0; got others; copy the run "
                "again, or train anew."
            ) from None

    @property
    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of the part, by their names inside it."""
        tensors = self.weights.tensors.items()
        return {name.removeprefix(self.prefix): tensor for name, tensor in tensors if name.startswith(self.prefix)}


def read_pretrained(init: Init | None) -> list[Pretrained]:
    """Read the parts of other runs that a configuration names.

    Args:
        init: section `init` of the configuration; None: there are none.
    """
    wanted = {part: getattr(init, part) for part in SIDES} if init is not None else {}
    return [_read(part, RunFolder(Path(path))) for part, path in wanted.items() if path is not None]


def choose_tokenizers(config: Config, parts: list[Pretrained]) -> tuple[Modality | None, Target | None]:
    """Return the tokenizers of the parts, because ids must mean the same as when they were trained.

    Args:
        config: the configuration of the new run, which must ask for the same tokens.
        parts: the parts to start from.

    Returns:
        Source and target; None for a side that no part has, which is to be learned.

    Raises:
        ConfigError: the configuration asks for other tokens, or for one vocabulary where the parts have two.
    """
    for each in parts:
        for side, tokens in each.tokens.items():
            key = side if config.tokens.joint is None else "joint"
            asked = getattr(config.tokens, key)
            if _spell(asked) != _spell(tokens):
                raise ConfigError(
                    f"tokens.{key} asks for {shorten(asked)}, but the {each.part} of {each.folder.path} knows tokens "
                    f"of {shorten(tokens)}; write that, or take another run.",
                    path=("tokens", key),
                )
    if config.tokens.joint is not None and len({text for each in parts for text in each.vocabularies}) > 1:
        raise ConfigError(
            "tokens.joint needs one vocabulary, but those of init.encoder and init.decoder differ; train both with one "
            "joint vocabulary, or write tokens.source and tokens.target.",
            path=("tokens", "joint"),
        )
    source = next((each.source for each in parts if each.source is not None), None)
    return source, next((each.target for each in parts if each.target is not None), None)


def inherit_tokens(tokens: Mapping[str, object], parts: list[Pretrained]) -> dict[str, object]:
    """Return section `tokens` for these parts where nobody has written one.

    Args:
        tokens: section `tokens` as decided without them, for the side that no part has.
        parts: the parts to start from, whose tokenizers are taken.
    """
    specs = {side: spec for each in parts for side, spec in each.tokens.items()}
    same = {text for each in parts for text in each.vocabularies}
    if len(specs) == 2 and len(same) == 1:
        return {"joint": specs["source"]}
    own = {side: tokens.get(side) or tokens["joint"] for side in SIDES["run"]}
    return {**own, **specs}


def describe_unknown(source: Modality, texts: Sequence[str]) -> list[str]:
    """Return a sentence on the source words that the tokenizer of another run does not know; none if it knows all.

    Args:
        source: the modality with that tokenizer.
        texts: the training sources.
    """
    tokenizer = source.tokenizer
    counts = Counter(word for text in texts for word in (tokenizer.unknown(text) if tokenizer is not None else ()))
    if not counts:
        return []
    named = ", ".join(repr(word) for word, _ in counts.most_common(NAMED))
    dots = ", ..." if len(counts) > NAMED else ""
    return [
        f"{len(counts):,} source tokens of the data are unknown to its tokenizer, {counts.total():,} times: "
        f"{named}{dots}"
    ]


def take_over(model: nn.Module, parts: list[Pretrained]) -> list[str]:
    """Copy the tensors of the parts into the model, where names and shapes agree.

    Args:
        model: the new model; what does not fit keeps its initial weights.
        parts: the parts to start from.

    Returns:
        A sentence for each part: how many tensors were taken, and which ones are new.

    Raises:
        ConfigError: nothing of a part fits, or two parts have a shared tensor differently.
    """
    taken: dict[nn.Parameter, Tensor] = {}
    return [_take(model, each, taken) for each in parts]


def freeze(model: nn.Module, init: Init | None) -> None:
    """Exclude a part of a model from learning for the whole training.

    Args:
        model: the model.
        init: section `init` of the configuration, whose `freeze` names the part; None: nothing is frozen.
    """
    if init is not None and init.freeze is not None:
        for parameter in model.get_submodule(init.freeze).parameters():
            parameter.requires_grad_(False)


def _read(part: str, folder: RunFolder) -> Pretrained:
    config = folder.read_config()
    task = read_task(folder, config)
    if not foreign_kinds(config.model_dump()):  # code of that run is not needed for its weights
        check_saved_model(folder, config, task, trust=False)
    weights = folder.read_weights(config)
    return Pretrained(part, folder, {side: _tokens(config.tokens, side) for side in SIDES[part]}, task, weights)


def _tokens(tokens: Tokens, side: str) -> PartSpec | None:
    spec: PartSpec | None = tokens.joint if tokens.joint is not None else getattr(tokens, side)
    return spec


def _spell(spec: PartSpec | None) -> dict[str, Any]:
    return {"kind": spec} if isinstance(spec, str) else dict(spec or {"kind": "labels"})


@torch.no_grad()
def _take(model: nn.Module, source: Pretrained, taken: dict[nn.Parameter, Tensor]) -> str:
    part, tensors = model.get_submodule(source.prefix.removesuffix(".")), source.tensors
    scales, old_scales = table_scales(model), source.scales
    parameters = dict(part.named_parameters())  # a parameter with several names once, under the first of them
    new = [name for name, p in parameters.items() if name not in tensors or tensors[name].shape != p.shape]
    if len(new) == len(parameters):
        raise ConfigError(
            f"nothing of the {source.part} of {source.folder.path} fits: no tensor has the same name and shape; give "
            f"{'model' if not source.prefix else f'model.{source.part}'} the options it was trained with.",
            path=("init", source.part),
        )
    gone = [] if source.prefix else sorted(tensors.keys() - model.state_dict().keys())
    if not source.prefix and (new or gone):
        raise ConfigError(
            f"init starts from the whole model of {source.folder.path}, but section model asks for another: "
            f"{[*new, *gone][0]} differs; leave out what changes the model, or name init.encoder and init.decoder.",
            path=("init", "run"),
        )
    for name in [name for name in parameters if name not in new]:
        parameter, full = parameters[name], source.prefix + name
        value = tensors[name] * (old_scales.get(full, 1.0) / scales.get(full, 1.0))
        if not torch.equal(taken.setdefault(parameter, value), value):
            raise ConfigError(
                f"{full} is shared by encoder and decoder (model.share), but the two runs of init have it differently; "
                "take one part only, or both from one run.",
                path=("init", source.part),
            )
        parameter.copy_(value)
    if not source.prefix:
        _take_buffers(part, tensors)
    count = f"{len(parameters) - len(new)} of {len(parameters)} tensors"
    what = source.part if source.prefix else "all weights"
    return f"{what} from {source.folder.path}: {count}{_name(new)}"


def _take_buffers(model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Copy the buffers, such as running means, which are a part of what a whole run has learned."""
    for name, buffer in model.named_buffers():
        if name in tensors and tensors[name].shape == buffer.shape:
            buffer.copy_(tensors[name])


def _name(new: list[str]) -> str:
    more = f" and {len(new) - NAMED} more" if len(new) > NAMED else ""
    return f"; new: {', '.join(new[:NAMED])}{more}" if new else ""
