"""Whether attention is honest: how much less likely an output is without each part of its source.

One frame for all: a source is taken apart, every part is left out once, and the task says how likely the same output
still is. Only the first step knows what the source is: words of a text, words or sentences of a document, regions of a
picture.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor

from seq2see.core.box import Box
from seq2see.core.errors import Seq2SeeError
from seq2see.core.word import Span
from seq2see.data.batch import group_by_length
from seq2see.data.documents import DocumentCutter
from seq2see.data.sentences import join_sentences
from seq2see.data.sources import Sources
from seq2see.data.tokenise import START, Tokenizer
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.calibration import make_probabilities
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output

BUDGET = 8192  # source positions that are read at once
ROWS = 64  # sources that are read at once


@torch.inference_mode()
def leave_one_out(
    task: Any, model: Any, source: str, output: Output, units: Sequence[Span] | Sequence[Box]
) -> Float[np.ndarray, " n"]:
    """How much the probability of a label, or the log-probability of a text, falls when each unit is left out.

    Less than 0: the output is likelier without it.
    """
    model.eval()
    variants = leave_out(task.source, source, units)
    chances = np.empty(len(variants))
    for rows in group_by_length(variants.lengths, budget=BUDGET):
        for some in np.split(rows, range(ROWS, len(rows), ROWS)):
            chances[some] = judge(task, model, variants.gather(some.tolist()), output)
    return np.asarray(chances[0] - chances[1:])


def leave_out(cutter: Any, source: str, units: Sequence[Span] | Sequence[Box]) -> Sources:
    """The source itself, and then once without each unit."""
    if all(isinstance(unit, Box) for unit in units) and units:
        return grey_out(cutter, source, [unit for unit in units if isinstance(unit, Box)])
    spans = [unit for unit in units if not isinstance(unit, Box)]
    if isinstance(cutter, DocumentCutter):
        return cut_document(cutter, source, spans)
    if isinstance(cutter, Tokenizer):
        return cut_text(cutter, source, spans)
    raise Seq2SeeError("what is left out of a picture must be regions of it (Box).")


def cut_text(cutter: Tokenizer, source: str, spans: Sequence[Span]) -> Sources:
    """A text without words."""
    return cutter.prepare([source, *(_remove(source, span) for span in spans)])


def cut_document(cutter: DocumentCutter, source: str, spans: Sequence[Span]) -> Sources:
    """A document without words or sentences; all other sentences stay cut where they were."""
    sentences = [sentence.span for sentence in cutter.encode(source)]

    def without(span: Span | None) -> str:
        return join_sentences([_cut_sentence(source, sentence, span) for sentence in sentences])

    return cutter.prepare([without(span) for span in (None, *spans)])


@dataclass(frozen=True)
class Greyed:
    """A picture, and then once with each region in its own mean colour."""

    pixels: Tensor
    mask: Bool[Tensor, "..."]
    boxes: Sequence[Box]

    def __len__(self) -> int:
        return 1 + len(self.boxes)

    @property
    def lengths(self) -> Int64[np.ndarray, " n"]:
        """Each costs the same."""
        return np.ones(len(self), dtype=np.int64)

    def gather(self, rows: Sequence[int]) -> tuple[Tensor, Bool[Tensor, "..."]]:
        """Some of them."""
        pictures = [self._grey(self.boxes[row - 1]) if row else self.pixels for row in rows]
        return torch.cat(pictures), self.mask.expand(len(rows), *self.mask.shape[1:])

    def _grey(self, box: Box) -> Tensor:
        height, width = self.pixels.shape[-2:]
        rows = slice(int(box.top * height + 0.5), int(box.bottom * height + 0.5))
        columns = slice(int(box.left * width + 0.5), int(box.right * width + 0.5))
        greyed = self.pixels.clone()
        greyed[..., rows, columns] = self.pixels.float().mean(dim=(-2, -1), keepdim=True).to(greyed.dtype)
        return greyed


def grey_out(cutter: Any, source: str, boxes: Sequence[Box]) -> Sources:
    """A picture without regions: each takes the mean colour of the whole picture, so that no new edge is glaring."""
    pixels, mask = cutter.prepare([source]).gather([0])
    return Greyed(pixels, mask, boxes)


def list_cells(grid: tuple[int, int]) -> list[Box]:
    """The cells of a picture's grid as regions, row by row."""
    rows, columns = grid
    return [Box(x / columns, y / rows, (x + 1) / columns, (y + 1) / rows) for y in range(rows) for x in range(columns)]


def judge(task: Any, model: Any, given: tuple[Tensor, Tensor], output: Output) -> Float[np.ndarray, " b"]:
    """How likely the output is for each source: the probability of its labels (their mean), or its log-probability."""
    if isinstance(task, Classification):
        logits = model(*given)
        chances = make_probabilities(logits, temperature=task.temperature, many=task.target.many)
        return np.asarray(chances[:, list(output.ids)].mean(dim=1).double().numpy())
    return np.asarray(_score_text(model, given, output.ids).double().numpy())


def _score_text(model: Seq2Seq, given: tuple[Tensor, Tensor], ids: Sequence[int]) -> Float[Tensor, " b"]:
    inputs = torch.tensor([[START, *ids[:-1]]]).expand(len(given[0]), -1)
    logprobs = model(*given, inputs).log_softmax(dim=-1)
    targets = torch.tensor(ids).view(1, -1, 1).expand(len(inputs), -1, 1)
    return logprobs.gather(2, targets).sum(dim=(1, 2))


def _remove(text: str, span: Span) -> str:
    left, right = text[: span[0]], text[span[1] :]
    gap = left[-1:].isspace()  # a word goes with the space before it, so that a comma behind it finds the word before
    return ((left[:-1] if gap else left) + right).strip()


def _cut_sentence(text: str, sentence: Span, span: Span | None) -> str:
    """A sentence without what a span covers of it."""
    start, end = sentence
    if span is None or span[1] <= start or span[0] >= end:
        return text[start:end]
    return _remove(text[start:end], (max(span[0] - start, 0), min(span[1], end) - start))
