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
    """Holds a token that might be at some position of an output.

    Args:
        id: the id of the token.
        text: what the token adds to the text, with its space; the name of a special token.
        confidence: the model's probability of the token at this position, given all tokens of the output before it.
    """

    id: int
    text: str
    confidence: float


@torch.inference_mode()
def list_alternatives(
    task: Transduction, model: Seq2Seq, source: str, ids: Sequence[int], *, count: int
) -> list[list[Alternative]]:
    """Return the most probable tokens at each position of an output, given all tokens before it.

    Args:
        task: the task of the run that wrote the output.
        model: the model of that run.
        source: the source as it was given.
        ids: the ids of the output, the end mark included.
        count: how many tokens to list at each position; at most the size of the vocabulary.

    Returns:
        For each position of the output its tokens, the most probable first.
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
    """Return the text that a token adds after another one, its space included; a special token by its name.

    Args:
        target: the tokenizer of the target.
        before: the id of the token before it; None at the start of the text.
        number: the id of the token.
    """
    if number < len(SPECIAL_TOKENS):
        return SPECIAL_TOKENS[number]
    context = [] if before is None or before < len(SPECIAL_TOKENS) else [before]
    return target.decode([*context, number])[len(target.decode(context)) :]
