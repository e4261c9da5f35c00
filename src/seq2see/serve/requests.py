"""The bodies of requests, and the bounds of what one may ask for."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from seq2see.core.errors import Seq2SeeError
from seq2see.core.interventions import COLDEST
from seq2see.core.registry import complain, suggest
from seq2see.runs.prediction_json import AttentionForm
from seq2see.search.options import WHOLE, DecodeOptions, Word

# nothing unknown, nothing of another type, no infinities
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

Body = TypeVar("Body")


class RequestError(Seq2SeeError):
    """A request that is answered with an error: a sentence and an HTTP status.

    422: it is not as the OpenAPI document says. 409: it is, but contradicts itself, or the run cannot do it.
    """

    def __init__(self, message: str, *, status: int = 422, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})


@dataclass(frozen=True)
class Bounds:
    """How much one request may ask for, and all of them together."""

    body: int = 12_000_000  # bytes of a request
    text: int = 5_000  # characters of a text
    texts: int = 64  # texts of a request
    beam: int = 16  # hypotheses of a text, and outputs that are returned
    samples: int = 64  # pseudo-references of minimum Bayes risk decoding
    length: int = 1_000  # tokens of an output, where the request says so
    pixels: int = 40_000_000  # of an image
    weights: int = 4_000_000  # attention weights of a reply
    seconds: float = 30.0  # that a request may take, with its time in the queue
    queue: int = 512  # texts that wait

    @property
    def options(self) -> dict[str, int]:
        """The largest value of each decoding option that a request may not choose freely."""
        return {
            "beam": self.beam,
            "n_best": self.beam,
            "mbr_samples": self.samples,
            "max_length": self.length,
            "min_length": self.length - 1,
        }


@checked(frozen=True, kw_only=True, config=STRICT)
class PredictRequest(DecodeOptions):
    """A body of /v1/predict: one source, or several texts, and decoding options."""

    model: Annotated[Word | None, Field(description="The name of a run; if none is given, the first.")] = None
    text: Annotated[str | None, Field(description="A text to read.")] = None
    texts: Annotated[tuple[str, ...] | None, Field(description="Several texts.")] = None
    document: Annotated[
        str | tuple[str, ...] | None, Field(description="A document, as one text or as a list of its sentences.")
    ] = None
    image: Annotated[str | None, Field(description="An image, in base64.")] = None
    prefix: Annotated[
        str | tuple[str, ...] | None, Field(description="What outputs begin with: one for all texts, or one for each.")
    ] = None
    prefix_ids: Annotated[
        tuple[Annotated[int, Field(ge=0, lt=2**31), WHOLE], ...] | None,
        Field(description="The same for one source, as ids of tokens."),
    ] = None
    attention: Annotated[
        AttentionForm, Field(description="Attention weights in the reply: words, for each pair of words; full, all.")
    ] = "none"

    @property
    def options(self) -> DecodeOptions:
        """The decoding options alone."""
        return DecodeOptions(**{field.name: getattr(self, field.name) for field in fields(DecodeOptions)})

    def check(self, bounds: Bounds) -> None:
        """Refuse what asks for too much."""
        for name, most in bounds.options.items():
            value = getattr(self, name)
            if value is not None and value > most:
                raise RequestError(f"{name} must be at most {most} here; got {value:.6g}.")

    def check_labels(self) -> None:
        """Refuse what means nothing to a run that chooses labels; of them it lists as many as n_best says."""
        given = [name for name in self.options.given() if name != "n_best"]
        given += [name for name in ("prefix", "prefix_ids") if getattr(self, name)]
        if given:
            raise RequestError(
                f"this run chooses labels and writes nothing; without effect: {', '.join(given)}; leave that out.",
                status=409,
            )


@checked(frozen=True, kw_only=True, config=STRICT)
class InterventionRequest:
    """A change to one attention map while the model works; without heads, to all of them."""

    map: Word
    heads: tuple[Annotated[int, Field(ge=1), WHOLE], ...] | None = None
    weights: Literal["own", "none", "uniform"] = "own"
    temperature: Annotated[float, Field(ge=COLDEST, le=1000)] = 1.0

    @property
    def changes_anything(self) -> bool:
        """Whether the map differs from the model's own."""
        return (self.weights, self.temperature) != ("own", 1.0)


@checked(frozen=True, kw_only=True, config=STRICT)
class ExplainRequest(PredictRequest):
    """A body of /v1/explain: one source, and perhaps the output to explain instead of the one that is found."""

    target: Annotated[str | None, Field(description="An output to explain instead of the one that is found.")] = None
    interventions: Annotated[
        tuple[InterventionRequest, ...], Field(max_length=200, description="Changes to attention maps of the model.")
    ] = ()
    top_tokens: Annotated[
        int, Field(ge=0, le=50, description="Likeliest tokens to list for each position of the output."), WHOLE
    ] = 0
    history: Annotated[bool, Field(description="Add every hypothesis that a beam compared, as a tree.")] = False
    leave_one_out: Annotated[
        bool, Field(description="Add the probability drop of the output when each word or region is left out.")
    ] = False


@checked(frozen=True, kw_only=True, config=STRICT)
class PageRequest:
    """A body of /v1/page: what is explained, side by side."""

    views: Annotated[tuple[ExplainRequest, ...], Field(min_length=1, max_length=4)]


def read_body(shape: type[Body], body: bytes) -> Body:
    """A body as what it must be; what is wrong is one sentence."""
    try:
        return TypeAdapter(shape).validate_json(body)
    except ValidationError as error:
        raise RequestError(_explain(shape, error)) from None


def _explain(shape: type[Body], error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"the body must be JSON; got something else ({first['ctx']['error']})."
    place = [str(step) for step in first["loc"]]
    if first["type"] == "unexpected_keyword_argument":
        known = list(getattr(shape, "__dataclass_fields__", ())) if len(place) == 1 else []
        return f"there is no field {place[-1][:80]!r} here{suggest(place[-1], known) or '.'}"
    if not place:
        return f"the body must be a JSON object; got {type(first['input']).__name__}."
    return complain(".".join(place), first)
