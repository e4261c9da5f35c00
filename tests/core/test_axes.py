"""One legend for all axis letters: annotations use no name that it does not explain, and no entry is idle."""

import re
from pathlib import Path

from seq2see.core.axes import AXES

SOURCE = Path(__file__).parent.parent.parent / "src" / "seq2see"
DTYPES = "Float|Float16|Float32|Float64|Int|Int8|Int32|Int64|UInt8|Bool|Shaped|Num"
SHAPE = re.compile(rf'\b(?:{DTYPES})\[\s*[\w.| ]+,\s*"([^"]*)"\s*\]')


def list_names(text: str) -> set[str]:
    """The names of axes in all annotations of a file; numbers, `...` and `_` name none."""
    axes = {axis.lstrip("*#") for shape in SHAPE.findall(text) for axis in shape.split()}
    return {name for axis in axes for name in axis.split("*") if name.isidentifier() and name.strip("_")}


def test_names_are_found_behind_the_signs_of_jaxtyping() -> None:
    text = 'Float[Tensor, "*#b #h 1 _"] Int64[np.ndarray, " n_plus_1"] Bool[Tensor, "b*t ..."]'
    assert list_names(text) == {"b", "h", "n_plus_1", "t"}


def test_every_axis_is_in_the_legend() -> None:
    used = {name: file.name for file in SOURCE.rglob("*.py") for name in list_names(file.read_text())}
    assert used.keys() - AXES.keys() == set(), {name: used[name] for name in used.keys() - AXES.keys()}
    assert AXES.keys() - used.keys() == set()
