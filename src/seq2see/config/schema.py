"""The configuration of a run; field descriptions become the comments of a written config.yaml."""

from collections.abc import Mapping
from typing import Annotated, Literal, get_args

from pydantic import Discriminator, Field, Tag, model_validator

from seq2see.config.section import Fields, Natural, PartSpec, Positive, Processes, Section, Seed, Share


class ParallelFiles(Section):
    """Two files whose lines belong together."""

    source: str = Field(description="one source a line")
    target: str = Field(description="its target on the same line")


TextMetric = Literal["exact_match", "bleu", "bleu_tokenised", "chrf", "cer"]
LabelMetric = Literal["accuracy", "macro_f1"]
LabelsMetric = Literal["accuracy", "macro_f1", "micro_f1"]  # of several labels a source
CaptionMetric = Literal["bleu_4", "cider_d"]
TEXT_METRICS = {"text": TextMetric, "images": CaptionMetric}  # what is written for an image is a caption
BRANCHES = ("one file", "two files")  # pydantic names the branch in the path of an error


def _branch(split: object) -> str:
    return BRANCHES[isinstance(split, Mapping | ParallelFiles)]


Split = Annotated[Annotated[str, Tag(BRANCHES[0])] | Annotated[ParallelFiles, Tag(BRANCHES[1])], Discriminator(_branch)]


class Data(Section):
    """The data of training, validation and test."""

    train: Split = Field(
        description="a .tsv, .csv or .jsonl file, a folder of classes, or {source: FILE, target: FILE}"
    )
    valid: Split | None = Field(default=None, description="chooses the best weights; if not given, held out of train")
    test: Split | None = Field(default=None, description="scored once, at the end")
    held_out: Annotated[float, Field(gt=0, lt=1)] = Field(
        default=0.05, description="share of the training data that is held out if valid is not given"
    )
    fields: Fields | None = Field(
        default=None, description="names of the source and target columns, or their numbers if there is no header"
    )
    encoding: str | None = Field(default=None, description="encoding of the files, such as cp1252; else it is guessed")
    max_tokens: Positive = Field(default=512, description="longer pairs are left out of training")


class Tokens(Section):
    """How text becomes tokens: source and target each with a vocabulary of its own, or joint for both."""

    source: PartSpec | None = Field(default=None, description="characters, words, bpe or unigram; images or documents")
    target: PartSpec | None = Field(default=None, description="how a text is written; or labels")
    joint: PartSpec | None = Field(default=None, description="one vocabulary for both sides")

    @model_validator(mode="after")
    def _either(self) -> "Tokens":
        given = (self.source is not None, self.target is not None, self.joint is not None)
        if given not in ((True, True, False), (False, False, True), (True, False, False)):
            raise ValueError("must have either source and target, or joint")
        return self


class Model(Section):
    """The network."""

    encoder: PartSpec = Field(description="what reads the source")
    decoder: PartSpec | None = Field(default=None, description="what writes a text")
    pool: PartSpec | None = Field(default=None, description="what reads the encoded source once, to choose a label")
    share: list[Literal["embeddings", "output", "layers", "fitting"]] | None = Field(
        default=None,
        description="what encoder and decoder have in common: embeddings, output, layers; fitting: the first two, if "
        "they fit",
    )


class Init(Section):
    """Weights to start from."""

    run: str | None = Field(default=None, description="a run folder to take all weights and both tokenizers from")
    encoder: str | None = Field(default=None, description="a run folder to take encoder and source tokenizer from")
    decoder: str | None = Field(default=None, description="a run folder to take decoder and target tokenizer from")
    freeze: Literal["encoder", "decoder"] | None = Field(
        default=None, description="the part whose weights do not change"
    )
    embeddings: str | None = Field(
        default=None, description="word vectors for the source: a word2vec or GloVe text file, or train to learn them"
    )

    @model_validator(mode="after")
    def _taken(self) -> "Init":
        parts = (self.encoder, self.decoder)
        if self.run is not None and parts != (None, None):
            raise ValueError("must have run, or encoder and decoder, not both: a run has all parts")
        if self.freeze is not None and self.run is None and getattr(self, self.freeze) is None:
            raise ValueError(f"must name a run for {self.freeze}, because freeze keeps it as it was taken")
        return self


class MinimumRiskOptions(Section):
    """Expected reward training: outputs that the model samples become likelier by their reward."""

    reward: Literal["gleu", "cider"] = Field(
        default="gleu",
        description="gleu: n-grams in common with the nearest target; cider: rare ones in common with all (captions)",
    )
    weight: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.9, description="of the expected reward in the loss; the rest is the likelihood of the targets"
    )
    start: Share = Field(default=0.0, description="share of the updates that come before, with the likelihood alone")


class DistillationOptions(Section):
    """Knowledge distillation: the probabilities of other runs are learned together with the targets."""

    teachers: Annotated[list[str], Field(min_length=1)] = Field(
        description="run folders; of several teachers the mean of their probabilities is learned"
    )
    weight: Annotated[float, Field(gt=0, le=1)] = Field(
        default=0.5, description="of the teachers' probabilities in each target; the rest is the target itself"
    )


class Train(Section):
    """How the model is trained."""

    updates: Positive = Field(default=2000, description="optimizer steps")
    batch_tokens: Positive = Field(default=4096, description="tokens of the longer side in a batch, padding included")
    device: str = Field(
        default="auto",
        description="where the model is trained: cpu, cuda, cuda:1, mps or xpu; auto: the best one there is",
    )
    precision: Literal["float32", "bfloat16", "float16"] = Field(
        default="float32", description="of the forward pass; the smaller ones need an accelerator that is made for them"
    )
    accumulate: Positive = Field(default=1, description="batches whose gradients are summed for one update")
    learning_rate: Annotated[float, Field(gt=0)] = Field(default=1e-3, description="the largest one of the schedule")
    schedule: PartSpec = Field(
        default="constant", description="of the learning rate: constant, noam, inverse_sqrt, cosine or plateau"
    )
    optimizer: Literal["adam", "muon"] = Field(
        default="adam", description="adam: AdamW; muon: orthogonalised momentum for matrices, takes fewer updates"
    )
    beta2: Share = Field(default=0.999, description="decay of Adam's average of squared gradients")
    weight_decay: Annotated[float, Field(ge=0)] = Field(default=0.0, description="decoupled weight decay (AdamW)")
    clip_gradient: Annotated[float, Field(ge=0)] = Field(
        default=1.0, description="largest norm of the gradient; a longer one is scaled down; 0: no clipping"
    )
    label_smoothing: Share = Field(
        default=0.0, description="share of each target that is spread evenly over the vocabulary or the labels"
    )
    class_weights: Literal["none", "balanced"] = Field(
        default="none", description="balanced: all labels count alike in the loss, however rare they are"
    )
    scheduled_sampling: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="share of decoder inputs that are the model's own predictions; rises from 0 to this"
    )
    bidirectional_pretraining: Annotated[float, Field(ge=0, le=1)] = Field(
        default=0.0, description="share of the updates, at first, of which every other one is from target to source"
    )
    minimum_risk: MinimumRiskOptions | None = Field(
        default=None, description="expected reward training on sampled outputs: {reward: gleu, weight: 0.9, start: 0}"
    )
    distillation: DistillationOptions | None = Field(
        default=None, description="knowledge distillation from other runs: {teachers: [RUN], weight: 0.5}"
    )
    doubly_stochastic_attention: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="weight of sum_i (1 - sum_t attention_ti)^2, which spreads attention over the source"
    )
    occlusion_agreement: Annotated[float, Field(ge=0)] = Field(
        default=0.0, description="weight of a term that makes attention to an image rank its regions as occlusion does"
    )
    output_bias: Literal["random", "counts"] = Field(
        default="random", description="initial bias of the output layer; counts: log-frequency of each target token"
    )
    validate_every: Positive = Field(default=200, description="updates between two validations")
    validation_pairs: Positive = Field(default=500, description="validation pairs that are decoded each time")
    monitor: Literal["valid_loss", TextMetric, LabelsMetric, CaptionMetric] = Field(
        default="valid_loss", description="validation metric that decides which weights are best"
    )
    workers: Processes = Field(
        default=0,
        description="processes that share each batch; 0: one for a small model or given threads, else one a core",
    )
    microbatches: Processes = Field(
        default=0,
        description="parts of each batch, a power of two, whose gradients are added in a fixed order, so that any "
        "number of processes gives the same weights; 0: as many parts as processes, which is faster",
    )
    threads: Processes = Field(
        default=0, description="of each worker; 0: one for a small model, else its share of the cores"
    )
    patience: Natural = Field(
        default=0, description="early stopping: validations without a better one before training stops; 0: never"
    )
    average_checkpoints: Natural = Field(
        default=0,
        description="use the average of so many last checkpoints, if it is no worse than the best one; 0: the best one",
    )
    ema: Share = Field(default=0.0, description="decay of an exponential moving average of the weights; 0: none")

    @model_validator(mode="after")
    def _averages_once(self) -> "Train":
        if self.average_checkpoints and self.ema:
            raise ValueError("must have average_checkpoints or ema, not both: each says which weights predict")
        return self


class Config(Section):
    """The configuration of a run."""

    task: Literal["transduction", "classification"] = Field(
        default="transduction", description="transduction writes a text, classification chooses a label"
    )
    preset: Annotated[str, Field(pattern=r"^[\w.-]{1,100}$")] | None = Field(
        default=None, description="the paper this started from"
    )
    seed: Seed = Field(default=1, description="everything random follows from it")
    data: Data
    tokens: Tokens
    model: Model
    init: Init | None = None
    train: Train = Train()
    search: PartSpec = Field(default={"kind": "beam", "width": 5}, description="greedy, beam, sample or mbr")

    @model_validator(mode="after")
    def _complete(self) -> "Config":
        chooses, why = self.task == "classification", f", because the task is {self.task}"
        if chooses == (self.model.decoder is not None):
            raise ValueError(f"must have {'no' if chooses else 'a'} model.decoder{why}")
        asked = self.tokens.target or self.tokens.joint
        if chooses != (asked is None or "labels" in (asked, asked["kind"] if isinstance(asked, dict) else "")):
            raise ValueError(f"must have {'labels or nothing' if chooses else 'tokens of texts'} as tokens.target{why}")
        written = TEXT_METRICS[self.source_data]
        chosen = LabelMetric if self.chooses_labels else LabelsMetric
        known = get_args(chosen if chooses else written)
        if self.train.monitor not in ("valid_loss", *known):
            raise ValueError(f"must have train.monitor as valid_loss or one of {', '.join(known)}{why}")
        writing = ("distillation", "doubly_stochastic_attention", "minimum_risk", "output_bias", "scheduled_sampling")
        idle = writing if chooses else ("class_weights", "occlusion_agreement")
        for name in idle:
            if getattr(self.train, name) != Train.model_fields[name].default:
                raise ValueError(f"cannot have train.{name}{why}")
        if self.train.bidirectional_pretraining and self.tokens.joint is None:
            raise ValueError(
                "must have tokens.joint, because train.bidirectional_pretraining needs one vocabulary for both sides"
            )
        return self

    @property
    def source_data(self) -> Literal["text", "images"]:
        """What data sets for this configuration hold as sources."""
        spec = self.tokens.source
        return "images" if (spec.get("kind") if isinstance(spec, dict) else spec) == "images" else "text"

    @property
    def chooses_labels(self) -> bool:
        """Whether each source has one label, of those that the training data has."""
        return self.task == "classification" and self.label_separator is None

    @property
    def label_separator(self) -> str | None:
        """The text between the labels of one source; None if each source has one label."""
        spec = self.tokens.target
        separator = spec.get("separator") if isinstance(spec, dict) else None
        return separator if isinstance(separator, str) and separator else None
