"""Predictions of untrained models under rules, prefixes, coverage, and together with others."""

import re
from collections.abc import Iterator
from dataclasses import replace
from math import log
from pathlib import Path
from typing import Any
from unicodedata import normalize

import numpy as np
import pytest
import torch

from seq2see.config.load import load_config
from seq2see.core.errors import ConfigError, SearchError, Seq2SeeError, TokenError
from seq2see.core.registry import names, part
from seq2see.core.special_tokens import END, START, UNKNOWN
from seq2see.core.token import Token
from seq2see.data.modalities.label_set import Labels
from seq2see.data.modalities.target import match_targets
from seq2see.data.pairs import Pairs
from seq2see.data.trainable_tokenizers import Words
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.explain.copy_unknown import find_word, replace_unknown
from seq2see.explain.text_attention import explain_text
from seq2see.runs.decoding import spread_prefix
from seq2see.runs.folder import RunFolder
from seq2see.runs.run import Run
from seq2see.search.beam import Beam
from seq2see.search.greedy import Greedy
from seq2see.search.mbr import MinimumBayesRisk
from seq2see.search.rules import Rules
from seq2see.search.sample import Sample
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

TEXTS = ["a cab had a bad day", "the cab was bad", "a day", "dad had the bad cab today"] * 2
TOKENIZERS = [
    {"kind": name, "size": 40} if name in ("bpe", "unigram") else {"kind": name}
    for name in names("tokenizer")
    if name not in ("images", "documents", "labels")
]
SEARCHES = [
    Greedy(),
    Beam(width=4, n_best=4),
    MinimumBayesRisk(search=part("search", {"kind": "beam", "width": 4}), power=2.0, samples=5, n_best=2),
    Sample(n_best=2, seed=3),
]
# every tokenizer with a beam, every search with words
CUTS = [*((tokenizer, SEARCHES[1]) for tokenizer in TOKENIZERS), *(("words", s) for s in (SEARCHES[0], SEARCHES[2]))]


def make_run(target: Any = "words", *, source: Any = "words", preset: str = "bahdanau2015", seed: int = 1) -> Run:
    """A small model that was never trained."""
    small: dict[str, Any] = {"size": 6, "embedding_size": 4}
    start = (
        {"initial_state": "projected"} if preset == "luong2015" else {}
    )  # else the encoder would have to be half as wide
    tokens = {"source": source, "target": target}
    base = {"preset": preset, "seed": seed, "data": {"train": "x"}, "tokens": tokens}
    config = load_config(base={**base, "model": {"encoder": small, "decoder": small | start}}).config
    task = Transduction.learn(config, Pairs(TEXTS, TEXTS))
    return Run(RunFolder(Path("nowhere")), config, task, task.build(config).eval())


def spans(prediction: Any) -> set[str]:
    """Everything that one or more whole tokens of an output spell."""
    tokens = [token for token in prediction.tokens if token.end > token.start]
    ends = [token.end for token in tokens]
    return {prediction.text[token.start : end] for token in tokens for end in ends if end > token.start}


def outputs(run: Run, search: Any, **options: Any) -> list[Any]:
    found = run.predict(TEXTS[:4], search=search, **options)
    return [each for prediction in found for each in (prediction, *prediction.alternatives)]


@pytest.mark.parametrize(("tokenizer", "search"), CUTS, ids=lambda it: it["kind"] if isinstance(it, dict) else None)
def test_banned_words_are_not_written(tokenizer: Any, search: Any) -> None:
    run = make_run(tokenizer)
    found = outputs(run, search, min_length=6, max_length=12)
    written = {word for output in found for word in spans(output) if len(word.strip()) > 1}
    banned = sorted(word for word in written if word == word.strip())[:20]
    assert banned
    for output in outputs(run, search, min_length=6, max_length=12, ban=banned):
        assert not spans(output) & set(banned)


@pytest.mark.parametrize(("tokenizer", "search"), CUTS, ids=lambda it: it["kind"] if isinstance(it, dict) else None)
def test_outputs_begin_with_their_prefix(tokenizer: Any, search: Any) -> None:
    run = make_run(tokenizer)
    prefixes = ["the bad", "", "a ", "a cab had"]  # one that a space ends
    # a prefix may break rules
    found = run.predict(TEXTS[:4], search=search, prefix=prefixes, no_repeat=1, ban=["bad"], max_length=12)
    for text, prefix, prediction in zip(TEXTS, prefixes, found, strict=False):
        for output in (prediction, *prediction.alternatives):
            assert (output.text + " ").startswith(prefix)
            again = explain_text(run.task, run.model, text, output.ids).target_tokens
            said = [token.confidence for token in output.tokens]
            assert said == pytest.approx([token.confidence for token in again], abs=1e-5)


def test_a_word_of_a_prefix_may_go_on_unless_a_space_ends_it() -> None:
    run = make_run({"kind": "bpe", "size": 60})
    pieces = run.task.target.pieces
    for prefix, begun in (("to", False), ("to ", True)):
        (output,) = run.predict(["a day"], prefix=prefix, min_length=6)
        head = len(run.task.target.ids(["to"])[0]) - 1
        following = [pieces[number][0] == "\ufdd0" for number in output.ids[head : head + 1] if number != END]
        assert not begun or all(following)
        assert output.text.startswith("to")


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
def test_lengths_are_kept(search: Any) -> None:
    run = make_run()
    for output in outputs(run, search, min_length=5, max_length=7):
        assert 5 <= len([number for number in output.ids if number != END]) <= len(output.ids) <= 7
    for output in outputs(run, search, min_length=40):
        assert len(output.ids) >= 41
    for output in outputs(run, search, no_repeat=2, max_length=30):
        pairs = list(zip(output.ids, output.ids[1:], strict=False))
        assert len(set(pairs)) == len(pairs)


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"prefix": "a cab had", "max_length": 2}, SearchError, "got 3 tokens .'a cab had'. for 2"),
        ({"prefix": "a zebra"}, TokenError, "got 'zebra' in 'a zebra'"),
        ({"prefix": ["a", "b"]}, SearchError, "got 2 for 4 texts"),
    ],
)
def test_prefixes_that_do_not_fit_are_refused(options: dict[str, Any], error: type, sentence: str) -> None:
    with pytest.raises(error, match=sentence):
        make_run().predict(TEXTS[:4], **options)


@pytest.mark.parametrize("prefix", [5, None, ["a", 5], [("a", "b"), "c"], [[1], [2]]], ids=repr)
def test_what_is_no_prefix_is_refused(prefix: Any) -> None:
    with pytest.raises(SearchError, match="must be a text or a tuple of ids, for all texts, or a list"):
        spread_prefix(prefix, 2)


def test_ids_may_be_a_prefix_for_all_texts() -> None:
    run = make_run()
    ids = tuple(run.task.target.ids(["a cab"])[0][:-1])
    for output in run.predict(TEXTS[:3], prefix=ids):
        assert output.ids[: len(ids)] == ids


def test_a_prefix_may_fill_the_output() -> None:
    (output,) = make_run().predict(["a day"], prefix="a cab had", max_length=3)
    assert (output.text, output.finished) == ("a cab had", False)


def test_words_are_spelled_composed_and_as_typed() -> None:
    composed, typed = "caf\u00e9", normalize("NFD", "caf\u00e9")
    for form in ("nfc", "none"):
        tokenizer = Words(min_count=1, normalise=form).learn(["x"])
        assert {composed, "\ufdd0" + composed} <= tokenizer.spell(typed)
    assert {typed, "\ufdd0" + typed} <= Words(min_count=1, normalise="none").learn(["x"]).spell(typed)
    assert "new\ufdd0york" in tokenizer.spell("new york")


@pytest.mark.parametrize("preset", ["bahdanau2015", "luong2015"])
def test_coverage_is_the_attention_of_the_replay(preset: str) -> None:
    run = make_run(preset=preset)
    search = Beam(width=4, n_best=4, length_penalty=0.6, length_form="gnmt", coverage_penalty=0.3)
    for output in outputs(run, search, min_length=3, max_length=9):
        paid = explain_text(run.task, run.model, output.source, output.ids).weights.sum(axis=0)
        likely = sum(log(token.confidence) for token in output.tokens)
        score = likely / ((5 + len(output.ids)) / 6) ** 0.6 + 0.3 * np.log(np.minimum(paid, 1)).sum()
        assert output.score == pytest.approx(score, abs=1e-4)


def test_coverage_of_a_model_without_attention_is_refused() -> None:
    with pytest.raises(SearchError, match="leave out coverage_penalty: this model has no attention"):
        make_run(preset="sutskever2014").predict("a day", search=Beam(coverage_penalty=0.1))


def test_perplexity_is_one_over_the_mean_probability_of_the_targets() -> None:
    run, pairs = make_run(), Pairs(TEXTS[:3], TEXTS[1:4])
    ids = [run.task.target.encode(target).ids for target in pairs.target]
    traces = [explain_text(run.task, run.model, *pair) for pair in zip(pairs.source, ids, strict=True)]
    logs = [log(token.confidence) for trace in traces for token in trace.target_tokens]
    metric = run.task.perplexity(run.model, pairs)
    assert metric.value == pytest.approx(np.exp(-np.mean(logs)), rel=1e-4)
    assert f"n:3|unit:token|tokens:{len(logs)}|" in metric.signature
    grouped = Pairs([*pairs.source, *pairs.source[:1]], [*pairs.target, TEXTS[2]]).group()
    assert run.task.perplexity(run.model, grouped).signature.startswith("perplexity|n:4|"), "all targets count"


@pytest.mark.parametrize("inputs", [None, 5, [None], Path("a.png"), b"ab", {"text": "a"}], ids=str)
def test_what_is_no_text_is_refused_in_a_sentence(inputs: Any) -> None:
    with pytest.raises(TokenError, match="predict takes a text, or a list of them; got"):
        make_run()._list_inputs(inputs)  # predict itself checks its types in tests


class Frame:
    """As data frames are: iterating over one gives the names of its columns."""

    columns = ("id", "words")

    def __getitem__(self, name: str) -> list[Any]:
        return {"id": [7, 8], "words": TEXTS[:2]}[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


def test_the_texts_of_a_data_frame_are_predicted_and_not_its_names() -> None:
    run = make_run()
    wanted = run.predict(TEXTS[:2])
    for given in (Frame(), np.array(TEXTS[:2]), iter(TEXTS[:2])):
        assert run._list_inputs(given) == TEXTS[:2]
    assert [each.text for each in run.predict(Frame())] == [each.text for each in wanted]


def test_a_search_may_be_named_as_in_a_configuration() -> None:
    run = make_run()
    assert run.predict("a day", search="greedy").ids == run.predict("a day", search=Greedy()).ids
    wide = run.predict("a day", search={"kind": "beam", "width": 3, "n_best": 2})
    assert len(wide.alternatives) == 1
    assert len(run.predict("a day", search={"kind": "beam", "width": 2, "max_length": 3}).ids) <= 3
    with pytest.raises(ConfigError, match="no search named 'greeedy'"):
        run.predict("a day", search="greeedy")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"min_length": "a"}, "min_length must be a whole number; got 'a'"),
        ({"max_length": 2.5}, "max_length must be a whole number; got 2.5"),
        ({"ban": None}, "ban must be a list of words"),
        ({"ban": 5}, "ban must be a list of words"),
    ],
)
def test_rules_of_other_types_are_refused(options: dict[str, Any], sentence: str) -> None:
    rules = Rules()
    for name, value in options.items():
        object.__setattr__(rules, name, value)  # the constructor checks its types in tests
    with pytest.raises(SearchError, match=sentence):
        rules.__post_init__()


def test_weights_that_are_no_numbers_write_nothing_in_a_sentence() -> None:
    run = make_run()
    with torch.no_grad():
        run.model.decoder.output.bias += float("nan")
    with pytest.raises(SearchError, match=r"the weights of .* are not numbers"):
        run.predict("a day")


def test_texts_and_labels_do_not_predict_together() -> None:
    labels, tokens = Labels().learn(["a", "b"]), make_run().task.target
    assert match_targets(labels, tokens) is None
    assert match_targets(tokens, labels) is None


def test_a_beam_of_none_is_refused() -> None:
    with pytest.raises(SearchError, match="beam must be greater than or equal to 1; got 0"):
        make_run().predict("a", beam=0)


def test_options_that_cannot_be_are_one_sentence() -> None:
    run = make_run()
    wrong: list[tuple[dict[str, Any], str]] = [
        ({"baem": 3}, "there is no decoding option 'baem'; did you mean 'beam'?"),
        ({"search": Greedy(), "beam": 3}, "beam must be given to the search itself; got both"),
        ({"search": Greedy(), "n_best": 3}, "n_best must be given to the search itself"),
        ({"dictionary": {"a": "b"}}, "dictionary goes with replace_unknown"),
        ({"decoding": run.choose_decoding(), "beam": 3}, "decoding stands for a search and all options"),
    ]
    for options, sentence in wrong:
        with pytest.raises(SearchError, match=re.escape(sentence)):
            run.predict("a day", **options)


def test_options_change_a_search_that_is_named() -> None:
    run = make_run()
    wide = run.predict("a day", search={"kind": "beam", "width": 2}, n_best=3, max_length=4)
    assert len(wide.alternatives) == 2
    assert all(len(each.ids) <= 4 for each in (wide, *wide.alternatives))
    drawn = [run.predict("a day", seed=seed, max_length=9).ids for seed in (3, 3, 4)]
    assert drawn[0] == drawn[1] == run.predict("a day", search=Sample(seed=3), max_length=9).ids


def test_rows_of_a_memory_are_no_source_words() -> None:
    with pytest.raises(SearchError, match=r"leave out coverage_penalty: .* rows stand for no source token"):
        make_run(preset="ntm2014").predict("a day", search=Beam(coverage_penalty=0.1))
    run = make_ignorant(preset="ntm2014")
    with pytest.raises(SearchError, match=r"leave out replace_unknown: .* no word of its source"):
        run.predict("the zebra", replace_unknown=True, max_length=5)


def make_ensemble() -> Run:
    """Three architectures, three ways to read a source, one target vocabulary."""
    first = make_run()
    second = make_run(source="characters", preset="luong2015", seed=2)
    third = make_run(source={"kind": "bpe", "size": 40}, preset="sutskever2014", seed=3)
    return replace(first, others=(second, third))


def test_runs_predict_together_with_their_mean_probability() -> None:
    run = make_ensemble()
    for output in outputs(run, Beam(width=4, n_best=4), min_length=3, max_length=9):
        mean = np.mean([rescore(one, output, output.ids) for one in (run, *run.others)], axis=0)
        assert [token.confidence for token in output.tokens] == pytest.approx(mean.tolist(), abs=1e-5)


@torch.inference_mode()
def rescore(run: Run, output: Any, ids: Any) -> list[float]:
    """The probability that one run alone gives each token."""
    source = torch.tensor(run.task.source.tokenizer.ids([output.source]))
    logits = run.model(source, torch.ones_like(source, dtype=torch.bool), torch.tensor([[START, *ids[:-1]]]))
    return logits[0].softmax(dim=-1).gather(1, torch.tensor(ids).unsqueeze(1)).squeeze(1).tolist()


def test_runs_may_number_the_same_words_otherwise() -> None:
    first = make_run()
    config = first.config.model_copy(update={"preset": "luong2015", "seed": 2})
    other = Transduction.learn(config, Pairs(TEXTS, [*TEXTS, *["today dad"] * 9]))
    assert match_targets(other.target, first.task.target) not in (None, list(range(len(other.target))))
    assert match_targets(other.target, make_run("characters").task.target) is None
    both = replace(first, others=(replace(first, task=other, model=other.build(config).eval()),))
    for output in outputs(both, Beam(width=4), min_length=3, max_length=9):
        theirs = other.target.ids([output.text])[0][: len(output.ids)]
        said = [rescore(both, output, output.ids), rescore(both.others[0], output, theirs)]
        mean = np.mean(said, axis=0)
        assert [token.confidence for token in output.tokens] == pytest.approx(mean.tolist(), abs=1e-5)


@pytest.mark.parametrize("search", [Sample(n_best=2), Beam(width=3, coverage_penalty=0.2)], ids=["sample", "beam"])
def test_company_changes_nothing_for_several_runs(search: Any) -> None:
    run = make_ensemble()
    options = {"search": search, "no_repeat": 2, "max_length": 7, "prefix": "the"}
    together = run.predict(TEXTS[:4], **options)
    for text, output in zip(TEXTS, together, strict=False):
        alone = run.predict(text, **options)
        assert (alone.ids, [a.ids for a in alone.alternatives]) == (output.ids, [a.ids for a in output.alternatives])
        assert alone.score == pytest.approx(output.score, abs=1e-4)
    assert together[0].attention.maps  # of the first run


def make_ignorant(**options: Any) -> Run:
    """A run that finds the unknown word likely."""
    run = make_run(**options)
    with torch.no_grad():
        run.model.decoder.output.bias[UNKNOWN] += 4
    return run


@pytest.mark.parametrize("search", SEARCHES, ids=lambda search: type(search).__name__)
@pytest.mark.parametrize("source", ["words", "characters"])
def test_unknown_words_are_those_that_were_looked_at(source: str, search: Any) -> None:
    run = make_ignorant(source=source)
    dictionary = {"cab": "TAXI", "zebra": "Zebra"}
    options = {"search": search, "max_length": 6}
    texts = ["the zebra had a cab (bad)", "a day"]
    for prediction in run.predict(texts, replace_unknown=True, dictionary=dictionary, **options):
        assert UNKNOWN in prediction.ids
        trace = prediction.attention
        assert (trace.target, [t.text for t in trace.target_tokens]) == (
            prediction.text,
            [t.text for t in prediction.tokens],
        )
        looked = trace.weights[:, :-1].argmax(axis=1)
        for place, number in enumerate(prediction.ids):
            token = prediction.tokens[place]
            assert prediction.text[token.start : token.end] == (token.text if number != END else "")
            if number == UNKNOWN and source == "words":
                seen = prediction.attention.source_tokens[looked[place]].text
                assert token.text == dictionary.get(seen, seen)
        words = (
            set(prediction.source.replace("(", " ").replace(")", " ").split()) | {"(", ")"} | set(dictionary.values())
        )
        known = set(" ".join(TEXTS).split())
        assert {token.text for token in prediction.tokens if token.text != "</s>"} <= words | known
    assert all(UNKNOWN not in output.ids for output in run.predict(texts, **options))


@pytest.mark.parametrize("dictionary", [{}, {"zebra": "Zebra", "had": "was a Zebra"}])
def test_a_banned_word_is_not_put_in_for_an_unknown_one(dictionary: dict[str, str]) -> None:
    run, texts = make_ignorant(), ["zebra", "the zebra had", "zebra zebra cab"]
    plain = run.predict(texts, replace_unknown=True, dictionary=dictionary, max_length=6)
    banned = dictionary.get("zebra", "zebra")
    assert any(banned in prediction.text.split() for prediction in plain)
    for prediction in run.predict(texts, replace_unknown=True, dictionary=dictionary, max_length=6, ban=[banned]):
        assert banned not in prediction.text.split()
        for token in prediction.tokens:
            assert prediction.text[token.start : token.end] in (token.text, "")


def test_unknown_words_keep_the_spaces_of_the_source() -> None:
    target = make_run().task.target
    ids = [UNKNOWN, *target.ids(["cab"])[0][:-1], UNKNOWN, UNKNOWN, END]
    words = [" zebra", " (", "x"]
    assert target.decode(ids, unknown=words) == "zebra cab (x"
    assert [token.text for token in target.tokens(ids, unknown=words)] == ["zebra", "cab", "(", "x", "</s>"]


@pytest.mark.parametrize(
    ("text", "start", "end", "word"),
    [
        ("我爱北京天安门", 2, 4, "北京"),
        ("the zebra's", 5, 7, " zebra"),
        ("ฉันรักไทย", 6, 9, "ไทย"),
        ("ราคา abc", 6, 7, " abc"),
    ],
)
def test_the_word_around_a_token_ends_where_words_do(text: str, start: int, end: int, word: str) -> None:
    tokens = (Token(text[start:end], start, end), Token("</s>", len(text), len(text)))
    trace = AttentionTrace(text, "", tokens, (), ())
    assert find_word(trace, np.array([0.4, 0.6], dtype=np.float32), {}) == word


def test_an_image_has_no_words_for_unknown_ones() -> None:
    trace = AttentionTrace("a.png", "", (Token("row 1, column 1", 0, 0),), (), (), (1, 1))
    with pytest.raises(SearchError, match="leave out replace_unknown: an image has no words"):
        replace_unknown(Output("", 0.0, (), (UNKNOWN,), "a.png"), trace, make_run().task.target)


def test_unknown_words_need_attention() -> None:
    run = make_ignorant(preset="cho2014")
    with pytest.raises(Seq2SeeError, match="leave out replace_unknown: this model has no attention"):
        run.predict("the zebra", replace_unknown=True, max_length=5)


def test_a_configuration_holds_rules() -> None:
    run = make_run()
    ruled = replace(run, config=run.config.model_copy(update={"search": {"kind": "greedy", "max_length": 3}}))
    assert all(len(output.ids) <= 3 for output in ruled.predict(TEXTS[:4]))


def test_a_named_search_takes_a_rule_of_the_configuration_back() -> None:
    run = make_run()
    ruled = replace(run, config=run.config.model_copy(update={"search": {"kind": "greedy", "max_length": 3}}))
    free = ruled.predict(TEXTS[:4], search={"kind": "greedy", "max_length": None})
    assert [output.ids for output in free] == [output.ids for output in run.predict(TEXTS[:4], beam=1)]
    assert any(len(output.ids) > 3 for output in free)


def test_a_text_that_could_not_be_written_is_refused() -> None:
    with pytest.raises(TokenError, match=r"texts must be Unicode .* got 'a\\ud800b'"):
        make_run().predict(["fine", "a\ud800b"])
