"""Several predictions of a run: a list that a notebook shows as a table."""

from collections.abc import Sequence
from html import escape
from typing import SupportsIndex, overload

from seq2see.runs.prediction import Prediction

MAX_ROWS = 60  # of the table in a notebook; of more predictions it has the first and the last ones
MAX_CHARACTERS = 300  # of a text in the table; a longer one is cut
CELL = '<td dir="auto" style="text-align: start; overflow-wrap: anywhere">'


class Predictions(list[Prediction]):
    """A list of predictions, in the order of their inputs; in a notebook it shows itself as a table.

    A slice of it is such a list, too, so that `predictions[:5]` shows a table of five.
    """

    @overload
    def __getitem__(self, place: SupportsIndex, /) -> Prediction: ...
    @overload
    def __getitem__(self, place: slice, /) -> "Predictions": ...
    def __getitem__(self, place: SupportsIndex | slice, /) -> "Prediction | Predictions":
        if isinstance(place, slice):
            return Predictions(super().__getitem__(place))
        return super().__getitem__(place)

    def _repr_html_(self) -> str:
        if len(self) <= MAX_ROWS:
            rows = _show_rows(self)
        else:
            half = MAX_ROWS // 2
            left_out = f'<tr><td colspan="4">… {len(self) - 2 * half:,} more …</td></tr>'
            rows = _show_rows(self[:half]) + left_out + _show_rows(self[-half:], first=len(self) - half)
        head = '<tr><th></th><th scope="col">input</th><th scope="col">output</th><th scope="col">confidence</th></tr>'
        return f"<table><thead>{head}</thead><tbody>{rows}</tbody></table>"


def _show_rows(predictions: Sequence[Prediction], *, first: int = 0) -> str:
    return "".join(_show_row(first + place, each) for place, each in enumerate(predictions))


def _show_row(place: int, prediction: Prediction) -> str:
    confidence = "" if prediction.confidence is None else f"{prediction.confidence:.1%}"
    texts = "".join(f"{CELL}{escape(_cut(text))}</td>" for text in (prediction.source, prediction.text))
    return f'<tr><th scope="row">{place}</th>{texts}<td>{confidence}</td></tr>'


def _cut(text: str) -> str:
    return text if len(text) <= MAX_CHARACTERS else text[: MAX_CHARACTERS - 1] + "…"
