"""Every decoding option, declared once: its name, type, bounds, default and help text.

The options of the command line, the fields of an HTTP request, the keywords of `Run.predict`, the form of the page and
the table of the guide are made from `DecodeOptions`. To add an option, add a field to `DecodeOptions` and its keyword
to `DecodeKeywords`, and use it in the search or rule that it is for. This file must import neither torch nor pydantic,
because the command line reads it for `--help`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypedDict, get_args, get_origin, get_type_hints

from annotated_types import Ge, Gt, Le, Lt, MaxLen

from seq2see.core.errors import SearchError

if TYPE_CHECKING:
    from pydantic import GetJsonSchemaHandler
    from pydantic_core import CoreSchema

    JsonSchema = dict[str, object]

Use = Literal["search", "beam", "mbr", "sample", "rules", "output"]  # what an option is for; search: any of them


class Whole:
    """Accepts 9.0 where 9 is meant, because JSON has one type of number."""

    def __get_pydantic_core_schema__(self, source: object, handler: "Callable[[object], CoreSchema]") -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_round, handler(source))


def _round(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


WHOLE = Whole()  # stands behind the bounds, or they would be missing in JSON schemas
Count = Annotated[int, Ge(1), WHOLE]
BeamWidth = Annotated[int, Ge(1), WHOLE]
LengthPenalty = Annotated[float, Ge(0), Le(100)]
LengthForm = Literal["power", "gnmt"]
CoveragePenalty = Annotated[float, Ge(0), Le(100)]
MbrPower = Annotated[float, Ge(0), Le(100)]
MbrSamples = Annotated[int, Ge(0), WHOLE]
MbrPrecision = Annotated[float, Ge(0), Le(1)]
Temperature = Annotated[float, Ge(1e-6), Le(100)]  # below, logits divided by it leave the range of floats
TopK = Annotated[int, Ge(0), Le(1_000_000), WHOLE]
TopP = Annotated[float, Gt(0), Le(1)]
Seed = Annotated[int, Ge(0), Lt(2**40), WHOLE]
MinTokens = Annotated[int, Ge(0), WHOLE]
MaxTokens = Annotated[int, Ge(1), WHOLE]
NgramSize = Annotated[int, Ge(0), Le(1000), WHOLE]
Word = Annotated[str, MaxLen(200)]


@dataclass(frozen=True)
class Option:
    """What people read about an option, and which constructor it goes to.

    Args:
        title: its label in the form of the page.
        help: one sentence or two, for every surface.
        use: the search that takes it, or the rules, or what is done to an output.
        parameter: its name there, if that is not the name of the field.
    """

    title: str
    help: str
    use: Use
    parameter: str = ""

    def __get_pydantic_json_schema__(self, schema: "CoreSchema", handler: "GetJsonSchemaHandler") -> "JsonSchema":
        return {**handler(schema), "title": self.title, "description": self.help}


@dataclass(frozen=True, kw_only=True)
class DecodeOptions:
    """How outputs are found; what is None or empty stays as the run is configured."""

    __pydantic_config__: ClassVar[dict[str, object]] = {"strict": True, "extra": "forbid", "allow_inf_nan": False}

    beam: Annotated[
        BeamWidth | None, Option("Beam width", "Width of the beam; 1 is greedy search.", "beam", "width")
    ] = None
    n_best: Annotated[
        Count | None, Option("Outputs", "Outputs for each input, best first; at most the width of the beam.", "search")
    ] = None
    length_penalty: Annotated[
        LengthPenalty | None,
        Option(
            "Length penalty",
            "Rank by log-probability / length ** this; 0: short outputs win, 1: by the mean. For a beam.",
            "beam",
        ),
    ] = None
    length_form: Annotated[
        LengthForm | None,
        Option(
            "Length form",
            "How the length counts; gnmt: divide by ((5 + length) / 6) ** length penalty (Wu et al. 2016). For a beam.",
            "beam",
        ),
    ] = None
    coverage_penalty: Annotated[
        CoveragePenalty | None,
        Option(
            "Coverage penalty",
            "Prefer outputs that attend to all of the source (Wu et al. 2016, eq. 14); try 0.2. For a beam.",
            "beam",
        ),
    ] = None
    mbr_power: Annotated[
        MbrPower | None,
        Option(
            "MBR power",
            "Minimum Bayes risk decoding: return the output of the beam that shares most n-grams with all of them, "
            "each weighted by exp(score) ** this; try 1.5; 0: no MBR.",
            "mbr",
            "power",
        ),
    ] = None
    mbr_samples: Annotated[
        MbrSamples | None,
        Option(
            "MBR samples",
            "Outputs drawn at random as further pseudo-references of MBR, with two thirds of the weight; try 40.",
            "mbr",
            "samples",
        ),
    ] = None
    mbr_precision: Annotated[
        MbrPrecision | None,
        Option(
            "MBR precision",
            "Weight of precision, not recall, in the F-measure of MBR; 1: say nothing that the others do not say.",
            "mbr",
            "precision",
        ),
    ] = None
    temperature: Annotated[
        Temperature | None,
        Option("Temperature", "Sample instead of searching; below 1, likely tokens come more often.", "sample"),
    ] = None
    top_k: Annotated[TopK | None, Option("Top k", "Sample from so many likeliest tokens; 0: from all.", "sample")] = (
        None
    )
    top_p: Annotated[
        TopP | None,
        Option("Top p", "Sample from the likeliest tokens that have this much probability together.", "sample"),
    ] = None
    seed: Annotated[Seed | None, Option("Seed", "Sample with this seed; the same seed draws the same.", "sample")] = (
        None
    )
    min_length: Annotated[MinTokens | None, Option("Minimum length", "Tokens before an output may end.", "rules")] = (
        None
    )
    max_length: Annotated[
        MaxTokens | None,
        Option(
            "Maximum length",
            "Tokens of the longest output, its end included; else in proportion to the source.",
            "rules",
        ),
    ] = None
    no_repeat: Annotated[
        NgramSize | None, Option("No repeated n-gram", "No n-gram of so many tokens comes twice; try 3.", "rules")
    ] = None
    ban: Annotated[
        Annotated[tuple[Word, ...], MaxLen(100)],
        Option(
            "Banned words",
            "A word that must not be written, however it is cut into tokens; may be given several times.",
            "rules",
        ),
    ] = ()
    replace_unknown: Annotated[
        bool,
        Option(
            "Replace unknown words",
            "Let the model write unknown words, and put there the source word it attends to most.",
            "output",
        ),
    ] = False
    dictionary: Annotated[
        Annotated[Mapping[Word, Word], MaxLen(10_000)] | None,
        Option(
            "Dictionary", "Target words by source word, to replace unknown words with; for replace_unknown.", "output"
        ),
    ] = None

    def __post_init__(self) -> None:
        if self.dictionary is not None and not self.replace_unknown:
            raise SearchError("dictionary goes with replace_unknown; add it.")

    def given(self, *uses: Use) -> dict[str, object]:
        """The options for these uses that are not left as configured, by their field name."""
        values = {each.name: getattr(self, each.name) for each in OPTIONS if not uses or each.use in uses}
        # 0 is given, although it equals False
        return {name: value for name, value in values.items() if value not in (None, ()) and value is not False}

    def arguments(self, use: Use) -> dict[str, object]:
        """The same for one use, by the name of its constructor's parameter."""
        given = self.given(use)
        return {each.parameter: given[each.name] for each in OPTIONS if each.name in given}


class DecodeKeywords(TypedDict, total=False):
    """The fields of `DecodeOptions` as keywords of `Run.predict`."""

    beam: int | None
    n_best: int | None
    length_penalty: float | None
    length_form: LengthForm | None
    coverage_penalty: float | None
    mbr_power: float | None
    mbr_samples: int | None
    mbr_precision: float | None
    temperature: float | None
    top_k: int | None
    top_p: float | None
    seed: int | None
    min_length: int | None
    max_length: int | None
    no_repeat: int | None
    ban: tuple[str, ...] | list[str]
    replace_unknown: bool
    dictionary: Mapping[str, str] | None


@dataclass(frozen=True)
class OptionDescription:
    """A field of `DecodeOptions` in plain values, for the surfaces that are made from it."""

    name: str
    parameter: str  # its name in the constructor of the search or of the rules
    title: str
    help: str
    use: Use
    kind: Literal["integer", "number", "boolean", "choice", "words", "dictionary"]
    annotation: object  # its type, without bounds and help
    choices: tuple[str, ...] = ()
    minimum: int | float | None = None
    above: int | float | None = None  # an exclusive minimum
    maximum: int | float | None = None
    below: int | float | None = None  # an exclusive maximum


KINDS: dict[object, Literal["integer", "number", "boolean", "words", "dictionary"]] = {
    int: "integer",
    float: "number",
    bool: "boolean",
    tuple: "words",
    Mapping: "dictionary",
}
BOUNDS = {Ge: ("minimum", "ge"), Gt: ("above", "gt"), Le: ("maximum", "le"), Lt: ("below", "lt")}


def describe_options() -> list[OptionDescription]:
    """All fields of `DecodeOptions`, in their order."""
    hints = get_type_hints(DecodeOptions, include_extras=True)
    return [_describe(field.name, hints[field.name]) for field in fields(DecodeOptions)]


def _describe(name: str, hint: object) -> OptionDescription:
    whole, *metadata = get_args(hint)
    [option] = [each for each in metadata if isinstance(each, Option)]
    optional = type(None) in get_args(whole)
    [inner] = [each for each in get_args(whole) if each is not type(None)] if optional else [whole]
    base, *constraints = get_args(inner) if get_origin(inner) is Annotated else (inner, *metadata)
    bounds = {
        BOUNDS[type(each)][0]: getattr(each, BOUNDS[type(each)][1]) for each in constraints if type(each) in BOUNDS
    }
    about = (name, option.parameter or name, option.title, option.help, option.use)
    if get_origin(base) is Literal:
        return OptionDescription(*about, "choice", whole, choices=get_args(base))
    return OptionDescription(*about, KINDS[get_origin(base) or base], whole, **bounds)


OPTIONS = describe_options()
