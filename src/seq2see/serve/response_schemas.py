"""The schemas of responses, for the OpenAPI document; a prediction has the form of `runs/prediction_json.py`."""

from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, JsonValue

from seq2see.runs.prediction_json import PredictionJson, Probability, TokenJson


class Response(BaseModel):
    """Base of all responses: nothing in them that is not declared here."""

    model_config = ConfigDict(extra="forbid")


class ErrorResponse(Response):
    """Whatever goes wrong, in one sentence."""

    error: str


class StatusResponse(Response):
    """The state of the server."""

    status: Literal["alive", "ready"]


class PredictResponse(Response):
    """A prediction for each source."""

    model: str
    outputs: list[PredictionJson]


class MapResponse(Response):
    """The weights of one attention map: for each head, query and key."""

    name: str
    weights: list[list[list[float]]]
    queries: str
    keys: str


class TopTokenResponse(Response):
    """One of the likeliest tokens at a position."""

    id: int
    text: str
    confidence: Probability


class BeamNodeResponse(Response):
    """A hypothesis of a beam, as one token behind its parent."""

    parent: int | None
    id: int
    text: str
    logprob: float
    total: float
    kept: bool
    score: float | None


class BeamTreeResponse(Response):
    """All hypotheses that a beam compared."""

    nodes: list[BeamNodeResponse]
    best: int | None


class ProbabilityDropResponse(Response):
    """A word of the source, or a region of an image by its number: the probability drop of the output without it."""

    start: int
    end: int
    drop: float
    weight: Probability | None


class ExplainResponse(Response):
    """An output and the attention behind it; which of the later fields there are depends on the run."""

    model: str
    source: str
    target: str
    score: float | None
    finished: bool
    ids: list[int]
    top_tokens: list[list[TopTokenResponse]] | None
    history: BeamTreeResponse | None
    drops: list[ProbabilityDropResponse] | None
    regions: list[int] | None = None  # rows and columns of the regions of an image
    agreement: dict[str, JsonValue] | None = None  # of attention with the probability drops
    source_tokens: list[TokenJson] | None = None
    target_tokens: list[TokenJson] | None = None
    maps: list[MapResponse] | None = None
    memory_rows: list[TokenJson] | None = None
    grid: list[int] | None = None
    image: str | None = None
    label: str | None = None
    probabilities: dict[str, Probability] | None = None
    sentences: list[dict[str, JsonValue]] | None = None
    word_agreement: dict[str, JsonValue] | None = None
    sentence_agreement: dict[str, JsonValue] | None = None


class ModelInfo(Response):
    """A run that is served, or why it cannot be used."""

    name: str
    error: str | None = None
    preset: str | None = None
    source: Literal["text", "image", "document"] | None = None
    writes: Literal["text", "label"] | None = None
    search: str | Mapping[str, JsonValue] | None = None
    parameters: int | None = None


class OptionInfo(Response):
    """A decoding option, as a form needs it."""

    name: str
    title: str
    help: str
    kind: Literal["integer", "number", "boolean", "choice", "words", "dictionary"]
    searches: list[str]  # the kinds of search that take it
    choices: list[str]
    minimum: float | None
    maximum: float | None


class ModelsResponse(Response):
    """All runs, the first of which is the default, the decoding options, and the bounds of a request."""

    models: list[ModelInfo]
    options: list[OptionInfo]
    bounds: dict[str, float]
