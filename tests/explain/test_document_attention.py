"""Documents: attention and occlusion point at a planted sentence, and every view shows what the trace says."""

import io
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from planted import FILLING, SENTENCES, configure_planted, write_planted
from reversal import start
from rich.console import Console

import seq2see
from seq2see.core.errors import AttentionError, Seq2SeeError
from seq2see.data.pairs import Pairs
from seq2see.explain.classifier_attention import explain_layers
from seq2see.explain.document_attention import explain_document
from seq2see.explain.document_trace import AttendedSentence, AttendedWord, DocumentTrace
from seq2see.explain.occlusion import leave_one_out, measure_drops
from seq2see.metrics.labels import tabulate_reliability
from seq2see.metrics.rank import compare_ranks
from seq2see.render.figures.document_figure import draw_document
from seq2see.render.figures.reliability_diagram import draw_reliability
from seq2see.render.html.page import render_page
from seq2see.render.html.run_report import write_report
from seq2see.runs.evaluation import evaluate
from seq2see.runs.run import Run
from seq2see.tasks.classification import Classification


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """A tiny hierarchical network that has learned what the planted sentences say."""
    folder = tmp_path_factory.mktemp("planted")
    config = configure_planted(write_planted(folder / "planted.jsonl"))
    list(start(config, folder / "run").loop.run())
    return seq2see.load(folder / "run")


@pytest.mark.slow
def test_attention_and_occlusion_point_at_the_planted_sentence(trained: Run) -> None:
    for label, planted in SENTENCES.items():
        for place in range(4):
            sentences = FILLING[:3]
            sentences.insert(place, planted)
            prediction = trained.predict(" ".join(sentences))
            assert prediction.text == label
            trace = prediction.faithfulness
            assert isinstance(trace, DocumentTrace)
            assert np.argmax([sentence.weight for sentence in trace.sentences]) == place
            assert np.argmax([sentence.drop for sentence in trace.sentences]) == place
            assert sum(sentence.weight or 0.0 for sentence in trace.sentences) == pytest.approx(1, abs=1e-5)
            for sentence in trace.sentences:
                assert sum(word.weight or 0.0 for word in sentence.words) == pytest.approx(1, abs=1e-5)
                assert trace.source[sentence.start : sentence.end] == sentences[trace.sentences.index(sentence)]


@pytest.mark.slow
def test_a_run_is_calibrated_and_reported(trained: Run) -> None:
    assert trained.task.temperature != 1.0
    pairs = [(f"{FILLING[0]} {text}", label) for label, text in SENTENCES.items()]
    result = evaluate(trained, Pairs(*zip(*pairs, strict=True)), name="planted")
    assert {metric.name: metric.value for metric in result.metrics}["accuracy"] == 100
    page = write_report(trained, result).read_text()
    assert '"sentences"' in page
    blank = trained.predict(" ")
    assert (blank.text, blank.probabilities) == ("", None)
    with pytest.raises(Seq2SeeError, match="a blank source"):
        blank.attention  # noqa: B018


def make_trace() -> DocumentTrace:
    """Two sentences whose numbers a person can check."""
    first = AttendedSentence(0, 4, (AttendedWord("a", 0, 1, 0.75, 0.2), AttendedWord("$b", 2, 4, 0.25, 0.0)), 0.64, 0.5)
    second = AttendedSentence(5, 8, (AttendedWord("</b", 5, 8, 1.0),), 0.36, -0.1)
    return DocumentTrace("a $b\n</b", "good", {"good": 0.9, "bad": 0.1}, (first, second))


def test_words_are_as_strong_as_the_root_of_their_sentence_makes_them() -> None:
    first, second = make_trace().sentences
    assert first.strengths == pytest.approx([0.8 * 0.75, 0.8 * 0.25])
    assert second.strengths == pytest.approx([0.6])


def test_every_view_has_all_words(tmp_path: Path) -> None:
    trace = make_trace()
    assert json.loads(trace.to_json())["sentences"][0]["words"][1]["text"] == "$b"
    page = render_page(trace.to_dict())
    assert "</b" not in re.findall(r'id="seq2see-payload">(.*?)</script>', page)[0]
    assert "<iframe" in trace._repr_html_()
    for suffix in ("png", "svg"):
        assert trace.save(tmp_path / f"x.{suffix}").stat().st_size > 3000
    assert "seq2see-payload" in trace.save(tmp_path / "x.html").read_text()
    with pytest.raises(Seq2SeeError, match=r"must end in \.png or \.svg"):
        trace.renderer.save(trace, tmp_path / "x.gif")
    texts = [text.get_text() for text in draw_document(trace).texts]
    assert {"a", "$b", "</b", "0.640", "-0.50", "good  90.0%"} <= set(texts)
    console = Console(width=80, record=True, file=io.StringIO())
    console.print(trace.renderer.to_terminal(trace))
    shown = console.export_text()
    assert "a $b" in shown
    assert "0.640" in shown
    assert re.search("words with the most attention: (</b 0.600, a 0.600|a 0.600, </b 0.600)", shown)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("The cat sat .", "The cat sat ."),
        ("האוכל היה טוב .", ". טוב היה האוכל"),
        ("קניתי iPhone 12 Pro בחנות 7 פעמים", "פעמים 7 בחנות iPhone 12 Pro קניתי"),
        ("The word שלום עולם means ( hello )", "The word עולם שלום means ( hello )"),
        ("טוב ( מאוד )", "( מאוד ) טוב"),  # brackets are turned, too
        ("12 .", "12 ."),
    ],
)
def test_words_run_as_their_script_does(text: str, shown: str) -> None:
    spans = [match.span() for match in re.finditer(r"\S+", text)]
    words = tuple(AttendedWord(text[start:end], start, end, 0.1) for start, end in spans)
    trace = DocumentTrace(text, "x", {}, (AttendedSentence(0, len(text), words, 1.0),))
    _, *drawn = draw_document(trace).texts
    placed = sorted((each.get_position()[0], each.get_text()) for each in drawn if each.get_text() in text.split())
    assert [each for _, each in placed] == shown.split()


def test_a_long_document_fits_a_figure() -> None:
    sentence = make_trace().sentences[0]
    many = tuple(replace(sentence, weight=1 / (n + 1)) for n in range(120))
    figure = draw_document(replace(make_trace(), sentences=many))
    assert figure.get_size_inches()[1] < 30
    assert any("sentences of small weight are left out" in text.get_text() for text in figure.texts)


def test_a_flat_text_is_one_sentence(tmp_path: Path) -> None:
    tokens = {"source": {"kind": "words", "min_count": 1}}
    encoder = {"kind": "rnn", "cell": "gru", "size": 4, "embedding_size": 4}
    flat = configure_planted(tmp_path / "none", tokens=tokens, model={"encoder": encoder})
    task = Classification.learn(flat, Pairs(["so good.", "bad"], ["1", "0"]))
    model = task.build(flat)
    ((output,),) = task.predict(model, ["so bad."])
    trace = explain_document(task, model, output)
    (sentence,) = trace.sentences
    assert trace.is_flat
    assert [word.text for word in sentence.words] == ["so", "bad", ".", "</s>"]
    assert sum(word.weight or 0.0 for word in sentence.words) == pytest.approx(1, abs=1e-5)
    mean = flat.model_copy(update={"model": flat.model.model_copy(update={"pool": "mean"})})
    with pytest.raises(AttentionError, match="no attention to show"):
        explain_document(task, task.build(mean), output)


def test_sentences_and_words_have_the_weights_that_the_pools_gave_them(tmp_path: Path) -> None:
    """What a pool makes of its memory is the sum of what it read, each as heavy as the trace says."""
    config = configure_planted(tmp_path / "none")
    text = "The gold is real. It rains. A dog runs by the deep mud."
    task = Classification.learn(config, Pairs([text, "The mud is deep."], ["good", "bad"]))
    model = task.build(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if "pool" in name:
                parameter.mul_(9.0)  # else all weights would be nearly even
        memory = model.encoder(*task.source.prepare([text]).gather([0]))
        pooled = model.pool(memory)[0]
    ((output,),) = task.predict(model, [text])
    trace = explain_document(task, model, output)
    weights = torch.tensor([sentence.weight for sentence in trace.sentences])
    assert weights.max() - weights.min() > 0.05
    torch.testing.assert_close(weights @ memory.states[0], pooled, atol=1e-5, rtol=1e-4)
    assert [len(sentence.words) for sentence in trace.sentences] == [5, 3, 8]
    for sentence in trace.sentences:
        alone = explain_document(task, model, replace(output, source=text[sentence.start : sentence.end]))
        expected = [word.weight for word in alone.sentences[0].words]
        assert [word.weight for word in sentence.words] == pytest.approx(expected, abs=1e-5)
        assert [text[word.start : word.end] for word in sentence.words] == [word.text for word in sentence.words]


def test_every_word_has_its_own_drop_and_agreement_is_over_the_whole_document(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    config = configure_planted(tmp_path / "none")
    text = "The gold is real. It rains. A dog runs by the deep mud."
    task = Classification.learn(config, Pairs([text, "The mud is deep."], ["good", "bad"]))
    model = task.build(config)
    with torch.no_grad():
        model.output.weight.mul_(50.0)
    ((output,),) = task.predict(model, [text])
    seen = explain_document(task, model, output)
    uneven = (replace(each, weight=weight) for each, weight in zip(seen.sentences, (0.3, 0.1, 0.6), strict=True))
    seen = replace(seen, sentences=tuple(uneven))
    trace = measure_drops(task, model, seen, output)
    pairs: list[tuple[float, float]] = []
    for sentence in trace.sentences:
        assert sentence.drop == pytest.approx(leave_one(task, model, output, (sentence.start, sentence.end)), abs=1e-5)
        for word in sentence.words:
            alone = None if word.start == word.end else leave_one(task, model, output, (word.start, word.end))
            assert word.drop == (alone if alone is None else pytest.approx(alone, abs=1e-5))
            pairs += [] if word.drop is None else [(sentence.weight * word.weight, word.drop)]
    assert trace.word_agreement == compare_ranks([weight for weight, _ in pairs], [drop for _, drop in pairs])
    monkeypatch.setattr("seq2see.explain.document_trace.MAX_OCCLUDED_WORDS", 10)
    some = measure_drops(task, model, seen, output)
    counts = [sum(word.drop is not None for word in sentence.words) for sentence in some.sentences]
    assert counts == [2, 0, 8]  # all words of the heaviest sentence, and the first ones of the next


def leave_one(task: Classification, model: Any, output: Any, span: tuple[int, int]) -> float:
    """How much the label's probability drops without one part."""
    return float(leave_one_out(task, model, output.source, output, [span])[0])


def test_the_layers_behind_a_label_show_every_head(tmp_path: Path) -> None:
    tokens = {"source": {"kind": "words", "min_count": 1}}
    encoder = {"kind": "transformer", "size": 8, "inner_size": 8, "layers": 2, "heads": 2}
    config = configure_planted(tmp_path / "none", tokens=tokens, model={"encoder": encoder})
    task = Classification.learn(config, Pairs(["so good.", "bad"], ["1", "0"]))
    ((output,),) = task.predict(model := task.build(config), ["so bad."])
    trace = explain_layers(task, model, output)
    assert [token.text for token in trace.source_tokens] == ["so", "bad", ".", "</s>"]
    assert [(each.name, each.weights.shape, each.queries) for each in trace.maps] == [
        ("encoder.layers.0.self_attention.attend", (2, 4, 4), "source"),
        ("encoder.layers.1.self_attention.attend", (2, 4, 4), "source"),
    ]
    assert trace.save(tmp_path / "heads.html").exists()
    recurrent = configure_planted(
        tmp_path / "none",
        tokens=tokens,
        model={"encoder": {"kind": "rnn", "cell": "gru", "size": 4, "embedding_size": 4}},
    )
    with pytest.raises(AttentionError, match="no self-attention between tokens"):
        explain_layers(task, task.build(recurrent), output)


def test_reliability_is_drawn() -> None:
    table = tabulate_reliability([0.6, 0.7, 0.9, 0.95], [True, False, True, True])
    figure = draw_reliability({"as predicted": table, "before": table})
    assert "off by" in figure.axes[0].get_legend().get_texts()[1].get_text()


def test_no_two_scripts_share_a_name() -> None:
    """All scripts of a page are one scope, where a second function of a name would silently replace the first."""
    folders = [Path(seq2see.__file__).parent / package / "static" for package in ("inspect", "serve")]
    scripts = [file.read_text() for folder in folders for file in sorted(folder.glob("*.js"))]
    names = [name for text in scripts for name in re.findall(r"^(?:function|const) (\w+)", text, re.MULTILINE)]
    assert len(names) == len(set(names))
