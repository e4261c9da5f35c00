"""What may be asked of the server, and within which bounds."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any, Literal, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from seq2see.core.change import COLDEST
from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import complain, part, suggest
from seq2see.run import Decoding, Run
from seq2see.search.choose import choose_search


def _round(number: Any) -> Any:
    """JSON knows one kind of number: 9.0 is as whole as 9."""
    return int(number) if isinstance(number, float) and number.is_integer() else number


Word = Annotated[str, Field(max_length=200)]
WHOLE = BeforeValidator(_round)  # stands behind a Field, or OpenAPI does not get to know its bounds


class RefusalError(Seq2SeeError):
    """A request that gets no answer but a sentence, with a status that says whose fault that is.

    422: it is not as the OpenAPI document says. 409: it is, but contradicts itself, or what this run can do.
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
    beam: int = 16  # hypotheses of a text, also those that are returned
    witnesses: int = 64  # further ones that only vote
    length: int = 1_000  # tokens of an output, where the request says so
    pixels: int = 40_000_000  # of a picture
    weights: int = 4_000_000  # attention weights of an answer
    seconds: float = 30.0  # that a request may take, the waiting included
    queue: int = 512  # texts that wait


class Shape(BaseModel):
    """Base of all that is sent: nothing unknown, nothing of another type, no infinities."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


class Sampling(Shape):
    """Draw tokens instead of taking the likeliest; the same seed draws the same."""

    temperature: Annotated[float, Field(ge=COLDEST, le=100)] = 1.0
    top_k: Annotated[int, Field(ge=0, le=1_000_000), WHOLE] = 0
    top_p: Annotated[float, Field(gt=0, le=1)] = 1.0
    seed: Annotated[int, Field(ge=0, lt=2**40), WHOLE] = 0


class Options(Shape):
    """How outputs are found; what is left out is as the run is configured."""

    beam: Annotated[int, Field(ge=1), WHOLE] | None = None
    n_best: Annotated[int, Field(ge=1), WHOLE] = 1
    length_penalty: Annotated[float, Field(ge=0, le=100)] | None = None
    length_form: Literal["power", "gnmt"] | None = None
    coverage_penalty: Annotated[float, Field(ge=0, le=100)] | None = None
    consensus: Annotated[float, Field(ge=0, le=100)] | None = None
    witnesses: Annotated[int, Field(ge=0), WHOLE] | None = None
    precision: Annotated[float, Field(ge=0, le=1)] | None = None
    min_length: Annotated[int, Field(ge=0), WHOLE] | None = None
    max_length: Annotated[int, Field(ge=1), WHOLE] | None = None
    no_repeat: Annotated[int, Field(ge=0, le=1000), WHOLE] | None = None
    ban: Annotated[tuple[Word, ...], Field(max_length=100)] = ()
    sample: Sampling | None = None
    replace_unknown: bool = False

    def decide(self, run: Run) -> Decoding:
        """The same as a search with its rules."""
        rules = self._given("min_length", "max_length", "no_repeat") | ({"ban": self.ban} if self.ban else {})
        penalties = self._given(
            "length_penalty", "length_form", "coverage_penalty", "consensus", "witnesses", "precision"
        )
        if self.sample is None:
            search = choose_search(run.config.search, beam=self.beam, n_best=self.n_best, options=penalties)
        elif self.beam is not None or penalties:
            raise RefusalError("sample goes without a beam and its penalties; leave one of them out.", status=409)
        else:
            search = part("search", {"kind": "sample", "n_best": self.n_best, **self.sample.model_dump()})()
        return Decoding(search, replace(run.rules, **rules), self.replace_unknown)

    def check(self, bounds: Bounds) -> None:
        """Refuse what asks for too much."""
        most_of = {
            "beam": bounds.beam,
            "n_best": bounds.beam,
            "witnesses": bounds.witnesses,
            "max_length": bounds.length,
        }
        for name, most in most_of.items():
            value = getattr(self, name)
            if value is not None and value > most:
                raise RefusalError(f"{name} must be at most {most} here; got {value:.6g}.")
        if self.min_length is not None and self.min_length >= bounds.length:
            raise RefusalError(f"min_length must be below {bounds.length} here; got {self.min_length:.6g}.")

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}


class Question(Options):
    """A body of /v1/predict: one source, or several texts, and how outputs are found."""

    model: Word | None = None
    text: str | None = None
    texts: tuple[str, ...] | None = None
    document: str | tuple[str, ...] | None = None  # as one text, or as its sentences
    image: str | None = None  # base64
    prefix: str | tuple[str, ...] | None = None
    prefix_ids: tuple[Annotated[int, Field(ge=0, lt=2**31), WHOLE], ...] | None = None
    attention: Literal["none", "words", "full"] = "none"

    @property
    def options(self) -> Options:
        """What must be the same for texts that are decoded together."""
        return Options(**{name: getattr(self, name) for name in Options.model_fields})

    def check_labels(self) -> None:
        """Refuse what means nothing to a run that chooses labels; of them it gives as many as n_best says."""
        names = [name for name in (*Options.model_fields, "prefix", "prefix_ids") if name != "n_best"]
        given = [name for name in names if getattr(self, name)]
        if given:
            raise RefusalError(
                f"this run chooses labels and writes nothing; without effect: {', '.join(given)}; leave that out.",
                status=409,
            )


class Change(Shape):
    """What is done to one attention of the model while it works; without heads, to all of them."""

    map: Word
    heads: tuple[Annotated[int, Field(ge=1), WHOLE], ...] | None = None
    weights: Literal["own", "none", "uniform"] = "own"
    temperature: Annotated[float, Field(ge=COLDEST, le=1000)] = 1.0


class Explanation(Question):
    """A body of /v1/explain: one source, and perhaps the output to explain instead of the one that is found."""

    target: str | None = None
    changes: Annotated[tuple[Change, ...], Field(max_length=200)] = ()
    choices: Annotated[int, Field(ge=0, le=50), WHOLE] = 0  # likeliest tokens to list for each place of the output
    history: bool = False  # whether to tell what a beam looked at
    leave_out: bool = False  # whether to tell how much less likely the output is without each word of the source

    @property
    def changed(self) -> tuple[Change, ...]:
        """The changes that change anything."""
        return tuple(one for one in self.changes if (one.weights, one.temperature) != ("own", 1.0))


T = TypeVar("T", bound=Shape)


class Page(Shape):
    """A body of /v1/page: what is explained, side by side."""

    views: Annotated[tuple[Explanation, ...], Field(min_length=1, max_length=4)]


def read_body(shape: type[T], body: bytes) -> T:
    """A body as what it must be, or a sentence."""
    try:
        return shape.model_validate_json(body)
    except ValidationError as error:
        raise RefusalError(_say(shape, error)) from None


def _say(shape: type[Shape], error: ValidationError) -> str:
    first = error.errors()[0]
    if first["type"] == "json_invalid":
        return f"the body must be JSON; got something else ({first['ctx']['error']})."
    place = [str(step) for step in first["loc"]]
    if first["type"] == "extra_forbidden":
        known = [name for name in shape.model_fields if len(place) == 1]
        return f"there is no field {place[-1][:80]!r} here{suggest(place[-1], known) or '.'}"
    if not place:
        return f"the body must be a JSON object; got {type(first['input']).__name__}."
    return complain(".".join(place), first)
