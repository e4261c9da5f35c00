"""The header of a safetensors file, read alone: names, types and shapes of the tensors, without their values."""

import os
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from math import prod
from pathlib import Path

from seq2see.core.errors import CheckpointError
from seq2see.core.json_text import read_json
from seq2see.core.registry import shorten
from seq2see.runs.run_file import MAX_HEADER_BYTES, naming_failures, open_run_file

# bytes of a number of each type
BYTES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "I64": 8, "I32": 4, "I16": 2, "I8": 1, "U8": 1, "BOOL": 1}
MAX_TENSORS = 20_000
MAX_AXES = 8


@dataclass(frozen=True)
class TensorForm:
    """What a tensor is without its values.

    Args:
        dtype: its type, as safetensors names it: F32, I64 and so on.
        shape: its shape.
    """

    dtype: str
    shape: tuple[int, ...]

    @property
    def bytes(self) -> int:
        """Return the bytes of its values."""
        return BYTES[self.dtype] * prod(self.shape)


@dataclass(frozen=True)
class WeightsHeader:
    """What a file of weights says of itself before its values.

    Args:
        tensors: the form of each tensor, by name.
        metadata: its metadata, texts by name.
    """

    tensors: Mapping[str, TensorForm]
    metadata: Mapping[str, str]


def read_weights_header(path: Path) -> WeightsHeader:
    """Read and check the header: it must describe exactly the bytes that follow.

    Args:
        path: a safetensors file.

    Raises:
        FileNotFoundError: there is no such file.
        CheckpointError: the file cannot be read, or its header is none of a whole file.
    """
    with os.fdopen(open_run_file(path), "rb") as file, naming_failures(path):
        whole = os.fstat(file.fileno()).st_size
        start = file.read(8)
        length = struct.unpack("<Q", start)[0] if len(start) == 8 else 0
        if not 2 <= length <= min(whole - 8, MAX_HEADER_BYTES):
            raise CheckpointError(_explain(path, f"its header would have {length:,} bytes"))
        text = file.read(length)
    try:
        return _check(read_json(text), whole - 8 - length)
    except ValueError as error:
        raise CheckpointError(_explain(path, shorten(str(error))[1:-1])) from None


def _explain(path: Path, reason: str) -> str:
    return f"{path}: the file is damaged or cut short ({reason}); copy the run again, or train anew."


def _check(header: object, size: int) -> WeightsHeader:
    """Return a header that describes `size` bytes.

    Raises:
        ValueError: it describes others.
    """
    if not isinstance(header, dict):
        raise ValueError("its header is no object")
    entries = {str(name): entry for name, entry in header.items()}
    metadata = entries.pop("__metadata__", {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise ValueError("its metadata are no texts")
    if len(entries) > MAX_TENSORS:
        raise ValueError(f"there are more than {MAX_TENSORS:,} tensors")
    spans = sorted(_check_entry(name, entry) for name, entry in entries.items())
    ends = [0, *(end for _, end in spans)]
    if any(start != before for (start, _), before in zip(spans, ends, strict=False)) or ends[-1] != size:
        raise ValueError("its tensors do not fill it")
    forms = {name: TensorForm(entry["dtype"], tuple(entry["shape"])) for name, entry in entries.items()}
    return WeightsHeader(forms, metadata)


def _check_entry(name: str, entry: object) -> tuple[int, int]:
    """Return where the values of a tensor begin and end."""
    if not isinstance(entry, dict) or entry.keys() != {"dtype", "shape", "data_offsets"}:
        raise ValueError(f"the tensor {shorten(name)} is not described")
    dtype, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(dtype, str) or dtype not in BYTES:
        raise ValueError(f"the tensor {shorten(name)} has the type {shorten(dtype)}")
    lists = [
        isinstance(each, list) and all(type(n) is int and 0 <= n < 2**62 for n in each) for each in (shape, offsets)
    ]
    if not all(lists) or len(shape) > MAX_AXES or len(offsets) != 2:
        raise ValueError(f"the tensor {shorten(name)} has no valid shape")
    if prod(shape) * BYTES[dtype] != offsets[1] - offsets[0]:
        raise ValueError(f"the tensor {shorten(name)} has other values than its shape says")
    return offsets[0], offsets[1]
