"""The JSON form of a prediction: of `seq2see predict --format jsonl` and of the server's replies."""

import json
from collections.abc import Mapping
from typing import Annotated, Literal, NotRequired

from pydantic import ConfigDict, Field, with_config
from typing_extensions import TypedDict

from seq2see.core.errors import AttentionError
from seq2see.core.token import Token
from seq2see.core.words import find_words
from seq2see.data.sentence_splitter import show_sentences
from seq2see.explain.cross_attention import trace_cross_attention
from seq2see.explain.forced_output import ForcedOutput
from seq2see.explain.head_alignment import choose_units, default_head, merge_trace
from seq2see.runs.prediction import Prediction

AttentionForm = Literal["none", "words", "full"]  # nothing, one weight for each pair of words, or every map
Probability = Annotated[float, Field(ge=0, le=1.0001)]  # with the last bits of a sum of floats
Index = Annotated[int, Field(ge=0, le=2**53 - 1)]  # which programs that know floats alone can read, too
Real = Annotated[float, Field(ge=-3.5e38, le=3.5e38)]  # what a float of 32 bits can be

# of a trace; its texts are in the prediction, and the caller has the image
ATTENTION_KEYS = ("source_tokens", "target_tokens", "maps", "memory_rows", "grid", "sentences", "run_agreement")


@with_config(ConfigDict(extra="forbid"))
class TokenJson(TypedDict):
    """A token and its place in the raw text."""

    text: Annotated[str, Field(description="The token as text.")]
    start: Annotated[Index, Field(description="The first of its characters in the raw text, counted from 0.")]
    end: Annotated[Index, Field(description="The character after its last one.")]
    confidence: Annotated[Probability | None, Field(description="The probability that the model gave it.")]
    unknown: NotRequired[
        Annotated[bool, Field(description="Whether the vocabulary lacks it, so that it is read as the unknown token.")]
    ]


@with_config(ConfigDict(extra="forbid"))
class UnknownJson(TypedDict):
    """A piece of the source that the vocabulary of the run does not have."""

    text: Annotated[str, Field(description="The character or word.")]
    start: Annotated[Index, Field(description="The first of its characters in the raw text, counted from 0.")]
    end: Annotated[Index, Field(description="The character after its last one.")]


@with_config(ConfigDict(extra="forbid"))
class PredictionJson(TypedDict):
    """A prediction: the output, how likely it is, and further outputs."""

    source: Annotated[str | None, Field(description="The input; null for an image that was sent.")]
    text: Annotated[str, Field(description="The output: a text, or the chosen labels.")]
    score: Annotated[Real, Field(description="What outputs are ranked by: see the search; of labels, a probability.")]
    probability: Annotated[
        Probability | None, Field(description="The model's probability of the whole output; null for a blank source.")
    ]
    finished: Annotated[bool, Field(description="False if the output was cut at its maximum length.")]
    tokens: Annotated[list[TokenJson], Field(description="The tokens of a text, the end token last.")]
    ids: Annotated[list[Index], Field(description="The ids of the tokens, or of the labels.")]
    unknown: Annotated[
        list[UnknownJson], Field(description="What of the source the run does not know, and reads as an unknown token.")
    ]
    alternatives: Annotated[list["PredictionJson"], Field(description="Further outputs (n_best), best first.")]
    probabilities: NotRequired[
        Annotated[dict[str, Probability], Field(description="Of all labels, the likeliest first; not for a text.")]
    ]
    attention: NotRequired[
        Annotated[
            Mapping[str, object] | None,
            Field(
                description="If asked for: every map (full), or one weight for each pair of words (words: map, "
                "source_words and target_words as character spans, weights); null for a model without attention."
            ),
        ]
    ]


def describe_prediction(
    prediction: Prediction, *, attention: AttentionForm = "none", show_source: bool = True
) -> PredictionJson:
    """Return a prediction as plain values.

    Args:
        prediction: the prediction, with its alternatives.
        attention: `none` leaves the attention out, `words` adds one weight for each pair of words, `full` every map.
        show_source: whether the source is shown; False where it is a temporary file.
    """
    row: PredictionJson = {
        "source": show_sentences(prediction.source) if show_source else None,
        "text": prediction.text,
        "score": prediction.score,
        "probability": prediction.probability,
        "finished": prediction.finished,
        "tokens": [describe_token(token) for token in prediction.tokens],
        "ids": list(prediction.ids),
        "unknown": [{"text": each.text, "start": each.start, "end": each.end} for each in prediction.unknown],
        "alternatives": [
            describe_prediction(other, attention=attention, show_source=show_source)
            for other in prediction.alternatives
        ],
    }
    if prediction.probabilities is not None:
        row["probabilities"] = dict(prediction.probabilities)
    if attention != "none":
        row["attention"] = describe_attention(prediction, attention)
    return row


def describe_token(token: Token) -> TokenJson:
    """Return a token as plain values.

    Args:
        token: the token, with its place in the raw text.
    """
    return {"text": token.text, "start": token.start, "end": token.end, "confidence": token.confidence}


def to_json(prediction: Prediction, *, attention: AttentionForm = "none") -> str:
    """Return a prediction as one line of JSON.

    Args:
        prediction: the prediction, with its alternatives.
        attention: `none` leaves the attention out, `words` adds one weight for each pair of words, `full` every map.
    """
    return json.dumps(describe_prediction(prediction, attention=attention), ensure_ascii=False)


def describe_attention(prediction: Prediction, form: AttentionForm) -> Mapping[str, object] | None:
    """Return the attention of a prediction; None for a blank source or a model without attention.

    Labels, images and documents have no pairs of words: `words` gives every map there.

    Args:
        prediction: the prediction.
        form: `words` gives one weight for each pair of words, `full` every map.
    """
    if not prediction.ids:
        return None
    pairs_words = prediction.run.task.writes_text and prediction.run.task.source.name == "text"
    try:
        if form == "words" and pairs_words:
            return weigh_words(prediction)
        trace = prediction.attention.to_dict()
    except AttentionError:
        return None
    return {key: trace[key] for key in ATTENTION_KEYS if key in trace}


def weigh_words(prediction: Prediction) -> Mapping[str, object]:
    """Return the attention weights between words, as word alignments use them, and the map that they come from.

    Args:
        prediction: the prediction of a run that reads and writes texts.

    Returns:
        `map`, `source_words` and `target_words` (character spans), `weights`, a row for each target word, and
        `run_agreement`: whether attention of the run agrees with leave-one-out.
    """
    _, trace = next(trace_cross_attention(*prediction.run.transduction, [ForcedOutput.from_output(prediction)]))
    choice, units = default_head(trace), choose_units([trace.source], [trace.target])
    weights = merge_trace(trace, [choice], units)[0]
    return {
        "map": str(choice),
        "source_words": find_words(trace.source, units[0]),
        "target_words": find_words(trace.target, units[1]),
        "weights": weights[:, :-1].tolist(),  # the last column is what no word got
        "run_agreement": prediction.run.agreement.to_dict(),
    }
