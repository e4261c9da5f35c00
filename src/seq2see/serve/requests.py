"""The bodies of requests, and the bounds of what a request may ask for."""

from dataclasses import fields
from typing import Annotated, Literal, TypeVar

from pydantic import ConfigDict, Field, TypeAdapter, ValidationError
from pydantic.dataclasses import dataclass as checked

from seq2see.core.interventions import COLDEST
from seq2see.core.registry import complain, shorten, suggest
from seq2see.runs.prediction_json import AttentionForm
from seq2see.search.options import WHOLE, DecodeOptions, Word
from seq2see.serve.body_checks import check_names, check_size
from seq2see.serve.bounds import Bounds
from seq2see.serve.request_error import RequestError

# no unknown fields, no conversions between types, no infinities
STRICT = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False)

Body = TypeVar("Body")


@checked(frozen=True, kw_only=True, config=STRICT)
class PredictRequest(DecodeOptions):
    """The body of /v1/predict: one source, or several texts, and decoding options."""

    model: Annotated[Word | None, Field(description="The name of a run; null: the first.")] = None
    text: Annotated[str | None, Field(description="A text to read.")] = None
    texts: Annotated[tuple[str, ...] | None, Field(description="Several texts.")] = None
    document: Annotated[
        str | tuple[str, ...] | None, Field(description="A document, as one text or as a list of its sentences.")
    ] = None
    image: Annotated[str | None, Field(description="An image, in base64.")] = None
    prefix: Annotated[
        str | tuple[str, ...] | None,
        Field(description="What outputs begin with: one prefix for all texts, or one for each."),
    ] = None
    prefix_ids: Annotated[
        tuple[Annotated[int, Field(ge=0, lt=2**31), WHOLE], ...] | None,
        Field(description="What the output of one source begins with, as ids of tokens; not with prefix."),
    ] = None
    attention: Annotated[
        AttentionForm,
        Field(description="Attention weights in the response. words: one for each pair of words; full: every map."),
    ] = "none"

    @property
    def options(self) -> DecodeOptions:
        """Return the decoding options alone."""
        return DecodeOptions(**{field.name: getattr(self, field.name) for field in fields(DecodeOptions)})

    def check(self, bounds: Bounds) -> None:
        """Refuse decoding options beyond the bounds.

        Args:
            bounds: how much a request may ask for.

        Raises:
            RequestError: an option is too large.
        """
        for name, most in bounds.options.items():
            value = getattr(self, name)
            if value is not None and value > most:
                raise RequestError(f"{name} must be at most {most} here; got {shorten(value)}.")

    def check_labels(self) -> None:
        """Refuse what has no effect on a run that chooses labels: prefixes, and all decoding options but n_best.

        Raises:
            RequestError: such an option is given.
        """
        given = [name for name in self.options.given() if name != "n_best"]
        given += [name for name in ("prefix", "prefix_ids") if getattr(self, name)]
        if given:
            raise RequestError(
                f"this run chooses labels and writes nothing; without effect: {', '.join(given)}; leave that out.",
                status=409,
            )


@checked(frozen=True, kw_only=True, config=STRICT)
class InterventionRequest:
    """A change to one attention map while the model computes its output."""

    map: Annotated[Word, Field(description="The name of the map, as maps in a response are named.")]
    heads: Annotated[
        Annotated[tuple[Annotated[int, Field(ge=1, le=10_000), WHOLE], ...], Field(max_length=10_000)] | None,
        Field(description="The numbers of the heads to change, from 1; null: all heads."),
    ] = None
    weights: Annotated[
        Literal["own", "none", "uniform"],
        Field(description="own: the weights of the model; none: all weights are 0; uniform: all are equal."),
    ] = "own"
    temperature: Annotated[
        float, Field(ge=COLDEST, le=1000, description="Divides the scores of the map; below 1, weights are sharper.")
    ] = 1.0

    @property
    def changes_anything(self) -> bool:
        """Tell whether the change has any effect."""
        return (self.weights, self.temperature) != ("own", 1.0)


@checked(frozen=True, kw_only=True, config=STRICT)
class ExplainRequest(PredictRequest):
    """The body of /v1/explain: one source, decoding options, and what to explain."""

    target: Annotated[
        str | None, Field(description="An output to explain instead of the one that the model finds.")
    ] = None
    interventions: Annotated[
        tuple[InterventionRequest, ...], Field(max_length=200, description="Changes to attention maps of the model.")
    ] = ()
    top_tokens: Annotated[
        int, Field(ge=0, le=50, description="Likeliest tokens to list for each position of the output."), WHOLE
    ] = 0
    history: Annotated[bool, Field(description="Add every hypothesis that a beam compared, as a tree.")] = False
    leave_one_out: Annotated[
        bool | None,
        Field(
            description="Add the probability drop of the output when each word or region is left out; null does so if "
            "the attention of the run hardly agrees with these drops, and the source is not too long."
        ),
    ] = None


@checked(frozen=True, kw_only=True, config=STRICT)
class PageRequest:
    """The body of /v1/page: what to explain side by side."""

    views: Annotated[
        tuple[ExplainRequest, ...], Field(min_length=1, max_length=4, description="Requests as for /v1/explain.")
    ]


def read_body(shape: type[Body], body: bytes, bounds: Bounds) -> Body:
    """Parse a JSON body and check its fields.

    Args:
        shape: the class of the body, such as `PredictRequest`.
        body: the bytes of the body, UTF-8.
        bounds: the most values that it may have.

    Raises:
        RequestError: the body has too many values, is not JSON, or is not of this shape; its sentence says what is
            wrong first.
    """
    check_size(body, bounds)
    try:
        found = TypeAdapter(shape).validate_json(body)
    except ValidationError as error:
        raise RequestError(_explain(shape, error)) from None
    check_names(body)
    return found


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
