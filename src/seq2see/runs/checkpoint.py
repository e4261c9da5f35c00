"""Checkpoints: one safetensors file each, with everything needed to go on, and a digest that reveals damage."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save
from torch import Tensor, nn, optim

from seq2see.core.errors import CheckpointError
from seq2see.core.json_text import read_json
from seq2see.core.registry import shorten
from seq2see.runs.run_file import naming_failures
from seq2see.runs.weights_header import TensorForm, WeightsHeader, read_weights_header
from seq2see.system.files import write_atomic

FORMAT = "seq2see 2"  # of a checkpoint file
HEADER_SIZE_BYTES, ALIGNMENT = 8, 8  # of a safetensors file: how its header's size is written, and where tensors begin


@dataclass(frozen=True)
class Checkpoint:
    """The content of a checkpoint file.

    Args:
        tensors: the tensors by name; a tensor that is shared may have several names.
        facts: everything else, as values that JSON can hold.
    """

    tensors: Mapping[str, Tensor]
    facts: Mapping[str, Any]


@dataclass(frozen=True)
class Outline:
    """A checkpoint without the values of its tensors.

    Args:
        forms: the form of each tensor by name; a tensor that is shared may have several names.
        facts: everything else.
    """

    forms: Mapping[str, TensorForm]
    facts: Mapping[str, Any]

    @property
    def last_update(self) -> int | None:
        """Return the update after which the training was complete; None if it is to go on."""
        update = self.facts.get("update") if self.facts.get("complete") else None
        return update if type(update) is int else None


def write_checkpoint(path: Path, checkpoint: Checkpoint) -> None:
    """Write tensors and facts with a digest over both; a tensor with several names is written once.

    Args:
        path: the file, which is replaced as a whole or not at all.
        checkpoint: what to write.
    """
    tensors, others = _tell_apart(checkpoint.tensors)
    facts = json.dumps(checkpoint.facts, ensure_ascii=False, sort_keys=True)
    names = {"names": json.dumps(others, sort_keys=True)} if others else {}
    metadata = {"format": FORMAT, "facts": facts, **names, "digest": _digest(tensors, facts + "".join(names.values()))}
    write_atomic(path, *_order_header(save(tensors, metadata)))


def read_checkpoint(path: Path) -> Checkpoint:
    """Read a checkpoint.

    Args:
        path: the file.

    Raises:
        CheckpointError: the file is missing, truncated, changed, or of another format.
    """
    metadata = read_checkpoint_header(path).metadata
    try:
        with naming_failures(path), safe_open(path, framework="pt") as file:
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (it is no dict)
    except (SafetensorError, RuntimeError, ValueError) as error:
        reason = shorten(" ".join(str(error).split()))[1:-1]
        raise CheckpointError(
            f"{path}: the file is damaged or cut short ({reason}); copy the run again, or train anew."
        ) from None
    if metadata.get("digest") != _digest(tensors, metadata.get("facts", "") + metadata.get("names", "")):
        raise CheckpointError(f"{path}: the file was changed or damaged since it was written (its digest differs).")
    names, facts = _read_object(path, metadata.get("names", "{}")), _read_object(path, metadata["facts"])
    if (
        not all(isinstance(first, str) and first in tensors for first in names.values())
        or names.keys() & tensors.keys()
    ):
        raise CheckpointError(
            f"{path}: the file is damaged (a tensor has no values); copy the run again, or train anew."
        )
    return Checkpoint({**tensors, **{name: tensors[first] for name, first in names.items()}}, facts)


def read_checkpoint_header(path: Path) -> WeightsHeader:
    """Read the header of a checkpoint alone, without the values of its tensors.

    Args:
        path: the file.

    Raises:
        CheckpointError: the file is missing, cannot be read, is no whole file, or is of another format.
    """
    try:
        header = read_weights_header(path)
    except FileNotFoundError:
        raise CheckpointError(f"{path}: there is no such file; is the training still to be run?") from None
    if header.metadata.get("format") != FORMAT or "facts" not in header.metadata:
        raise CheckpointError(f"{path}: this file was not written by this version of seq2see; train again.")
    return header


def read_outline(path: Path) -> Outline:
    """Return what a checkpoint says of itself before the values of its tensors; the digest is not checked.

    Args:
        path: the file.

    Raises:
        CheckpointError: the file is missing, cannot be read, is no whole file, or is of another format.
    """
    header = read_checkpoint_header(path)
    names, facts = (_read_object(path, header.metadata.get(key, "{}")) for key in ("names", "facts"))
    others = {name: header.tensors[first] for name, first in names.items() if first in header.tensors}
    return Outline({**others, **header.tensors}, facts)


def _read_object(path: Path, text: str) -> dict[str, Any]:
    """Return an object that is among the metadata."""
    try:
        found = read_json(text, nan=True)  # a loss that is no number is among the facts of a training that failed
    except ValueError:
        found = None
    if not isinstance(found, dict):
        raise CheckpointError(f"{path}: the file is damaged (its metadata); copy the run again, or train anew.")
    return found


def average(checkpoints: Sequence[Mapping[str, Tensor]]) -> dict[str, Tensor]:
    """Return the mean of each tensor over several checkpoints; a tensor with several names keeps them.

    Args:
        checkpoints: the tensors of each checkpoint by name, all with the names and shapes of the first.
    """
    apart, others = _tell_apart(checkpoints[0])
    means = {
        name: torch.stack([tensors[name].double() for tensors in checkpoints]).mean(dim=0).to(first.dtype)
        for name, first in apart.items()
    }
    return {**means, **{name: means[first] for name, first in others.items()}}


def dump_optimizer(optimizer: optim.Optimizer, model: nn.Module) -> dict[str, Tensor]:
    """Return the optimizer's tensors as `KEY.NAME`, with the names of the parameters they belong to.

    Args:
        optimizer: the optimizer.
        model: the model whose parameters it moves.
    """
    return {
        f"{key}.{name}": value
        for name, parameter in model.named_parameters()
        for key, value in optimizer.state[parameter].items()
    }


def restore_optimizer(optimizer: optim.Optimizer, model: nn.Module, tensors: Mapping[str, Tensor]) -> None:
    """Put the optimizer's tensors back to their parameters.

    Args:
        optimizer: the optimizer, whose state is replaced.
        model: the model whose parameters it moves.
        tensors: what `dump_optimizer` returned; they are copied.
    """
    for name, parameter in model.named_parameters():
        keys = [key.removesuffix(f".{name}") for key in tensors if key.endswith(f".{name}")]
        optimizer.state[parameter] = {
            key: tensors[f"{key}.{name}"].to(parameter.device, copy=True) for key in keys if "." not in key
        }


def _tell_apart(tensors: Mapping[str, Tensor]) -> tuple[dict[str, Tensor], dict[str, str]]:
    """Return each tensor under its first name, and for every other name of it the first one."""
    apart: dict[str, Tensor] = {}
    others: dict[str, str] = {}
    firsts: dict[Any, str] = {}
    for name in sorted(tensors):  # the first name must not depend on the order
        tensor = tensors[name]
        place = (tensor.data_ptr(), tensor.shape, tensor.stride())
        first = firsts.setdefault(place, name) if tensor.numel() else name
        if first == name:
            apart[name] = tensor.detach().contiguous().cpu()  # so that any device can read it
        else:
            others[name] = first
    return apart, others


def _order_header(content: bytes) -> tuple[bytes, memoryview]:
    """Return the header and the rest of a safetensors file, with the keys of the header in alphabetical order.

    The library writes metadata in a random order; the same content must be the same bytes.
    """
    size = int.from_bytes(content[:HEADER_SIZE_BYTES], "little")
    header = json.loads(content[HEADER_SIZE_BYTES : HEADER_SIZE_BYTES + size])
    text = json.dumps(header, ensure_ascii=False, sort_keys=True, separators=(",", ":")).encode()
    text += b" " * (-len(text) % ALIGNMENT)
    return len(text).to_bytes(HEADER_SIZE_BYTES, "little") + text, memoryview(content)[HEADER_SIZE_BYTES + size :]


def _digest(tensors: Mapping[str, Tensor], facts: str) -> str:
    digest = hashlib.sha256(facts.encode())
    for name in sorted(tensors):
        tensor = tensors[name]
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        digest.update(tensor.reshape(-1).view(torch.uint8).numpy().data)
    return digest.hexdigest()
