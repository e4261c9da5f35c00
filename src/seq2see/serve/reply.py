"""What the server answers, as shapes for its OpenAPI document; answers are built as plain dictionaries."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Share = Annotated[float, Field(ge=0, le=1.0001)]  # a probability, with the last bits of a sum of floats


class Reply(BaseModel):
    """Base of all answers: nothing in them that is not said here."""

    model_config = ConfigDict(extra="forbid")


class Refused(Reply):
    """Whatever goes wrong, in one sentence."""

    error: str


class Status(Reply):
    """How the server is."""

    status: Literal["alive", "ready"]


class Piece(Reply):
    """A token: its text and where it stands in the raw text."""

    text: str
    start: int
    end: int
    confidence: Share | None


class Output(Reply):
    """An output of the model."""

    source: str | None
    text: str
    score: float
    finished: bool
    tokens: list[Piece]
    ids: list[int]
    alternatives: list["Output"]
    probabilities: dict[str, Share] | None = None  # of labels
    attention: dict[str, Any] | None = None


class Answer(Reply):
    """An output for each source."""

    model: str
    outputs: list[Output]


class Map(Reply):
    """The weights of one attention: for each head, query and key."""

    name: str
    weights: list[list[list[float]]]
    queries: str
    keys: str


class Choice(Reply):
    """A token that might have stood somewhere."""

    id: int
    text: str
    confidence: Share


class Node(Reply):
    """A hypothesis of a beam, as one token behind its parent."""

    parent: int | None
    id: int
    text: str
    logprob: float
    total: float
    kept: bool
    score: float | None


class Tree(Reply):
    """All that a beam looked at."""

    nodes: list[Node]
    best: int | None


class Fall(Reply):
    """A word of the source, or a region of a picture by its number: what becomes of the output without it."""

    start: int
    end: int
    fall: float
    weight: Share | None


class Explained(Reply):
    """An output, and what the model looked at; which of the later fields there are depends on the run."""

    model: str
    source: str
    target: str
    score: float | None
    finished: bool
    ids: list[int]
    choices: list[list[Choice]] | None
    history: Tree | None
    falls: list[Fall] | None
    regions: list[int] | None = None  # rows and columns of the regions of a picture
    agreement: dict[str, Any] | None = None  # of attention with what leaving out does
    source_tokens: list[Piece] | None = None
    target_tokens: list[Piece] | None = None
    maps: list[Map] | None = None
    rows: list[Piece] | None = None
    grid: list[int] | None = None
    picture: str | None = None
    label: str | None = None
    probabilities: dict[str, Share] | None = None
    sentences: list[dict[str, Any]] | None = None
    word_agreement: dict[str, Any] | None = None
    sentence_agreement: dict[str, Any] | None = None


class Model(Reply):
    """A run that is served, or why it cannot be used."""

    name: str
    error: str | None = None
    preset: str | None = None
    source: Literal["text", "image", "document"] | None = None
    writes: Literal["text", "label"] | None = None
    search: str | dict[str, Any] | None = None
    parameters: int | None = None


class Models(Reply):
    """All runs, the first being asked by default, and what one request may ask for."""

    models: list[Model]
    bounds: dict[str, float]
