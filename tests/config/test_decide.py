"""Decisions for people who bring only data: a configuration that loads, with reasons that say what was chosen."""

import pytest

from seq2see.cli.training import asks_of_tokens
from seq2see.config.decide import decide
from seq2see.config.load import load_config, preset_names, read_preset
from seq2see.data.pairs import Pairs
from seq2see.tasks.transduction import Transduction

SENTENCE = "the quick brown fox jumps over the lazy dog and then it sleeps in the sun"


@pytest.mark.parametrize("count", [1, 2, 999, 20_000, 60_000])
@pytest.mark.parametrize("text", ["x", "3 May 1979", SENTENCE])
def test_a_decision_is_a_configuration(count: int, text: str) -> None:
    decision = decide(Pairs([text] * count, [text] * count))
    config = load_config(base={**decision.base, "data": {"train": "x.tsv"}}).config
    assert set(decision.remarks) == {"tokens", "model", "train"}
    assert f"{config.train.updates:,} updates" in decision.remarks["train"]
    assert config.train.updates >= config.train.evaluate_every


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
    length = {name: train[name] for name in ("updates", "evaluate_every")}
    assert many == {"preset": "transformer-tiny", "train": length}
    assert most["train"]["updates"] * train["batch_tokens"] > 3 * 600_000 * len(SENTENCE.split())


def test_a_few_long_texts_decide_nothing() -> None:
    texts = ["short"] * 99 + [SENTENCE]
    assert decide(Pairs(texts, texts)).base["tokens"]["source"] == {"kind": "characters"}


def test_more_pairs_have_a_larger_model_and_more_training() -> None:
    few, many = (decide(Pairs(["3 May 1979"] * count, ["1979-05-03"] * count)).base for count in (500, 60_000))
    assert few["model"]["encoder"]["size"] < many["model"]["encoder"]["size"]
    assert few["train"]["batch_tokens"] <= many["train"]["batch_tokens"]


SIZES = ("size", "embedding_size", "dropout")


@pytest.mark.parametrize("preset", preset_names(task="transduction", pictures=False))
@pytest.mark.parametrize("text", ["3 May 1979", SENTENCE])
def test_a_preset_keeps_its_architecture(preset: str, text: str) -> None:
    decision = decide(Pairs([text] * 20_000, [text] * 20_000), preset=preset)
    config = load_config(base={**decision.base, "data": {"train": "x.tsv"}}).config
    written = read_preset(preset)[0]["model"]
    for half in ("encoder", "decoder"):
        mine, its = getattr(config.model, half), written[half]
        assert {k: v for k, v in mine.items() if k not in SIZES} == {k: v for k, v in its.items() if k not in SIZES}
    assert config.model.share == written.get("share", decision.base.get("model", {}).get("share"))


@pytest.mark.parametrize("preset", preset_names(task="transduction", pictures=False))
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
