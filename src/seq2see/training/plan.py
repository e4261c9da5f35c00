"""Decisions from data alone: preset, tokens, size of the model and length of the training, each with its reason."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seq2see.config.load import load_config
from seq2see.config.schema import Config
from seq2see.config.section import PartSpec
from seq2see.core.plural import say_count
from seq2see.core.words import choose_unit, find_words
from seq2see.data.checks.infer import infer_labels, infer_modality, spread
from seq2see.data.formats.image_file import measure_image
from seq2see.data.modalities.label_set import split_labels
from seq2see.data.pairs import Pairs
from seq2see.training.epochs import count_epochs, count_positions
from seq2see.training.token_plan import (
    MAX_FIELD_LENGTH,
    TokenPlan,
    count_tokens,
    describe_kind,
    percentile,
    plan_tokens,
)

TEXTS, SENTENCES, CAPTIONS = "bahdanau2015", "transformer-tiny", "show-attend-tell2015"
LABELS, DOCUMENTS, SMALL_IMAGES, LARGE_IMAGES = "bigru-attention", "han2016", "small-cnn", "frozen-cnn"
MAX_WORDS_OF_A_TEXT = 60  # or letters where words have no spaces between them; a document has more, in sentences
MIN_PHOTOGRAPH_SIDE = 96  # pixels

MIN_PAIRS_FOR_TRANSFORMER = 20_000  # pairs of sentences: from 4,000 an RNN learned more, from 29,000 a Transformer
MIN_EPOCHS, MAX_EPOCHS = 3, 100  # times through the data, however large or small it is,
MIN_TOKENS = 1_500_000  # but never fewer tokens than this,
MIN_PAIRS, MAX_EPOCHS_OF_FEW_PAIRS = 50, 300  # unless there are too few pairs to learn from


@dataclass(frozen=True)
class Decision:
    """What was decided, section by section, and the reason for each choice.

    Args:
        preset: the name of the preset to start from.
        remarks: the reasons, by the key of the configuration that each is about.
        tokens: section `tokens`; None leaves it to the preset.
        model: what changes in section `model`; None leaves it to the preset.
        train: what changes in section `train`; None leaves it to the preset.
    """

    preset: str
    remarks: Mapping[str, str]
    tokens: Mapping[str, object] | None = None
    model: Mapping[str, object] | None = None
    train: Mapping[str, object] | None = None

    @property
    def base(self) -> dict[str, object]:
        """Return the sections of a configuration to start from."""
        sections = {"tokens": self.tokens, "model": self.model, "train": self.train}
        return {"preset": self.preset, **{name: section for name, section in sections.items() if section is not None}}


def decide(pairs: Pairs, *, preset: str | None = None, task: str | None = None) -> Decision:
    """Choose for these pairs what a preset leaves open; without a preset, one that suits them.

    A preset for images or labels decides everything but the length of the training on little data.

    Args:
        pairs: the training data.
        preset: the name of the preset that was asked for; None chooses one.
        task: `transduction` or `classification` as asked for; None tells labels from texts by the data.
    """
    asked = preset is not None
    name = preset or _choose_preset(pairs, task)
    written = _read_preset(name)
    if _is_for_texts(written):
        return _decide_texts(pairs.source, pairs.target, name, written, asked=asked)
    chooses = written.task == "classification"
    updates, epochs = _limit_updates(pairs, written, labels=chooses)
    why = f"all as in preset {name}" if asked else f"preset {name}, for {_describe(pairs, labels=chooses)}"
    if not asked and chooses and task is None and pairs.labels is None:
        why += "; if these are texts to write, say task=transduction"
    remarks, tokens, train = {"preset": why}, None, None
    if pairs.separator is not None and chooses:
        tokens = {**_dump_tokens(written), "target": {"kind": "labels", "separator": pairs.separator}}
        remarks["tokens"] = "several labels for a source, because the data lists them"
    if updates < written.train.updates:
        train = {"updates": updates, "validate_every": max(updates // 15, 10)}
        remarks["train"] = f"{updates:,} updates: {epochs:,.0f} times through so little data are enough"
    return Decision(name, remarks, tokens=tokens, train=train)


def _read_preset(name: str) -> Config:
    """A preset as a configuration; its data is still to be named."""
    return load_config(base={"preset": name, "data": {"train": ""}}).config


def _dump_tokens(written: Config) -> dict[str, object]:
    return written.tokens.model_dump(exclude_none=True)


def _choose_preset(pairs: Pairs, task: str | None) -> str:
    """The architecture that suits these pairs."""
    labels = task == "classification" or (task is None and infer_labels(pairs))
    return _PRESET_CHOICES[infer_modality(pairs)](pairs, labels)


def _choose_for_images(pairs: Pairs, labels: bool) -> str:
    if not labels:
        return CAPTIONS
    return SMALL_IMAGES if _are_small(pairs.source) else LARGE_IMAGES


def _choose_for_texts(pairs: Pairs, labels: bool) -> str:
    if not labels:
        many = len(pairs) >= MIN_PAIRS_FOR_TRANSFORMER
        return SENTENCES if many and plan_tokens(pairs.source, pairs.target).sentences else TEXTS
    some = spread(pairs.source)
    unit = choose_unit(some)
    usual = percentile([len(find_words(text, unit)) for text in some], 0.5)
    return DOCUMENTS if usual > MAX_WORDS_OF_A_TEXT else LABELS


_PRESET_CHOICES = {"text": _choose_for_texts, "images": _choose_for_images}


def _is_for_texts(written: Config) -> bool:
    """Whether a preset reads texts and writes texts."""
    return written.task == "transduction" and _kind(written.tokens.source) not in ("images", "documents")


def _limit_updates(pairs: Pairs, written: Config, *, labels: bool) -> tuple[int, float]:
    """Updates that go through the data as often as is useful, and how often that is."""
    tokens = count_positions(pairs, labels=labels)
    batch = written.train.batch_tokens
    # attention that learns to agree with occlusion begins when the labels are nearly learned
    often = 60 if len(pairs) < 1_000 or written.train.occlusion_agreement else 30
    updates = max(int(often * tokens / batch), 100)
    return updates, count_epochs(updates, tokens, batch)


def _are_small(sources: Sequence[str]) -> bool:
    """Whether images are so small that a network for photographs has nothing to hold on to."""
    return percentile([min(measure_image(source)) for source in spread(sources, 20)], 0.5) < MIN_PHOTOGRAPH_SIDE


def _describe(pairs: Pairs, *, labels: bool) -> str:
    """What the data is, in a few words."""
    sources = {"text": "texts", "images": "images"}[infer_modality(pairs)]
    count = len({label for target in pairs.target for label in split_labels(target, pairs.separator)})
    return f"{sources} with {f'{count} labels' if labels else 'captions'}"


def _decide_texts(
    source: Sequence[str], target: Sequence[str], preset: str, written: Config, *, asked: bool
) -> Decision:
    """Choose for these texts what a preset leaves open.

    A preset for words keeps all it says; one for sentences nearly all when it meets sentences, and one for short fields
    its size when it was asked for and meets short fields. Elsewhere a preset lends its architecture, and the rest
    follows from the texts.
    """
    if _all_of_kind(written, "words"):
        return Decision(preset, {"preset": f"all as in preset {preset}, which is made for words"})
    pairs, plan = len(source), plan_tokens(source, target)
    sentences = plan.sentences
    if sentences and not _all_of_kind(written, "characters"):
        return _decide_sentences(source, target, preset, written, asked=asked)
    batch = 1024 if pairs < 5_000 else 2048 if pairs < 200_000 else 4096
    updates = _decide_updates(pairs, plan.tokens, batch)
    epochs = count_epochs(updates, plan.tokens, batch)
    train: dict[str, object] = {"updates": updates, "batch_tokens": batch, "validate_every": max(updates // 20, 10)}
    train |= (
        {"learning_rate": 0.003, "label_smoothing": 0.1, "average_checkpoints": 5} if sentences else {"patience": 8}
    )
    remarks = {
        "tokens": _explain_tokens(plan, pairs),
        "train": f"batches of {batch:,} tokens, {updates:,} updates: about {epochs:,.0f} times through the data",
    }
    model: dict[str, object] | None = None
    if sentences or not asked:
        size = _decide_size(sentences, pairs)
        texts = "sentences" if sentences else "short texts"
        model = {**_scale(written, size, {"dropout": 0.3} if sentences else {})}
        remarks["model"] = f"preset {preset} with size {size}, for {say_count(pairs, 'pair')} of {texts}"
        if sentences:
            model["share"] = ["fitting"]
            remarks["model"] += ", and one table of embeddings, because both sides have one vocabulary"
    joint = not plan.symbols and (sentences or written.tokens.joint is not None)
    if written.tokens.joint is not None and not joint:
        train["bidirectional_pretraining"] = 0.0  # it needs one vocabulary, as sharing the embeddings does
        model = {**(model or {}), "share": ["fitting"]}
    sides = {"joint": describe_kind(plan.source, pairs)} if joint else plan.describe(pairs)
    return Decision(preset, remarks, tokens=sides, model=model, train=train)


def _explain_tokens(plan: TokenPlan, pairs: int) -> str:
    """Say what texts are divided into, and why."""
    if plan.symbols:
        return plan.reason
    if not plan.sentences:
        return f"characters, because nearly all texts have at most {MAX_FIELD_LENGTH} of them"
    size = describe_kind("bpe", pairs)["size"]
    return f"up to {size:,} subwords for both sides, because the texts are sentences"


def _decide_sentences(
    source: Sequence[str], target: Sequence[str], preset: str, written: Config, *, asked: bool
) -> Decision:
    """A preset for sentences: all it says but how long to train on little data, and on much if it was not asked for."""
    train, batch = written.train, written.train.batch_tokens
    tokens = count_tokens(source, target, kinds=("bpe", "bpe"))
    enough = max(MAX_EPOCHS * tokens, MIN_TOKENS) / batch
    updates = int(min(train.updates, enough) if asked else max(train.updates, MIN_EPOCHS * tokens / batch))
    updates = _limit_epochs(updates, len(source), tokens, batch)
    if asked and updates == train.updates:
        return Decision(preset, {"preset": f"all as in preset {preset}, which is made for sentences"})
    epochs = count_epochs(updates, tokens, batch)
    length: dict[str, object] = {
        "updates": updates,
        "validate_every": max(updates * train.validate_every // train.updates, 10),
    }
    warmup = _option(train.schedule, "warmup", 0)
    if updates < train.updates and _kind(train.schedule) == "cosine":
        # other schedules would take larger steps after a shorter warmup
        length["schedule"] = {"warmup": min(warmup, updates // 10)}
    size = _option(written.tokens.joint, "size", 0)
    why = "which was asked for" if asked else f"because {len(source):,} pairs of sentences are enough for it"
    remarks = {
        "tokens": f"up to {size:,} subwords for both sides, because the texts are sentences",
        "model": f"preset {preset}, {why}",
        "train": f"batches of {batch:,} tokens, {updates:,} updates: about {epochs:,.0f} times through the data",
    }
    return Decision(preset, remarks, train=length)


def _all_of_kind(written: Config, kind: str) -> bool:
    """Whether all tokens of a preset are of one kind."""
    tokens = written.tokens
    return all(_kind(spec) == kind for spec in (tokens.source, tokens.target, tokens.joint) if spec is not None)


def _kind(spec: PartSpec | None) -> str | None:
    """The kind of a part, whichever way it is written."""
    return spec if isinstance(spec, str) or spec is None else str(spec["kind"])


def _option(spec: PartSpec | None, name: str, default: int) -> int:
    """A whole number among the options of a part."""
    value = spec.get(name, default) if isinstance(spec, dict) else default
    return value if isinstance(value, int) else default


def _scale(written: Config, size: int, more: Mapping[str, object]) -> dict[str, dict[str, object]]:
    """Sizes for both halves of a model, as far as they have them, in the proportion that they have."""
    halves = {"encoder": written.model.encoder, "decoder": written.model.decoder}
    options = {half: spec if isinstance(spec, dict) else {} for half, spec in halves.items()}
    wide = _option(options["decoder"], "size", 1)
    sizes = {half: size * _option(spec, "size", wide) // wide for half, spec in options.items()}
    wanted = {half: {"size": sizes[half], "embedding_size": size, **more} for half in options}
    return {half: {key: value for key, value in wanted[half].items() if key in options[half]} for half in options}


def _decide_size(sentences: bool, pairs: int) -> int:
    if sentences:
        return 128 if pairs < 10_000 else 256
    return 64 if pairs < 1_000 else 128 if pairs < 50_000 else 256


def _decide_updates(pairs: int, tokens: float, batch: int) -> int:
    """Enough updates to see small data often and large data at least a few times."""
    seen = min(max(20 * tokens, MIN_TOKENS), max(9_000_000, MIN_EPOCHS * tokens))
    return _limit_epochs(int(seen / batch), pairs, tokens, batch)


def _limit_epochs(updates: int, pairs: int, tokens: float, batch: int) -> int:
    """As many updates, but fewer on so few pairs that nothing but themselves can be learned from them."""
    most = int(MAX_EPOCHS_OF_FEW_PAIRS * max(tokens / batch, 1))
    return min(updates, most) if pairs < MIN_PAIRS else updates
