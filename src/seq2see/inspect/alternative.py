"""Alternatives: what else the model might have written at each place of an output."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seq2see.data.sequences import PAD
from seq2see.data.tokenise import MARKS, START, Tokenizer
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.transduction import Transduction


@dataclass(frozen=True)
class Alternative:
    """A token that may stand at some place, with the model's probability of it."""

    id: int
    text: str
    confidence: float


@torch.inference_mode()
def list_alternatives(
    task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int], *, count: int
) -> list[list[Alternative]]:
    """The likeliest tokens at each place of `ids`, given all tokens before it."""
    model.eval()
    given = task.source.prepare([source]).gather([0])
    logits = model(*given, torch.tensor([[START, *ids[:-1]]]))[0]
    chances = logits.softmax(dim=-1)
    chances[:, [PAD, START]] = 0.0  # these are never written
    best, places = chances.topk(min(count, chances.shape[1]), dim=1)
    rows = zip([None, *ids[:-1]], places.tolist(), best.tolist(), strict=True)
    return [
        [
            Alternative(number, show_piece(task.target, before, number), chance)
            for number, chance in zip(*row, strict=True)
        ]
        for before, *row in rows
    ]


def show_piece(target: Tokenizer, before: int | None, number: int) -> str:
    """The text that a token adds behind another one, its space included; a mark by its name."""
    if number < len(MARKS):
        return MARKS[number]
    context = [] if before is None or before < len(MARKS) else [before]
    return target.decode([*context, number])[len(target.decode(context)) :]
