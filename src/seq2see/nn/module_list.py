"""A list of modules whose class the type checker knows."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Generic, Self, TypeVar, overload

from torch import nn

M = TypeVar("M", bound=nn.Module)


class TypedModuleList(nn.ModuleList, Generic[M]):
    """Is torch's ModuleList with items of one class: `self.cells: TypedModuleList[Cell] = TypedModuleList(...)`."""

    if TYPE_CHECKING:

        def __iter__(self) -> Iterator[M]: ...

        @overload
        def __getitem__(self, idx: slice) -> Self: ...
        @overload
        def __getitem__(self, idx: int) -> M: ...
        def __getitem__(self, idx: int | slice) -> M | Self: ...
