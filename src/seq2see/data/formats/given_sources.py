"""Sources that are Python objects: one text or image, several of them, or a column of a data frame."""

from collections.abc import Iterable, Mapping
from os import PathLike

import numpy as np
from PIL.Image import Image
from torch import Tensor

from seq2see.core.errors import DataError
from seq2see.data.formats.headers import list_names
from seq2see.data.formats.image_object import is_pixels
from seq2see.data.formats.in_memory import DataFrame, list_column

Source = str | PathLike[str] | Image | np.ndarray | Tensor  # a text, where an image is, or an image itself
Sources = Iterable[Source] | DataFrame


def is_single(given: object) -> bool:
    """Tell whether an object is one source, and not several.

    Args:
        given: any object; what cannot be several sources counts as one, which `check` of a modality then refuses.
    """
    if isinstance(given, str | bytes | PathLike | Mapping) or is_pixels(given):
        return True
    return not isinstance(given, Iterable | DataFrame) or getattr(given, "shape", None) == ()


def list_sources(given: object, *, usual: str | None = None) -> list[object]:
    """Return the sources in an object, unchecked.

    Args:
        given: one source, an iterable of them (lists, arrays, columns), or a data frame.
        usual: the column that a data frame is asked for first, such as that of the training; None: none.

    Raises:
        DataError: it is not clear which column of a data frame has the sources.
    """
    if is_single(given):
        return [given]
    return list_column(choose_column(given, usual) if isinstance(given, DataFrame) else given)


def choose_column(frame: DataFrame, usual: str | None) -> list[object]:
    """Return the values of the usual column of a data frame if it has it, else of its only column of sources.

    Args:
        frame: the data frame.
        usual: the name of the usual column; None if there is none.

    Raises:
        DataError: no column has sources, or several have.
    """
    columns = {name: list_column(frame[name]) for name in frame.columns}
    known = [name for name in columns if str(name) == usual]
    found = known or [name for name, values in columns.items() if not values or any(map(_is_source, values))]
    if len(found) != 1:
        named = list_names([str(name) for name in columns])
        reason = "several of which have texts" if found else "none of which has texts"
        raise DataError(
            f"a data frame must have one column of texts or images; got {named}, {reason}; give one column, such as "
            "frame[NAME]."
        )
    return columns[found[0]]


def _is_source(value: object) -> bool:
    return isinstance(value, str | PathLike) or is_pixels(value)
