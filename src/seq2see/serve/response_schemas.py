"""The schemas of responses, for the OpenAPI document; a prediction has the form of `runs/prediction_json.py`."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from seq2see.runs.prediction_json import Index, PredictionJson, Probability, Real, TokenJson

Action = Literal["translate", "predict", "caption", "classify"]


class Response(BaseModel):
    """The base of all responses, which have no other fields than those declared here."""

    model_config = ConfigDict(extra="forbid")


class ErrorResponse(Response):
    """An error, in one sentence."""

    error: Annotated[str, Field(description="The message, in one sentence.")]


class StatusResponse(Response):
    """The state of the server."""

    status: Annotated[
        Literal["alive", "ready"], Field(description="alive: the server works; ready: it accepts requests.")
    ]


class PredictResponse(Response):
    """A prediction for each source."""

    model: Annotated[str, Field(description="The name of the run that answered.")]
    outputs: Annotated[list[PredictionJson], Field(description="One prediction for each source, in order.")]


class MapResponse(Response):
    """The weights of one attention map."""

    name: Annotated[str, Field(description="The path of the attention inside the model.")]
    weights: Annotated[
        list[list[list[Probability]]], Field(description="By head, query and key; those of a query sum to 1.")
    ]
    queries: Annotated[str, Field(description="The side of the queries: source, target, inputs or memory_rows.")]
    keys: Annotated[str, Field(description="The side of the keys, such as source.")]


class TopTokenResponse(Response):
    """One of the likeliest tokens at a position."""

    id: Annotated[Index, Field(description="The id of the token.")]
    text: Annotated[str, Field(description="The token as text.")]
    confidence: Annotated[Probability, Field(description="The probability that the model gives it.")]


class BeamNodeResponse(Response):
    """A hypothesis of a beam: its parent with one more token."""

    parent: Annotated[Index | None, Field(description="The number of the parent in nodes; null for a first token.")]
    id: Annotated[Index, Field(description="The id of the last token.")]
    text: Annotated[str, Field(description="The last token as text.")]
    logprob: Annotated[Real, Field(description="The log-probability of the last token.")]
    total: Annotated[Real, Field(description="The sum of the log-probabilities of all tokens.")]
    kept: Annotated[bool, Field(description="Whether the beam kept the hypothesis.")]
    score: Annotated[Real | None, Field(description="The score of a finished output; null for others.")]


class BeamTreeResponse(Response):
    """All hypotheses that a beam compared, as a tree."""

    nodes: Annotated[list[BeamNodeResponse], Field(description="The hypotheses; a parent comes before its children.")]
    best: Annotated[Index | None, Field(description="The number of the node that ends the output; null if none does.")]


class ProbabilityDropResponse(Response):
    """The probability drop of the output without one word of the source, or without one region of an image."""

    start: Annotated[Index, Field(description="The first character of the word, or the number of the region.")]
    end: Annotated[Index, Field(description="The character behind the word, or the number of the region plus 1.")]
    drop: Annotated[
        Real, Field(description="The drop of the log-probability of a text, or of the probability of a label.")
    ]
    weight: Annotated[
        Probability | None, Field(description="Its share of the attention; null without cross-attention.")
    ]
    text: Annotated[str, Field(description="The part as text; empty for a region of an image.")]


class ExplainResponse(Response):
    """An output and the attention behind it; which of the optional fields are present depends on the run."""

    model: Annotated[str, Field(description="The name of the run that answered.")]
    source: Annotated[str, Field(description="The source; `image` for an image.")]
    target: Annotated[str, Field(description="The output: a text, or the chosen labels.")]
    score: Annotated[Real | None, Field(description="What the search ranks outputs by; null for a given target.")]
    finished: Annotated[bool, Field(description="False if the output was cut at its maximum length.")]
    ids: Annotated[list[Index], Field(description="The ids of the tokens, or of the labels.")]
    top_tokens: Annotated[
        list[list[TopTokenResponse]] | None, Field(description="The likeliest tokens at each position, if asked for.")
    ]
    history: Annotated[BeamTreeResponse | None, Field(description="The hypotheses of the beam, if asked for.")]
    drops: Annotated[list[ProbabilityDropResponse] | None, Field(description="The probability drops, if asked for.")]
    regions: Annotated[list[Index] | None, Field(description="Rows and columns of the regions of an image.")] = None
    agreement: Annotated[
        dict[str, JsonValue] | None, Field(description="Rank correlation of attention with probability drops.")
    ] = None
    run_agreement: Annotated[
        dict[str, JsonValue] | None, Field(description="The same for held-out inputs of the run: mean Kendall's tau.")
    ] = None
    source_tokens: Annotated[list[TokenJson] | None, Field(description="The tokens of the source.")] = None
    target_tokens: Annotated[
        list[TokenJson] | None, Field(description="The tokens of the output, the end token last.")
    ] = None
    maps: Annotated[list[MapResponse] | None, Field(description="The attention maps, in the order of their use.")] = (
        None
    )
    memory_rows: Annotated[list[TokenJson] | None, Field(description="The rows of a memory matrix that maps show.")] = (
        None
    )
    grid: Annotated[list[Index] | None, Field(description="Rows and columns of the cells of an image.")] = None
    image: Annotated[str | None, Field(description="The pixels that the model reads, as a data URL.")] = None
    label: Annotated[str | None, Field(description="The chosen labels.")] = None
    probabilities: Annotated[
        dict[str, Probability] | None, Field(description="The probability of each label, the likeliest first.")
    ] = None
    sentences: Annotated[
        list[dict[str, JsonValue]] | None, Field(description="The sentences of a document with their weights.")
    ] = None
    word_agreement: Annotated[dict[str, JsonValue] | None, Field(description="The rank correlation over words.")] = None
    sentence_agreement: Annotated[
        dict[str, JsonValue] | None, Field(description="The rank correlation over sentences.")
    ] = None


class ModelInfo(Response):
    """A run that is served, or why it cannot be used."""

    name: Annotated[str, Field(description="The name by which requests choose the run.")]
    error: Annotated[str | None, Field(description="Why it cannot be used; then the other fields are absent.")] = None
    loading: Annotated[bool | None, Field(description="True while it is still being loaded.")] = None
    preset: Annotated[str | None, Field(description="The preset that it was trained with.")] = None
    source: Annotated[Literal["text", "image", "document"] | None, Field(description="What it reads.")] = None
    writes: Annotated[Literal["text", "label"] | None, Field(description="What its outputs are.")] = None
    action: Annotated[Action | None, Field(description="What it does with a source, in a word for a button.")] = None
    attention: Annotated[bool | None, Field(description="Whether its outputs attend to the source.")] = None
    search: Annotated[str | Mapping[str, JsonValue] | None, Field(description="The search of its configuration.")] = (
        None
    )
    parameters: Annotated[Index | None, Field(description="The number of its weights.")] = None
    agreement: Annotated[
        dict[str, JsonValue] | None,
        Field(description="Whether its attention agrees with leave-one-out: mean Kendall's tau over held-out inputs."),
    ] = None


class OptionInfo(Response):
    """A decoding option, with what a form needs to show it."""

    name: Annotated[str, Field(description="The field of a request.")]
    title: Annotated[str, Field(description="Its label in a form.")]
    help: Annotated[str, Field(description="What it does.")]
    kind: Annotated[
        Literal["integer", "number", "boolean", "choice", "words", "dictionary"],
        Field(description="The type of its value."),
    ]
    searches: Annotated[list[str], Field(description="The kinds of search that it has an effect on.")]
    needs: Annotated[
        Literal["attention", "words", "nothing"],
        Field(description="What a run must have: attention to its source, or to words of a text; nothing: any run."),
    ]
    choices: Annotated[list[str], Field(description="The values of a choice; empty for other kinds.")]
    minimum: Annotated[Real | None, Field(description="The smallest value; null for none.")]
    maximum: Annotated[Real | None, Field(description="The largest value on this server; null for none.")]


class ModelsResponse(Response):
    """All runs, the default first, all decoding options, and the bounds of a request."""

    models: Annotated[list[ModelInfo], Field(description="The runs; the first is the default.")]
    options: Annotated[list[OptionInfo], Field(description="The decoding options.")]
    bounds: Annotated[dict[str, Real], Field(description="How much a request may ask for, by the name of the bound.")]


class HeldOutLineResponse(Response):
    """One input that a run was not trained on, and what it makes of it."""

    number: Annotated[Index, Field(description="The number of the input in its data, from 1.")]
    source: Annotated[str, Field(description="The text of the input, or the name of an image.")]
    output: Annotated[str, Field(description="The output of the run.")]
    references: Annotated[list[str], Field(description="The correct outputs.")]
    confidence: Annotated[
        Probability | None,
        Field(description="The probability of a label; of a text, the geometric mean over its tokens."),
    ]
    correct: Annotated[
        bool | None, Field(description="Whether the output is one of the references; null for several captions.")
    ]
    image: Annotated[str | None, Field(description="The pixels that the model reads, as a data URL, if kept.")]


class HeldOutResponse(Response):
    """Inputs that a run was not trained on, with its outputs, as the run folder keeps them."""

    model: Annotated[str, Field(description="The name of the run.")]
    data: Annotated[str, Field(description="The name of the data; empty if the run keeps no lines.")]
    count: Annotated[Index, Field(description="The number of inputs of the data, of which lines may be a part.")]
    lines: Annotated[list[HeldOutLineResponse], Field(description="The lines, in the order of the data.")]
