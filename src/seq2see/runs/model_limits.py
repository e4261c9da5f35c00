"""Limits on the model that a run folder describes: it must be as large as its weights, and decode in sensible time.

A configuration of three lines can ask for a matrix that no memory holds. The header of the weights says how large the
model is, and the file has as many bytes; so a model that grows beyond it while it is built is refused at once.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from math import prod
from pathlib import Path
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from seq2see.config.schema import Config
from seq2see.core.errors import CheckpointError, ConfigError, Seq2SeeError
from seq2see.core.registry import shorten
from seq2see.models.network import Network
from seq2see.runs.weights_header import TensorForm
from seq2see.search.factory import choose_search, read_search
from seq2see.system.free_memory import read_free_memory
from seq2see.tasks.task import Task

MAX_OPTION = 1_000_000  # of any whole number of a model
SPARE_BYTES = 16_000_000  # of one tensor that is computed, such as a table of positions
WIDEST = 8  # bytes of a number
SPARE_TENSORS = 1_000
COPIES = 2  # of a tensor while it is drawn
MAX_MAP_BYTES = 2**28  # of one map of a convolution over an image
MAX_CELLS = 2_500  # of an image, for a run that is not trusted
MAX_IMAGE_WEIGHTS = 2**26  # of attention between the cells of an image, in all heads of a layer
DTYPES = {
    "F64": torch.float64,
    "F32": torch.float32,
    "F16": torch.float16,
    "BF16": torch.bfloat16,
    "I64": torch.int64,
    "I32": torch.int32,
    "I16": torch.int16,
    "I8": torch.int8,
    "U8": torch.uint8,
    "BOOL": torch.bool,
}
MAX_DECODED = 100_000  # tokens of all hypotheses of one source, for a run that is not trusted
MAX_HYPOTHESES = 1_000
MAX_COMPARED = 50_000  # pairs of outputs of one source that minimum Bayes risk decoding compares, some 8 kB each
MAX_MODULES = 10_000
STEP_SECONDS, MODULE_SECONDS = 3e-4, 1e-5  # that a step of a search takes with the smallest layers, and for each module
MAX_STEP_SECONDS = 10  # of all steps of a search, if its layers are small; larger ones are no surprise
SHORT_TARGET = 1_000  # tokens that any model may write


class SizeGuard(TorchDispatchMode):
    """Refuses tensors beyond a budget, for the code inside a `with`, before they are allocated.

    Args:
        forms: the tensors of the model that is built, by name.
    """

    def __init__(self, forms: Mapping[str, TensorForm]) -> None:
        super().__init__()
        sizes = [form.bytes for form in forms.values()]
        self.largest = COPIES * max([*sizes, 0]) + SPARE_BYTES
        self.bytes = COPIES * sum(sizes) + 4 * SPARE_BYTES
        self.tensors = 16 * len(sizes) + SPARE_TENSORS

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Run an operation unless its result would be too large."""
        options = dict(kwargs or {})
        shapes = [each.shape for each in args if isinstance(each, torch.Tensor)]
        if not shapes:
            size = func(*args, **{**options, "device": "meta"}) if "device" in options else torch.empty(0)
            self._spend(size.numel() * size.element_size() if isinstance(size, torch.Tensor) else 0)
        elif func is torch.ops.aten.convolution.default:
            if _measure_map(*args) > MAX_MAP_BYTES:
                raise TooLargeError
        elif len(shapes) > 1:
            with suppress(RuntimeError):  # no operation that broadcasts
                self._require(WIDEST * prod(torch.broadcast_shapes(*shapes)))
        return func(*args, **options)

    def _spend(self, size: int) -> None:
        self._require(size)
        self.bytes -= size
        self.tensors -= 1
        if self.bytes < 0 or self.tensors < 0:
            raise TooLargeError

    def _require(self, size: int) -> None:
        if size > self.largest:
            raise TooLargeError


class TooLargeError(Exception):
    """Is a model that would be larger than its weights."""


def build_within(task: Task, config: Config, forms: Mapping[str, TensorForm], *, name: str) -> Network:
    """Build the model of a configuration, which must have the tensors of its weights, before their values are read.

    Args:
        task: the task with its tokenizers.
        config: the configuration.
        forms: the tensors of the weights, by name.
        name: the name of the configuration in errors.

    Raises:
        ConfigError: the configuration has numbers out of range, or describes another model, or none.
    """
    for key, number in _list_numbers(config.model_dump(include={"model", "tokens"})):
        if abs(number) > MAX_OPTION:
            raise ConfigError(f"{name}: {key} must be at most {MAX_OPTION:,}; got {shorten(number)}; undo the edit.")
    try:
        with SizeGuard(forms):
            model = task.build(config)
    except Seq2SeeError:
        raise
    except Exception as error:
        if _find(error, TooLargeError):
            count = sum(prod(form.shape) for form in forms.values())
            raise ConfigError(
                f"{name}: the model must be as large as its weights ({count:,} numbers); got a larger one; copy the "
                "run again, or train anew."
            ) from None
        raise ConfigError(f"{name}: the model cannot be built: {_say(error)}; copy the run again.") from error
    tensors = model.state_dict()
    wrong = [name for name in {**tensors, **forms} if not _fits(tensors.get(name), forms.get(name))]
    if wrong:
        raise CheckpointError(
            f"{name}: the weights must fit the model of the configuration; got other tensors (such as "
            f"{shorten(min(wrong))}), perhaps of another version of seq2see; copy the run again, or train it again."
        )
    return model


def _fits(tensor: torch.Tensor | None, form: TensorForm | None) -> bool:
    return tensor is not None and form is not None and (tensor.dtype, tensor.shape) == (DTYPES[form.dtype], form.shape)


def _measure_map(pixels: torch.Tensor, weight: torch.Tensor, bias: object, stride: Sequence[int], *_: object) -> int:
    """Return at most how many bytes the output of a convolution has."""
    places = prod(-(-side // step) for side, step in zip(pixels.shape[2:], stride, strict=False))
    return pixels.shape[0] * weight.shape[0] * places * pixels.element_size()


def require_memory(path: Path) -> None:
    """Refuse weights that do not fit into memory twice, as read and in the model.

    Args:
        path: the file of the weights.

    Raises:
        CheckpointError: there is too little memory.
    """
    free, size = read_free_memory(), path.stat().st_size
    if free is not None and 2 * size > free:
        raise CheckpointError(
            f"{path}: the weights need {2 * size / 2**30:,.1f} GB of memory; there are {free / 2**30:,.1f} GB; use a "
            "larger computer."
        )


def check_decoding(task: Task, config: Config, model: Network, *, name: str, trust: bool) -> None:
    """Refuse a search that would take very long, unless the run is trusted.

    Args:
        task: the task, which knows the longest target.
        config: the configuration with its search.
        model: the model, which has a step for each token.
        name: the name of the configuration in errors.
        trust: whether the user trusts the run.

    Raises:
        ConfigError: the search cannot be built, or decodes too much.
    """
    try:
        part, rules = read_search(config.search)
        choose_search(config.search)
    except Seq2SeeError as error:
        raise type(error)(f"{name}: {error}") from None
    except Exception as error:
        raise ConfigError(f"{name}: the search cannot be built: {_say(error)}; copy the run again.") from error
    numbers = [(key.split(".")[-1], number) for key, number in _list_numbers(_plain(part.options))]
    candidates = max([1, *(number for key, number in numbers if key in ("width", "n_best"))])
    samples = max([0, *(number for key, number in numbers if key == "samples")])
    hypotheses, longest = max(candidates, samples), max(rules.max_length or 0, rules.min_length, task.longest_target)
    if not trust and (hypotheses > MAX_HYPOTHESES or hypotheses * longest > MAX_DECODED):
        raise ConfigError(
            f"{name}: a search must decode at most {MAX_HYPOTHESES:,} hypotheses and {MAX_DECODED:,} tokens a source; "
            f"got {hypotheses:,} of {longest:,} tokens; add --trust if you trust the run."
        )
    compared = candidates * (candidates + samples) if part.kind == "mbr" else 0
    if not trust and compared > MAX_COMPARED:
        raise ConfigError(
            f"{name}: minimum Bayes risk decoding must compare at most {MAX_COMPARED:,} pairs of outputs; got "
            f"{compared:,}; add --trust if you trust the run."
        )
    modules = len(list(model.modules()))
    steps = max(SHORT_TARGET, int(MAX_STEP_SECONDS / (STEP_SECONDS + modules * MODULE_SECONDS)))
    if not trust and (modules > MAX_MODULES or longest > steps):
        raise ConfigError(
            f"{name}: a model must have at most {MAX_MODULES:,} modules, and this one write {steps:,} tokens; got "
            f"{modules:,} modules and {longest:,} tokens; add --trust if you trust the run."
        )


def check_cells(model: Network, *, name: str, trust: bool) -> None:
    """Refuse an encoder that divides an image into very many cells, unless the run is trusted.

    Args:
        model: the model; one that reads texts has no cells.
        name: the name of the configuration in errors.
        trust: whether the user trusts the run.

    Raises:
        ConfigError: there are too many cells, or too many heads that compare all of them.
    """
    cells = getattr(model.encoder, "cells", 0)
    heads = max([getattr(module, "heads", 0) for module in model.modules()])
    if not trust and (cells > MAX_CELLS or heads * cells**2 > MAX_IMAGE_WEIGHTS):
        raise ConfigError(
            f"{name}: an image must have at most {MAX_CELLS:,} cells, and {MAX_IMAGE_WEIGHTS:,} attention weights "
            f"between them; got {cells:,} cells and {heads * cells**2:,} weights; add --trust if you trust the run."
        )


def _plain(options: object) -> object:
    """Return options of parts as dictionaries."""
    inner = getattr(options, "options", options)
    return {key: _plain(value) for key, value in inner.items()} if isinstance(inner, Mapping) else inner


def _list_numbers(tree: object, path: str = "") -> list[tuple[str, int]]:
    """Return all whole numbers of a tree with their keys."""
    if isinstance(tree, Mapping):
        return [pair for key, value in tree.items() for pair in _list_numbers(value, f"{path}.{key}".strip("."))]
    if isinstance(tree, Sequence) and not isinstance(tree, str | bytes):
        return [pair for value in tree for pair in _list_numbers(value, path)]
    return [(path, tree)] if isinstance(tree, int) else []


def _find(error: BaseException | None, kind: type[BaseException]) -> bool:
    """Tell whether an error, or one behind it, is of a kind."""
    return error is not None and (isinstance(error, kind) or _find(error.__cause__ or error.__context__, kind))


def _say(error: BaseException) -> str:
    return shorten(f"{type(error).__name__}: {' '.join(str(error).split())}")[1:-1]
