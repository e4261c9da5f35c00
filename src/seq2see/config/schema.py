"""The configuration of a run; field descriptions become the comments of a written config.yaml."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, get_args

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    model_validator,
)


def _check_spec(spec: Any) -> Any:
    options = {"kind": spec} if isinstance(spec, str) else spec
    if (
        isinstance(options, Mapping)
        and isinstance(options.get("kind"), str)
        and all(isinstance(k, str) for k in options)
    ):
        return spec
    raise ValueError("must be a name or {kind: name, option: value}")


def _name_columns(fields: Any) -> Any:
    """Numbers of columns as names, because a column may well be called 1."""
    return [str(name) if type(name) is int else name for name in fields] if isinstance(fields, list) else fields


def _check_fields(fields: list[str]) -> list[str]:
    if len(set(fields)) != 2 or len(fields) != 2:
        raise ValueError("must be two different names, [SOURCE, TARGET]")
    return fields


# a name, or {kind: name, option: value}; checked against the constructor it names when it is built
PartSpec = Annotated[str | dict[str, Any], BeforeValidator(_check_spec)]

Positive = Annotated[int, Field(ge=1)]
Natural = Annotated[int, Field(ge=0)]
Seed = Annotated[int, Field(ge=0, lt=2**63)]
Share = Annotated[float, Field(ge=0, lt=1)]
Fields = Annotated[list[str], BeforeValidator(_name_columns), AfterValidator(_check_fields)]


class Section(BaseModel):
    """Frozen, and without room for a mistyped key."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=False)


class ParallelFiles(Section):
    """Two files whose lines belong together."""

    source: str = Field(description="one source a line")
    target: str = Field(description="its target on the same line")


TextMetric = Literal["exact_match", "bleu", "bleu_tokenised", "chrf", "cer"]
LabelMetric = Literal["accuracy", "macro_f1"]
LabelsMetric = Literal["accuracy", "macro_f1", "micro_f1"]  # of several labels a source
CaptionMetric = Literal["bleu_4", "cider_d"]
BRANCHES = ("one file", "two files")  # pydantic names the branch in the path of an error


def _branch(split: Any) -> str:
    return BRANCHES[isinstance(split, Mapping | ParallelFiles)]


Split = Annotated[Annotated[str, Tag(BRANCHES[0])] | Annotated[ParallelFiles, Tag(BRANCHES[1])], Discriminator(_branch)]


class Data(Section):
    """What to learn from."""

    train: Split = Field(
        description="a .tsv, .csv or .jsonl file, a folder of classes, or {source: FILE, target: FILE}"
    )
    valid: Split | None = Field(
        default=None, description="to choose the best weights by; if not given, held out of train"
    )
    test: Split | None = Field(default=None, description="scored once, at the end")
    held_out: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.05, description="share of the training data that is held out if valid is not given"
    )
    fields: Fields | None = Field(
        default=None, description="names of the source and target columns, or their numbers if there is no header"
    )
    max_tokens: Positive = Field(default=512, description="longer pairs are left out of training")


class Tokens(Section):
    """How text is cut: source and target each with a vocabulary of its own, or joint for both."""

    source: PartSpec | None = Field(
        default=None, description="characters, words, bpe or unigram; pictures or documents"
    )
    target: PartSpec | None = Field(default=None, description="how a text is written; or labels")
    joint: PartSpec | None = Field(default=None, description="one vocabulary for both sides")

    @model_validator(mode="after")
    def _either(self) -> "Tokens":
        given = (self.source is not None, self.target is not None, self.joint is not None)
        if given not in ((True, True, False), (False, False, True), (True, False, False)):
            raise ValueError("must have either source and target, or joint")
        return self


class Model(Section):
    """What learns."""

    encoder: PartSpec
    decoder: PartSpec | None = Field(default=None, description="what writes a text")
    pool: PartSpec | None = Field(default=None, description="what reads the encoded source once, to choose a label")
    share: list[Literal["embeddings", "output", "layers", "fitting"]] | None = Field(
        default=None,
        description="what encoder and decoder have in common: embeddings, output, layers; fitting: the first two, if "
        "they fit",
    )


class Init(Section):
    """Weights to start from."""

    encoder: str | None = Field(default=None, description="a run folder to take encoder and source tokenizer from")
    decoder: str | None = Field(default=None, description="a run folder to take decoder and target tokenizer from")
    freeze: Literal["encoder", "decoder"] | None = Field(default=None, description="the part that stays as taken")
    embeddings: str | None = Field(
        default=None, description="word vectors for the source: a word2vec or GloVe text file, or train to learn them"
    )

    @model_validator(mode="after")
    def _taken(self) -> "Init":
        if self.freeze is not None and getattr(self, self.freeze) is None:
            raise ValueError(f"must name a run for {self.freeze}, because freeze keeps it as it was taken")
        return self


class Reward(Section):
    """What outputs that the model draws at random earn beside the targets of their source."""

    measure: Literal["gleu", "cider"] = Field(
        default="gleu", description="n-grams in common with one target, or rare ones in common with all (captions)"
    )
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.9, description="how much of the loss it is; the rest is the likelihood of the target"
    )
    after: Share = Field(default=0.0, description="share of the updates that come before, with the likelihood alone")


class Teacher(Section):
    """Runs whose probabilities are learned beside the targets."""

    runs: Annotated[list[str], Field(min_length=1)] = Field(description="run folders; of several the mean is learned")
    share: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.5, description="how much of each target they are; the rest is the target itself"
    )


class Train(Section):
    """How it learns."""

    updates: Positive = Field(default=2000, description="how many times the weights are changed")
    batch_tokens: Positive = Field(default=4096, description="tokens of the longer side in a batch, padding included")
    accumulate: Positive = Field(default=1, description="batches that one update sums over")
    learning_rate: Annotated[float, Field(gt=0)] = 1e-3
    schedule: PartSpec = Field(default="constant", description="constant, noam, inverse_sqrt, cosine or plateau")
    optimizer: Literal["adam", "muon"] = Field(
        default="adam", description="muon: matrices move alike in all directions, which takes fewer updates"
    )
    beta2: Share = Field(default=0.999, description="how long Adam remembers the size of gradients")
    weight_decay: Annotated[float, Field(ge=0)] = 0.0
    clip: Annotated[float, Field(ge=0)] = Field(default=1.0, description="largest length of the gradient; 0: as it is")
    label_smoothing: Share = 0.0
    class_weights: Literal["none", "balanced"] = Field(
        default="none", description="balanced: all labels count alike, however rare they are"
    )
    scheduled_sampling: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="share of target inputs that are the model's own guesses at the end of training"
    )
    both_ways: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0,
        description="share of the updates, the first ones, of which every other one learns from target to source",
    )
    reward: Reward | None = Field(default=None, description="learn from what outputs of the model's own earn, too")
    teacher: Teacher | None = Field(default=None, description="learn what other runs would write, too")
    attention_penalty: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="times sum over places of (1 - attention paid)^2: look at everything once"
    )
    output_bias: Literal["random", "counts"] = Field(
        default="random", description="counts: the output layer begins with how often each token is written"
    )
    evaluate_every: Positive = Field(default=200, description="updates between two looks at the held-out data")
    evaluate_pairs: Positive = Field(default=500, description="held-out pairs that are decoded at each look")
    watch: Literal["valid_loss", TextMetric, LabelsMetric, CaptionMetric] = Field(
        default="valid_loss", description="what decides which weights are best"
    )
    workers: Natural = Field(
        default=0,
        description="processes that share each batch; 0: one for a small model or given threads, else one a core",
    )
    threads: Natural = Field(
        default=0, description="of each worker; 0: one for a small model, else its share of the cores"
    )
    patience: Natural = Field(default=0, description="looks without a better one before stopping; 0: never")
    average: Natural = Field(
        default=0,
        description="use the average of so many last checkpoints, if it is no worse than the best one; 0: the best one",
    )
    ema: Share = Field(default=0.0, description="how much of it a moving average of the weights keeps; 0: no average")

    @model_validator(mode="after")
    def _averages_once(self) -> "Train":
        if self.average and self.ema:
            raise ValueError("must have average or ema, not both: each says which weights are used in the end")
        return self


class Config(Section):
    """One run."""

    task: Literal["transduction", "classification"] = Field(
        default="transduction", description="transduction writes a text, classification chooses a label"
    )
    preset: str | None = Field(default=None, description="the paper this started from")
    seed: Seed = Field(default=1, description="everything random follows from it")
    data: Data
    tokens: Tokens
    model: Model
    init: Init | None = None
    train: Train = Train()
    search: PartSpec = Field(default={"kind": "beam", "width": 5}, description="greedy, beam or sample")

    @model_validator(mode="after")
    def _complete(self) -> "Config":
        chooses, why = self.task == "classification", f", because the task is {self.task}"
        if chooses == (self.model.decoder is not None):
            raise ValueError(f"must have {'no' if chooses else 'a'} model.decoder{why}")
        asked = self.tokens.target or self.tokens.joint
        if chooses != (asked is None or "labels" in (asked, asked["kind"] if isinstance(asked, dict) else "")):
            raise ValueError(f"must have {'labels or nothing' if chooses else 'tokens of texts'} as tokens.target{why}")
        written = CaptionMetric if self.reads_pictures else TextMetric
        chosen = LabelMetric if self.chooses_labels else LabelsMetric
        known = get_args(chosen if chooses else written)
        if self.train.watch not in ("valid_loss", *known):
            raise ValueError(f"must have train.watch as valid_loss or one of {', '.join(known)}{why}")
        writing = ("attention_penalty", "output_bias", "reward", "scheduled_sampling", "teacher")
        idle = writing if chooses else ("class_weights",)
        for name in idle:
            if getattr(self.train, name) != Train.model_fields[name].default:
                raise ValueError(f"cannot have train.{name}{why}")
        if self.train.both_ways and self.tokens.joint is None:
            raise ValueError("must have tokens.joint, because train.both_ways needs one vocabulary for both sides")
        return self

    @property
    def reads_pictures(self) -> bool:
        """Whether sources are pictures, not texts."""
        spec = self.tokens.source
        return (spec.get("kind") if isinstance(spec, dict) else spec) == "pictures"

    @property
    def chooses_labels(self) -> bool:
        """Whether each source has one label, of those that the training data has."""
        return self.task == "classification" and self.label_separator is None

    @property
    def label_separator(self) -> str | None:
        """What stands between several labels of one source, if there may be several."""
        spec = self.tokens.target
        return (spec.get("separator") or None) if isinstance(spec, dict) else None
