"""Types of options with their bounds, which the registry checks."""

from typing import Annotated

from annotated_types import Ge, Lt

Count = Annotated[int, Ge(1)]  # of units, layers, positions
Rate = Annotated[float, Ge(0), Lt(1)]  # of dropout
