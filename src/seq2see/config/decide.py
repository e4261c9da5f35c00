"""Decisions for people who bring only data: tokens, model and training from the size and shape of what they have."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from seq2see.config.load import read_preset
from seq2see.core.number import say_count
from seq2see.core.word import choose_unit, find_words, has_spaces
from seq2see.data.image import measure_picture
from seq2see.data.kinds import guess_kind, guess_labels, spread
from seq2see.data.labels import split_labels
from seq2see.data.pairs import Pairs

TEXTS, SENTENCES, CAPTIONS = "bahdanau2015", "transformer-tiny", "show-attend-tell2015"
LABELS, DOCUMENTS, SMALL_PICTURES, LARGE_PICTURES = "bigru-attention", "han2016", "small-cnn", "frozen-cnn"
LONG = 60  # words, or letters where words have no spaces between them; a text with more has sentences to attend to
LONGEST = 3_000  # words of a document that are counted
PHOTOGRAPH = 96  # pixels a side

SHORT = 64  # characters; fields such as dates, names and codes are below, sentences above
MANY = 20_000  # pairs of sentences: from 4,000 an RNN learned more, from 29,000 a Transformer
LEAST_EPOCHS, MOST_EPOCHS = 3, 100  # times through the data, however large or small it is,
LEAST_TOKENS = 1_500_000  # but never fewer tokens than this


@dataclass(frozen=True)
class Decision:
    """A configuration to start from, and the reason behind each choice by the key it sets."""

    base: dict[str, Any]
    remarks: dict[str, str]


def decide(pairs: Pairs, *, preset: str | None = None, task: str | None = None) -> Decision:
    """Choose for these pairs what a preset leaves open; without a preset, one that suits them.

    Pictures and labels get a preset that is made for them, which says all but how long to train on little data.
    """
    asked = preset is not None
    preset = preset or _choose_preset(pairs, task)
    written, _ = read_preset(preset)
    if _is_for_texts(written):
        return _decide_texts(pairs.source, pairs.target, preset, asked=asked)
    updates, epochs = _limit_updates(pairs, written)
    why = f"all as in preset {preset}" if asked else f"preset {preset}, for {_say_kind(pairs, written)}"
    base: dict[str, Any] = {"preset": preset}
    remarks = {"preset": why}
    if pairs.separator is not None and written.get("task") == "classification":
        base["tokens"] = {**written["tokens"], "target": {"kind": "labels", "separator": pairs.separator}}
        remarks["tokens"] = "several labels for a source, because the data lists them"
    if updates < written["train"]["updates"]:
        base["train"] = {"updates": updates, "evaluate_every": max(updates // 15, 10)}
        remarks["train"] = f"{updates:,} updates: {epochs:.0f} times through so little data are enough"
    return Decision(base, remarks)


def _choose_preset(pairs: Pairs, task: str | None) -> str:
    """The architecture that suits these pairs."""
    labels = task == "classification" or (task is None and guess_labels(pairs))
    if guess_kind(pairs) == "pictures":
        return (SMALL_PICTURES if _are_small(pairs.source) else LARGE_PICTURES) if labels else CAPTIONS
    if not labels:
        return SENTENCES if len(pairs) >= MANY and _are_sentences(pairs.source, pairs.target) else TEXTS
    some = spread(pairs.source)
    unit = choose_unit(some)
    return DOCUMENTS if _percentile([len(find_words(text, unit)) for text in some], 0.5) > LONG else LABELS


def _is_for_texts(written: Mapping[str, Any]) -> bool:
    """Whether a preset reads texts and writes texts."""
    spec = written["tokens"].get("source")
    kind = spec["kind"] if isinstance(spec, Mapping) else spec
    return written.get("task", "transduction") == "transduction" and kind not in ("pictures", "documents")


def _limit_updates(pairs: Pairs, written: Mapping[str, Any]) -> tuple[int, float]:
    """Updates that go through the data as often as is useful, and how often that is."""
    batch = written["train"]["batch_tokens"]
    labels = written.get("task") == "classification"
    texts = pairs.target if not labels else pairs.source if guess_kind(pairs) == "text" else [""] * len(pairs)
    count = (lambda text: len(text.split())) if has_spaces(spread(texts)) else len
    tokens = sum(min(count(text), LONGEST) + 1 for text in texts)
    epochs = 60.0 if len(pairs) < 1_000 else 30.0
    return max(int(epochs * tokens / batch), 100), epochs


def _are_small(sources: Sequence[str]) -> bool:
    """Whether pictures are so small that a network for photographs has nothing to hold on to."""
    return _percentile([min(measure_picture(source)) for source in spread(sources, 20)], 0.5) < PHOTOGRAPH


def _say_kind(pairs: Pairs, written: Mapping[str, Any]) -> str:
    sources = "pictures" if guess_kind(pairs) == "pictures" else "texts"
    count = len({label for target in pairs.target for label in split_labels(target, pairs.separator)})
    return f"{sources} with {f'{count} labels' if written.get('task') == 'classification' else 'captions'}"


def _decide_texts(source: Sequence[str], target: Sequence[str], preset: str, *, asked: bool) -> Decision:
    """Choose for these texts what a preset leaves open.

    A preset for words keeps all it says; one for sentences nearly all when it meets sentences, and one for short fields
    its size when it was asked for and meets short fields. Elsewhere a preset lends its architecture, and the rest
    follows from the texts.
    """
    written, _ = read_preset(preset)
    pairs, sentences = len(source), _are_sentences(source, target)
    base: dict[str, Any] = {"preset": preset}
    remarks = {}
    if all(_name(spec) == "words" for spec in written["tokens"].values()):
        return Decision(base, {"preset": f"all as in preset {preset}, which is made for words"})
    if sentences and _is_for_sentences(written):
        return _decide_sentences(source, target, preset, written, asked=asked)
    tokens, remarks["tokens"] = _decide_tokens(sentences, pairs)
    joint = sentences or "joint" in written["tokens"]
    base["tokens"] = {"joint": tokens} if joint else {"source": tokens, "target": tokens}
    batch = 1024 if pairs < 5_000 else 2048 if pairs < 200_000 else 4096
    updates, epochs = _decide_updates(source, target, sentences, batch)
    base["train"] = {"updates": updates, "batch_tokens": batch, "evaluate_every": max(updates // 20, 10)}
    remarks["train"] = f"batches of {batch:,} tokens, {updates:,} updates: about {epochs:.0f} times through the data"
    if sentences:
        base["train"] |= {"learning_rate": 0.003, "label_smoothing": 0.1, "average": 5}
    else:
        base["train"] |= {"patience": 8}
    if sentences or not asked:
        size = _decide_size(sentences, pairs)
        dropout = {"dropout": 0.3} if sentences else {}
        base["model"] = _fit(written["model"], size, dropout)
        remarks["model"] = f"preset {preset} with size {size}, for {say_count(pairs, 'pair')} of {_say(sentences)}"
    if sentences:
        base["model"] |= {"share": ["fitting"]}
        remarks["model"] += ", and one table of embeddings, because both sides have one vocabulary"
    return Decision(base, remarks)


def _decide_sentences(
    source: Sequence[str], target: Sequence[str], preset: str, written: Mapping[str, Any], *, asked: bool
) -> Decision:
    """A preset for sentences: all it says but how long to train on little data, and on much if nobody asked for it."""
    train, size = written["train"], written["tokens"]["joint"]["size"]
    batch, tokens = train["batch_tokens"], _count_tokens(source, target, sentences=True)
    enough = max(MOST_EPOCHS * tokens, LEAST_TOKENS) / batch
    updates = int(min(train["updates"], enough) if asked else max(train["updates"], LEAST_EPOCHS * tokens / batch))
    if asked and updates == train["updates"]:
        return Decision({"preset": preset}, {"preset": f"all as in preset {preset}, which is made for sentences"})
    looks, epochs = max(updates * train["evaluate_every"] // train["updates"], 10), updates * batch / tokens
    length: dict[str, Any] = {"updates": updates, "evaluate_every": looks}
    schedule = train.get("schedule")
    if (
        updates < train["updates"] and _name(schedule) == "cosine"
    ):  # others would take larger steps after a shorter warmup
        length["schedule"] = {"warmup": min(schedule["warmup"], updates // 10)}
    why = "which was asked for" if asked else f"because {len(source):,} pairs of sentences are enough for it"
    return Decision(
        {"preset": preset, "train": length},
        {
            "tokens": f"up to {size:,} subwords for both sides, because the texts are sentences",
            "model": f"preset {preset}, {why}",
            "train": f"batches of {batch:,} tokens, {updates:,} updates: about {epochs:.0f} times through the data",
        },
    )


def _are_sentences(source: Sequence[str], target: Sequence[str]) -> bool:
    """Whether more than a few texts are longer than fields are."""
    return _percentile([max(len(s), len(t)) for s, t in zip(source, target, strict=True)], 0.95) > SHORT


def _is_for_sentences(written: Mapping[str, Any]) -> bool:
    return not all(_name(spec) == "characters" for spec in written["tokens"].values())


def _name(spec: Any) -> Any:
    """The kind of a part, whichever way it is written."""
    return spec["kind"] if isinstance(spec, Mapping) else spec


def _fit(model: Mapping[str, Any], size: int, more: Mapping[str, Any]) -> dict[str, Any]:
    """Sizes for both halves of a model, as far as they have them, in the proportion that they have."""
    wide = model["decoder"].get("size", 1)
    sizes = {half: size * model[half].get("size", wide) // wide for half in ("encoder", "decoder")}
    wanted = {half: {"size": sizes[half], "embedding_size": size, **more} for half in sizes}
    return {half: {name: value for name, value in wanted[half].items() if name in model[half]} for half in sizes}


def _say(sentences: bool) -> str:
    return "sentences" if sentences else "short texts"


def _decide_size(sentences: bool, pairs: int) -> int:
    if sentences:
        return 128 if pairs < 10_000 else 256
    return 64 if pairs < 1_000 else 128 if pairs < 50_000 else 256


def _decide_tokens(sentences: bool, pairs: int) -> tuple[dict[str, Any], str]:
    if not sentences:
        return {"kind": "characters"}, f"characters, because nearly all texts have at most {SHORT} of them"
    size = 2_000 if pairs < 2_000 else 5_000 if pairs < 50_000 else 10_000
    return {"kind": "bpe", "size": size}, f"up to {size:,} subwords for both sides, because the texts are sentences"


def _decide_updates(source: Sequence[str], target: Sequence[str], sentences: bool, batch: int) -> tuple[int, float]:
    """Enough updates to see small data often and large data at least a few times."""
    tokens = _count_tokens(source, target, sentences=sentences)
    seen = min(max(20 * tokens, LEAST_TOKENS), max(9_000_000, LEAST_EPOCHS * tokens))
    return int(seen / batch), seen / tokens


def _count_tokens(source: Sequence[str], target: Sequence[str], *, sentences: bool) -> float:
    """How many tokens the longer sides have, roughly."""
    letters = [_count_letters(side) if sentences else 1.0 for side in (source, target)]
    pairs = zip(source, target, strict=True)
    return sum(max((len(s) + 1) / letters[0], (len(t) + 1) / letters[1]) for s, t in pairs)


def _count_letters(texts: Sequence[str]) -> float:
    """How many letters a subword has, roughly; fewer where nobody writes spaces, as in Chinese."""
    return 4.5 if has_spaces(spread(texts)) else 1.5


def _percentile(values: Sequence[int], share: float) -> int:
    return sorted(values)[min(int(share * len(values)), len(values) - 1)]
