"""Alternatives: the most probable tokens at each position of an output."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from seq2see.core.special_tokens import PAD, SPECIAL_TOKENS, START
from seq2see.data.tokenizers import Tokenizer
from seq2see.models.seq2seq import Seq2Seq
from seq2see.tasks.replay import replay
from seq2see.tasks.transduction import Transduction


@dataclass(frozen=True)
class Alternative:
    """A token that might be at some position of an output, with the model's probability of it."""

    id: int
    text: str
    confidence: float


@torch.inference_mode()
def list_alternatives(
    task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int], *, count: int
) -> list[list[Alternative]]:
    """Return the most probable tokens at each position of an output, given all tokens before it.

    Args:
        task, model: what wrote the output.
        source: the source as it was given.
        ids: the ids of the output, the end mark included.
        count: how many tokens to list at each position.
    """
    logits = replay(model, task.source.prepare([source]).gather([0]), [ids]).logits()[0]
    probabilities = logits.softmax(dim=-1)
    probabilities[:, [PAD, START]] = 0.0  # these are never written
    best, tokens = probabilities.topk(min(count, probabilities.shape[1]), dim=1)
    rows = zip([None, *ids[:-1]], tokens.tolist(), best.tolist(), strict=True)
    return [
        [
            Alternative(token, show_piece(task.target, before, token), probability)
            for token, probability in zip(*row, strict=True)
        ]
        for before, *row in rows
    ]


def show_piece(target: Tokenizer, before: int | None, number: int) -> str:
    """Return the text that a token adds behind another one, its space included; a mark by its name."""
    if number < len(SPECIAL_TOKENS):
        return SPECIAL_TOKENS[number]
    context = [] if before is None or before < len(SPECIAL_TOKENS) else [before]
    return target.decode([*context, number])[len(target.decode(context)) :]
