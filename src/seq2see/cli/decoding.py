"""What the commands share about how outputs are found."""

from dataclasses import dataclass, fields, replace
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from seq2see.core.errors import SearchError

if TYPE_CHECKING:
    from seq2see.run import Run


class LengthForm(StrEnum):
    """How a score is divided by the length."""

    power = "power"
    gnmt = "gnmt"


BeamOption = Annotated[int | None, typer.Option(min=1, help="Width of the beam; 1 is greedy.")]
LengthPenaltyOption = Annotated[
    float | None,
    typer.Option(min=0, help="Rank by log-probability / length ** this; 0: short outputs win, 1: a mean. For a beam."),
]
LengthFormOption = Annotated[
    LengthForm | None, typer.Option(help="gnmt: divide by ((5 + length) / 6) ** penalty. For a beam.")
]
CoveragePenaltyOption = Annotated[
    float | None, typer.Option(min=0, help="Prefer outputs that look at all of the source; try 0.2. For a beam.")
]
ConsensusOption = Annotated[
    float | None,
    typer.Option(
        min=0, help="Let a beam's outputs vote which agrees best with all; weight exp(score) ** this; try 1.5."
    ),
]
WitnessesOption = Annotated[
    int | None,
    typer.Option(min=0, metavar="N", help="Let N outputs that are drawn at random vote, too; try 40. For --consensus."),
]
PrecisionOption = Annotated[
    float | None,
    typer.Option(min=0, max=1, help="In a vote: 0, say all that others say, to 1, say nothing else. For --consensus."),
]
MinLengthOption = Annotated[int | None, typer.Option(min=0, help="Tokens before an output may end.")]
MaxLengthOption = Annotated[int | None, typer.Option(min=1, help="Tokens of the longest output, its end included.")]
NoRepeatOption = Annotated[
    int | None, typer.Option(min=0, metavar="N", help="No N tokens in a row come twice in an output; try 3.")
]
BanOption = Annotated[
    list[str] | None, typer.Option(metavar="WORD", help="A word that must not be written; may be given several times.")
]
WithOption = Annotated[
    list[Path] | None,
    typer.Option("--with", metavar="RUN", help="A further run to average probabilities with; several times for more."),
]
ReplaceUnknownOption = Annotated[
    bool,
    typer.Option(
        "--replace-unknown", help="Let the model write words it does not know, as the source word it looks at."
    ),
]
DictionaryOption = Annotated[
    Path | None,
    typer.Option(help="For --replace-unknown: a source word, a tab and its target word on each line."),
]
WorkersOption = Annotated[
    int,
    typer.Option(min=0, help="Processes of one thread each that share the work; 0: one a core for large inputs."),
]


BEAM = ("length_penalty", "length_form", "coverage_penalty", "consensus", "witnesses", "precision")


@dataclass(frozen=True)
class Wishes:
    """What was asked for on the command line; None and nothing leave what the configuration says."""

    beam: int | None = None
    n_best: int = 1
    length_penalty: float | None = None
    length_form: LengthForm | None = None
    coverage_penalty: float | None = None
    consensus: float | None = None
    witnesses: int | None = None
    precision: float | None = None
    min_length: int | None = None
    max_length: int | None = None
    no_repeat: int | None = None
    ban: list[str] | None = None
    replace_unknown: bool = False
    dictionary: Path | None = None

    def apply(self, run: "Run") -> dict[str, Any]:
        """The same as arguments of `Run.predict`."""
        from seq2see.search.choose import choose_search

        wanted = {each.name: getattr(self, each.name) for each in fields(self) if each.name != "n_best"}
        warn_of_labels(run, **wanted)
        options = self._given(*BEAM)
        options = {name: str(value) if name == "length_form" else value for name, value in options.items()}
        rules = self._given("min_length", "max_length", "no_repeat") | ({"ban": tuple(self.ban)} if self.ban else {})
        return {
            "search": choose_search(run.config.search, beam=self.beam, n_best=self.n_best, options=options),
            "rules": replace(run.rules, **rules),
            "replace_unknown": self._read_dictionary(),
        }

    def _given(self, *names: str) -> dict[str, Any]:
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def _read_dictionary(self) -> bool | dict[str, str]:
        if self.dictionary is None:
            return self.replace_unknown
        if not self.replace_unknown:
            raise SearchError("--dictionary goes with --replace-unknown; add it.")
        from seq2see.data.dictionary import read_dictionary

        return read_dictionary(self.dictionary)


def warn_of_labels(run: "Run", **options: Any) -> None:
    """Name the options that were given for a run that chooses labels, where they mean nothing."""
    given = [f"--{name.replace('_', '-')}" for name, value in options.items() if value]
    if given and run.config.task == "classification":
        message = f"warning: this run chooses labels and writes nothing; without effect: {', '.join(given)}"
        typer.secho(message, fg=typer.colors.YELLOW, err=True)


def read_prefixes(prefix: str | None, file: Path | None, count: int) -> list[str]:
    """What the output of each of `count` lines begins with."""
    if file is None:
        return [prefix or ""] * count
    if prefix is not None:
        raise SearchError("give either --prefix or --prefix-file, not both.")
    from seq2see.data.readers import decode, read_bytes, split_lines

    lines = split_lines(decode(read_bytes(file), file))
    if len(lines) != count:
        raise SearchError(
            f"{file}: a line of prefixes must stand for each input, blank for none; got {len(lines)} for {count}."
        )
    return lines
