"""The metrics of written outputs, by the modality of their sources: what is written for an image is a caption."""

import logging
from collections.abc import Mapping, Sequence
from contextlib import nullcontext
from typing import Protocol, runtime_checkable

from seq2see.metrics.caption import score_captions, unpenalised_bleu, validation_caption_metrics
from seq2see.metrics.meteor import Meteor, MeteorError, explain_absence
from seq2see.metrics.text import DEFAULT_TOKENIZER, Metric, References, score_texts, validation_text_metrics

log = logging.getLogger("seq2see")


@runtime_checkable
class Scores(Protocol):
    """Is a function from outputs and their references to metrics."""

    def __call__(
        self, outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
    ) -> list[Metric]: ...


def score_all_captions(
    outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """Return every metric of captions; METEOR only where Java and its program are installed and work.

    Args:
        outputs: one caption for each image.
        references: all reference captions of each image.
        bleu_tokenizer: has no effect, because captions have a tokenization of their own.
    """
    try:
        with Meteor() if explain_absence() is None else nullcontext() as meteor:
            scores = score_captions(outputs, references, meteor=meteor)
    except MeteorError as error:  # hours of training are not lost for one of many scores
        log.warning("warning: %s It is left out.", error)
        scores = score_captions(outputs, references)
    return [*scores, *unpenalised_bleu(outputs, references)]


def score_captions_quickly(
    outputs: Sequence[str], references: References, *, bleu_tokenizer: str = DEFAULT_TOKENIZER
) -> list[Metric]:
    """Return the metrics of captions that are quick enough for every validation.

    Args:
        outputs: one caption for each image.
        references: all reference captions of each image.
        bleu_tokenizer: has no effect, because captions have a tokenization of their own.
    """
    return validation_caption_metrics(outputs, references)


SCORES: Mapping[str, Scores] = {"text": score_texts, "document": score_texts, "image": score_all_captions}
VALIDATION_SCORES: Mapping[str, Scores] = {
    "text": validation_text_metrics,
    "document": validation_text_metrics,
    "image": score_captions_quickly,
}
