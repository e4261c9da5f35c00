"""Every decoding option, declared once: its name, type, bounds, default and help text.

The options of the command line, the fields of an HTTP request, the keywords of `Run.predict`, the form of the page and
the table of the guide are made from `DecodeOptions`. To add an option, add a field to `DecodeOptions` and its keyword
to `DecodeKeywords`, and use it in the search or rule that it is for. This file must import neither torch nor pydantic,
because the command line reads it for `--help`.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, TypedDict

from annotated_types import Ge, Gt, Le, Lt, MaxLen

from seq2see.core.errors import SearchError
from seq2see.search.option_description import Option, Use, describe_options

if TYPE_CHECKING:
    from pydantic_core import CoreSchema


class Whole:
    """Accepts 9.0 where 9 is meant, because JSON has one type of number."""

    def __get_pydantic_core_schema__(self, source: object, handler: "Callable[[object], CoreSchema]") -> "CoreSchema":
        from pydantic_core import core_schema

        return core_schema.no_info_before_validator_function(_round, handler(source))


def _round(number: object) -> object:
    return int(number) if isinstance(number, float) and number.is_integer() else number


WHOLE = Whole()  # must come after the bounds, or they would be missing in JSON schemas
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


@dataclass(frozen=True, kw_only=True)
class DecodeOptions:
    """Says how outputs are found; what is None or empty stays as the run is configured.

    Args:
        beam: width of the beam; 1 is greedy search.
        n_best: outputs for each input, best first; at most the width of a beam.
        length_penalty: a of log-probability / length ** a, which a beam ranks by; 0 ranks by log-probability alone.
        length_form: how the length counts: `power` as it is, `gnmt` as (5 + length) / 6.
        coverage_penalty: factor of the coverage term of a beam's score; 0 for none.
        mbr_power: exponent of a candidate's weight exp(score) in minimum Bayes risk decoding; 0 turns that off.
        mbr_samples: outputs drawn at random as further pseudo-references of MBR; 0 for none.
        mbr_precision: weight of precision, 0 to 1, in the F-measure of MBR; recall has the rest.
        temperature: divides the logits before sampling; above 0.
        top_k: sample from so many likeliest tokens; 0 for all.
        top_p: sample from the likeliest tokens that have this probability together; above 0, and 1 for all.
        seed: seed of the random streams of sampling.
        min_length: tokens before the end token may come; 0 for no minimum.
        max_length: tokens of the longest output, the end token included.
        no_repeat: size in tokens of the n-grams that must not come twice; 0 if any may.
        ban: words that must not be written, however they are cut into tokens.
        replace_unknown: replace each unknown token by the source word it attends to most.
        dictionary: target words by source word, to replace unknown tokens with; needs `replace_unknown`.
    """

    __pydantic_config__: ClassVar[dict[str, object]] = {"strict": True, "extra": "forbid", "allow_inf_nan": False}

    beam: Annotated[
        BeamWidth | None, Option("Beam width", "Width of the beam; 1 is greedy search.", "beam", "width")
    ] = None
    n_best: Annotated[
        Count | None, Option("Outputs", "Outputs for each input, best first; of a beam at most its width.", "search")
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
            "Prefer outputs that attend to all of the source (Wu et al. 2016, eq. 14); try 0.2 for translations; not "
            "for sources that outputs leave partly unread, nor for local attention. For a beam.",
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
        """Return the options that are not left as configured, by their field name.

        Args:
            *uses: what the options are for; without any, all options.
        """
        values = {each.name: getattr(self, each.name) for each in OPTIONS if not uses or each.use in uses}
        # 0 is given, although it equals False
        return {name: value for name, value in values.items() if value not in (None, ()) and value is not False}

    def arguments(self, use: Use) -> dict[str, object]:
        """Return the options that are not left as configured, by the name of the constructor's parameter.

        Args:
            use: what the options are for.
        """
        given = self.given(use)
        return {each.parameter: given[each.name] for each in OPTIONS if each.name in given}


class DecodeKeywords(TypedDict, total=False):
    """Types the fields of `DecodeOptions` as keywords of `Run.predict`."""

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


OPTIONS = describe_options(DecodeOptions)
