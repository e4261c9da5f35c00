"""Decisions for people who bring only data: a configuration that loads, with reasons that say what was chosen."""

from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from seq2see.config.load import load_config, preset_names, read_preset
from seq2see.data.pairs import Pairs
from seq2see.tasks.transduction import Transduction
from seq2see.training.plan import decide
from seq2see.training.request import asks_of_tokens

SENTENCE = "the quick brown fox jumps over the lazy dog and then it sleeps in the sun"


@pytest.mark.parametrize("count", [1, 2, 999, 20_000, 60_000])
@pytest.mark.parametrize("text", ["x", "3 May 1979", SENTENCE])
def test_a_decision_is_a_configuration(count: int, text: str) -> None:
    decision = decide(Pairs([text] * count, [text] * count))
    config = load_config(base={**decision.base, "data": {"train": "x.tsv"}}).config
    assert set(decision.remarks) == {"tokens", "model", "train"}
    assert f"{config.train.updates:,} updates" in decision.remarks["train"]
    assert config.train.updates >= config.train.validate_every


def test_short_texts_are_cut_into_characters_and_sentences_into_subwords() -> None:
    assert decide(Pairs(["3 May 1979"], ["1979-05-03"])).base["tokens"]["source"] == {"kind": "characters"}
    assert decide(Pairs([SENTENCE], ["kurz"])).base["tokens"]["joint"]["kind"] == "bpe"


def test_many_sentences_have_a_transformer_as_it_was_measured() -> None:
    fields, few, many, most = (
        decide(Pairs([text] * count, [text] * count)).base
        for text, count in (("3 May 1979", 60_000), (SENTENCE, 500), (SENTENCE, 30_000), (SENTENCE, 600_000))
    )
    assert fields["preset"] == few["preset"] == "bahdanau2015"
    train = read_preset("transformer-tiny")[0]["train"]
    length = {name: train[name] for name in ("updates", "validate_every")}
    assert many == {"preset": "transformer-tiny", "train": length}
    assert most["train"]["updates"] * train["batch_tokens"] > 3 * 600_000 * len(SENTENCE.split())


def test_a_few_long_texts_decide_nothing() -> None:
    texts = ["short"] * 99 + [SENTENCE]
    assert decide(Pairs(texts, texts)).base["tokens"]["source"] == {"kind": "characters"}


@pytest.mark.parametrize("side", [0, 1])
def test_a_tenth_of_long_texts_decides_whichever_side_they_are_on(side: int) -> None:
    short = ["short"] * 100
    for count, kind in ((4, "characters"), (10, "bpe")):
        texts = [SENTENCE] * count + short[count:]
        tokens = decide(Pairs(*((texts, short) if side == 0 else (short, texts)))).base["tokens"]
        assert next(iter(tokens.values()))["kind"] == kind


def test_a_text_of_64_characters_is_still_a_field() -> None:
    fields, sentences = (decide(Pairs(["a" * length], ["b"])).base["tokens"] for length in (64, 65))
    assert (fields["source"]["kind"], sentences["joint"]["kind"]) == ("characters", "bpe")


def test_up_to_50_000_pairs_of_sentences_have_5_000_subwords() -> None:
    preset, text = "luong2015", SENTENCE[:65]
    decided = [decide(Pairs([text] * count, ["b"] * count), preset=preset).base for count in (49_999, 50_000)]
    assert [base["tokens"]["joint"]["size"] for base in decided] == [5_000, 10_000]


def test_more_pairs_have_a_larger_model_and_more_training() -> None:
    few, many = (decide(Pairs(["3 May 1979"] * count, ["1979-05-03"] * count)).base for count in (500, 60_000))
    assert few["model"]["encoder"]["size"] < many["model"]["encoder"]["size"]
    assert few["train"]["batch_tokens"] <= many["train"]["batch_tokens"]


SIZES = ("size", "embedding_size", "dropout")


@pytest.mark.parametrize("preset", preset_names(task="transduction", images=False))
@pytest.mark.parametrize("text", ["3 May 1979", SENTENCE])
def test_a_preset_keeps_its_architecture(preset: str, text: str) -> None:
    decision = decide(Pairs([text] * 20_000, [text] * 20_000), preset=preset)
    config = load_config(base={**decision.base, "data": {"train": "x.tsv"}}).config
    written = read_preset(preset)[0]["model"]
    for half in ("encoder", "decoder"):
        mine, its = getattr(config.model, half), written[half]
        assert {k: v for k, v in mine.items() if k not in SIZES} == {k: v for k, v in its.items() if k not in SIZES}
    assert config.model.share == written.get("share", decision.base.get("model", {}).get("share"))


@pytest.mark.parametrize("preset", preset_names(task="transduction", images=False))
def test_one_table_of_embeddings_serves_both_sides_of_sentences(preset: str) -> None:
    pairs = Pairs([SENTENCE] * 8, [SENTENCE] * 8)
    decision = decide(pairs, preset=preset)
    if "share" in decision.base.get("model", {}):
        config = load_config(base={**decision.base, "data": {"train": "x.tsv"}}).config
        model = Transduction.learn(config, pairs).build(config)
        assert model.encoder.embed.weight is model.decoder.embed.weight is model.decoder.output.weight


def test_a_preset_keeps_its_size_for_what_it_is_made_for() -> None:
    assert "model" not in decide(Pairs(["a"], ["b"]), preset="luong2015").base
    many = Pairs([SENTENCE] * 20_000, [SENTENCE] * 20_000)
    assert decide(many, preset="transformer-tiny").base == {"preset": "transformer-tiny"}
    larger = decide(Pairs([SENTENCE] * 20_000, ["kurz"] * 20_000), preset="luong2015").base["model"]
    assert larger["decoder"] == {"size": 256, "embedding_size": 256, "dropout": 0.3}
    assert larger["encoder"]["size"] == 128  # each way, so that both are as wide as the decoder


@pytest.mark.parametrize("preset", ["transformer-tiny", "transformer-base", "gnmt2016"])
def test_a_preset_for_sentences_sees_a_few_of_them_no_more_often_than_is_useful(preset: str) -> None:
    decision = decide(Pairs([SENTENCE] * 2_000, [SENTENCE] * 2_000), preset=preset)
    config = load_config(base={**decision.base, "data": {"train": "x.tsv"}}).config
    assert "about 100 times through the data" in decision.remarks["train"]
    assert config.train.updates < read_preset(preset)[0]["train"]["updates"]
    assert preset != "transformer-tiny" or config.train.schedule["warmup"] <= config.train.updates // 10


def test_tokens_that_a_setting_speaks_of_are_those_of_the_preset() -> None:
    written, _ = read_preset("transformer-tiny")
    assert asks_of_tokens({"tokens.joint.size": 60, "seed": 2}, written["tokens"])
    assert not asks_of_tokens({"tokens.joint.min_count": 2}, written["tokens"])
    assert not asks_of_tokens({"tokens.joint.kind": "words", "seed": 2}, written["tokens"])


def test_a_joint_preset_stays_joint_for_short_texts() -> None:
    base = decide(Pairs(["a"], ["b"]), preset="transformer-tiny").base
    assert base["tokens"] == {"joint": {"kind": "characters"}}


@pytest.mark.parametrize("preset", preset_names(task="classification"))
def test_a_preset_for_labels_keeps_all_it_says_but_for_little_data_its_length(preset: str) -> None:
    base = decide(Pairs(["a b", "c"], ["x", "y"]), preset=preset).base
    assert (base["preset"], base["train"]["updates"], len(base)) == (preset, 100, 2)
    many = 400_000
    assert decide(Pairs(["a b " * 50] * many, ["x"] * many), preset=preset).base == {"preset": preset}


def test_labels_and_long_texts_choose_a_preset_of_their_own() -> None:
    sources = [f"text number {number}" for number in range(40)]
    assert decide(Pairs(sources, ["good", "bad"] * 20)).base["preset"] == "bigru-attention"
    assert decide(Pairs([s + " and more" * 40 for s in sources], ["good", "bad"] * 20)).base["preset"] == "han2016"
    assert (
        decide(Pairs([f"第{n}家的菜很好吃。" * 20 for n in range(40)], ["good", "bad"] * 20)).base["preset"]
        == "han2016"
    )
    assert decide(Pairs(sources, ["good", "bad"] * 20), task="transduction").base["preset"] == "bahdanau2015"


def test_labels_that_no_column_names_come_with_the_word_for_texts() -> None:
    sources, targets = [f"text number {number}" for number in range(40)], ["good", "bad"] * 20
    hint = "; if these are texts to write, say task=transduction"
    assert decide(Pairs(sources, targets)).remarks["preset"].endswith(f"2 labels{hint}")
    for named in (decide(Pairs(sources, targets, labels=True)), decide(Pairs(sources, targets), task="classification")):
        assert named.remarks["preset"].endswith("2 labels")


def test_many_different_numbers_are_results_unless_their_column_is_named_for_labels() -> None:
    sums = [(f"{a}+{b}", a + b) for a in range(30) for b in range(30)]
    sources, targets = [source for source, _ in sums], [str(total) for _, total in sums]
    assert decide(Pairs(sources, targets)).base["preset"] == "bahdanau2015"
    assert decide(Pairs(sources, targets, labels=True)).base["preset"] == "bigru-attention"
    assert decide(Pairs(sources, [f"intent {target}" for target in targets])).base["preset"] == "bigru-attention"
    stars = [str(total % 5 + 1) for _, total in sums]
    assert decide(Pairs(sources, stars)).base["preset"] == "bigru-attention"


def test_a_preset_for_words_keeps_all_it_says() -> None:
    assert decide(Pairs(["a b c"], ["c b a"]), preset="ntm2014").base == {"preset": "ntm2014"}


def test_scripts_without_spaces_are_learned_from_as_often_as_others() -> None:
    chinese = [f"第{n}家的菜很好吃。" * 10 for n in range(4000)]
    english = [f"{n} the food was good . " * 10 for n in range(4000)]
    for preset in ("han2016", "bigru-attention"):
        found = [decide(Pairs(texts, ["a", "b"] * 2000), preset=preset).base["train"] for texts in (chinese, english)]
        assert found[0]["updates"] > found[1]["updates"] > 300  # they have more letters than these have words


def test_lists_of_labels_are_several_for_a_source() -> None:
    pairs = Pairs([f"text {n}" for n in range(8)], ["a|b", "c"] * 4, labels=True, separator="|")
    for preset in (None, "han2016"):
        decision = decide(pairs, preset=preset)
        config = load_config(base={**decision.base, "data": {"train": "x.jsonl"}}).config
        assert config.label_separator == "|"
        assert (
            config.tokens.source
            == load_config(base={"preset": config.preset, "data": {"train": "x"}}).config.tokens.source
        )
        assert "because the data lists them" in decision.remarks["tokens"]
    assert "3 labels" in decide(pairs).remarks["preset"]


def test_the_median_of_lengths_makes_documents() -> None:
    short, long = [f"text number {n}" for n in range(40)], [f"text {n}" + " and more" * 40 for n in range(40)]
    for count, preset in ((15, "bigru-attention"), (25, "han2016")):
        assert decide(Pairs(long[:count] + short[count:], ["good", "bad"] * 20)).base["preset"] == preset


def test_of_a_long_document_3_000_words_count() -> None:
    updates = [
        decide(Pairs(["a " * words] * 20, ["x", "y"] * 10), preset="han2016").base["train"]["updates"]
        for words in (1_500, 3_000, 9_000)
    ]
    assert updates[0] < updates[1] == updates[2]


def test_images_are_as_small_as_their_shorter_side(tmp_path: Path) -> None:
    for size, preset in (((95, 300), "small-cnn"), ((300, 95), "small-cnn"), ((96, 97), "frozen-cnn")):
        Image.new("RGB", size).save(tmp_path / "p.png")
        assert decide(Pairs([str(tmp_path / "p.png")] * 4, ["x", "y"] * 2, labels=True)).base["preset"] == preset


def train_sentences(source: str, target: str, count: int) -> dict[str, Any]:
    """How long a preset that leaves this open trains on so many pairs."""
    train: dict[str, Any] = decide(Pairs([source] * count, [target] * count), preset="luong2015").base["train"]
    return train


def test_sentences_are_learned_from_as_was_measured() -> None:
    text = "a" * 70
    train = train_sentences(text, "b", 20_000)
    assert (train["learning_rate"], train["batch_tokens"]) == (0.003, 2048)
    tokens = 20_000 * 71 / 4.5
    assert train["updates"] * 2048 / tokens == pytest.approx(20, rel=1e-2)
    assert train_sentences("b", text, 20_000) == train  # the longer side counts, whichever it is
    many = train_sentences(text, "b", 60_000)
    assert 3 <= many["updates"] * many["batch_tokens"] / (3 * tokens) < 15  # much data less often
    assert train_sentences("菜" * 70, "b", 20_000)["updates"] > train["updates"]  # a letter says more


SYLLABLES = [f"{a} {b}{stress} {c}" for a in ("K", "SH") for b in ("AE", "IH") for c in "TZ" for stress in range(3)]
PHONEMES = [f"{first} {second}" for first in SYLLABLES for second in SYLLABLES]


def test_symbols_are_words_and_the_other_side_is_what_it_was() -> None:
    spellings = [f"word{number}" for number in range(len(PHONEMES))]
    decision = decide(Pairs(spellings, PHONEMES))
    words = {"kind": "words", "min_count": 1}
    assert decision.tokens == {"source": {"kind": "characters"}, "target": words}
    assert decision.remarks["tokens"].startswith("characters for sources; words for targets, because 10 different ones")
    assert decide(Pairs(PHONEMES, spellings)).tokens == {"source": words, "target": {"kind": "characters"}}
    long = decide(Pairs([f"{SENTENCE} {number}" for number in range(len(PHONEMES))], PHONEMES)).tokens
    assert long == {"source": {"kind": "bpe", "size": 2_000}, "target": words}


def test_long_sequences_of_symbols_are_no_sentences() -> None:
    commands = [" ".join(["I_TURN_LEFT", "I_JUMP"] * (number % 5 + 1)) for number in range(200)]
    assert decide(Pairs(["x"] * 200, commands)).tokens["target"] == {"kind": "words", "min_count": 1}
    many = decide(Pairs(["jump and turn"] * 30_000, commands * 150))
    assert many.preset == "bahdanau2015"
    tokens = 30_000 * 14  # the longer side has 13 letters and an end mark
    assert many.train["updates"] * many.train["batch_tokens"] == pytest.approx(20 * tokens, rel=0.01)


@pytest.mark.parametrize("preset", preset_names(task="transduction", images=False))
def test_every_preset_builds_a_model_of_symbols(preset: str) -> None:
    pairs = Pairs([f"word{number}" for number in range(len(PHONEMES))], PHONEMES)
    config = load_config(base={**decide(pairs, preset=preset).base, "data": {"train": "x.tsv"}}).config
    task = Transduction.learn(config, pairs)
    assert len(task.target) < 60
    task.build(config)
    task.objective(config.train)


def test_few_pairs_are_seen_hundreds_of_times_and_not_hundreds_of_thousands() -> None:
    for count, most in ((2, 300), (49, 300), (50, 1_500)):
        for text in ("3 May 1979", SENTENCE):
            train = decide(Pairs([text] * count, [text] * count)).train
            assert 100 <= train["updates"] <= most
    remark = decide(Pairs(["3 May 1979"] * 2, ["1979-05-03"] * 2)).remarks["train"]
    assert remark == "batches of 1,024 tokens, 300 updates: about 300 times through the data"
    labels = decide(Pairs(["a b", "c"], ["x", "y"]), preset="bigru-attention").remarks["train"]
    assert labels == "100 updates: 100 times through so little data are enough"


@pytest.mark.parametrize(
    ("pairs", "length", "batch", "updates", "size"),
    [
        (49, 60, 1024, 875, 64),  # 300 times 2,989 tokens
        (50, 10, 1024, 1464, 64),  # a million and a half of them at least
        (999, 10, 1024, 1464, 64),
        (1_000, 10, 1024, 1464, 128),
        (4_999, 10, 1024, 1464, 128),
        (5_000, 10, 2048, 732, 128),
        (20_000, 10, 2048, 2148, 128),  # twenty times 220,000
        (49_999, 10, 2048, 4394, 128),
        (50_000, 10, 2048, 4394, 256),  # nine million, which is less than twenty times
        (199_999, 10, 2048, 4394, 256),
        (200_000, 10, 4096, 2197, 256),
        (200_000, 59, 4096, 8789, 256),  # three times twelve million
    ],
)
def test_how_long_short_texts_are_learned_from(pairs: int, length: int, batch: int, updates: int, size: int) -> None:
    found = decide(Pairs(["a" * length] * pairs, ["b"] * pairs))
    train = {"updates": updates, "batch_tokens": batch, "validate_every": updates // 20, "patience": 8}
    assert found.train == train
    assert found.model is not None
    assert found.model["decoder"] == {"size": size, "embedding_size": size}
    turned = decide(Pairs(["b"] * pairs, ["a" * length] * pairs))
    assert turned.train == train


@pytest.mark.parametrize(
    ("pairs", "batch", "updates", "size", "subwords"),
    [
        (1_999, 1024, 1464, 128, 2_000),
        (2_000, 1024, 1464, 128, 5_000),
        (9_999, 2048, 1952, 128, 5_000),  # twenty times 199,980 tokens of 4.5 letters
        (10_000, 2048, 1953, 256, 5_000),
        (50_000, 2048, 4394, 256, 10_000),
    ],
)
def test_how_long_sentences_are_learned_from(pairs: int, batch: int, updates: int, size: int, subwords: int) -> None:
    found = decide(Pairs(["a" * 89] * pairs, ["b"] * pairs), preset="luong2015").base
    assert found["train"] == {
        "updates": updates,
        "batch_tokens": batch,
        "validate_every": updates // 20,
        "learning_rate": 0.003,
        "label_smoothing": 0.1,
        "average_checkpoints": 5,
    }
    assert found["model"]["decoder"] == {"size": size, "embedding_size": size, "dropout": 0.3}
    assert found["model"]["share"] == ["fitting"]
    assert found["tokens"] == {"joint": {"kind": "bpe", "size": subwords}}


@pytest.mark.parametrize(("pairs", "tokens"), [(500, 1_500_000), (2_000, 100 * 40_000)])
def test_a_preset_for_sentences_sees_few_of_them_a_hundred_times(pairs: int, tokens: int) -> None:
    written = read_preset("transformer-tiny")[0]["train"]
    found = decide(Pairs(["a" * 89] * pairs, ["b"] * pairs), preset="transformer-tiny").base["train"]
    updates = tokens // written["batch_tokens"]
    assert found["updates"] == updates
    assert found["validate_every"] == max(updates * written["validate_every"] // written["updates"], 10)
    assert found["schedule"] == {"warmup": min(written["schedule"]["warmup"], updates // 10)}


def test_a_preset_for_sentences_sees_very_many_of_them_three_times() -> None:
    written = read_preset("transformer-tiny")[0]["train"]
    found = decide(Pairs(["a" * 1484] * 20_000, ["b"] * 20_000)).base["train"]
    updates = 3 * 20_000 * 330 // written["batch_tokens"]
    assert updates > written["updates"]
    assert found == {"updates": updates, "validate_every": updates * written["validate_every"] // written["updates"]}


@pytest.mark.parametrize(("pairs", "words", "times"), [(996, 99, 60), (1_000, 99, 30), (200, 4_000, 60)])
def test_how_long_labels_are_learned_from(pairs: int, words: int, times: int) -> None:
    """Every text has an end mark beside its words, of which no more than 3,000 count."""
    written = read_preset("bigru-attention")[0]["train"]
    found = decide(Pairs(["a " * words] * pairs, ["x", "y"] * (pairs // 2)), preset="bigru-attention").base
    updates = times * pairs * (min(words, 3_000) + 1) // written["batch_tokens"]
    if updates < written["updates"]:
        assert found["train"] == {"updates": updates, "validate_every": updates // 15}
    else:
        assert "train" not in found


@pytest.mark.parametrize(("words", "preset"), [(60, "bigru-attention"), (61, "han2016")])
def test_a_text_of_60_words_is_no_document(words: int, preset: str) -> None:
    """What counts is the middle of all texts."""
    usual = [f"{'a ' * (words - 1)}{number}" for number in range(41)]
    texts = [*["short"] * 20, *usual, *["long " * 200] * 20]
    assert decide(Pairs(texts, ["good", "bad", "good"] * 27)).preset == preset
