"""Occlusion: what is left out is gone, everything else stays, and the output's own probability is what drops."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image
from planted import configure_planted
from reversal import configure, start

from seq2see.config.load import load_config
from seq2see.core.box import Box
from seq2see.core.errors import Seq2SeeError
from seq2see.core.registry import part
from seq2see.core.special_tokens import START
from seq2see.core.token import Token
from seq2see.data.modalities.image import ImageModality
from seq2see.data.modalities.image_cells import choose_regions, find_cells, list_cells, list_occluders
from seq2see.data.modalities.modality import Modality
from seq2see.data.modalities.occluded_image import OccludedImage
from seq2see.data.modalities.text import TextModality
from seq2see.data.pairs import Pairs
from seq2see.data.sentence_splitter import join_sentences, split_sentences
from seq2see.explain.attention_trace import AttentionMap, AttentionTrace, ProbabilityDrop
from seq2see.explain.occlusion import leave_one_out
from seq2see.explain.text_attention import trace_without_attention
from seq2see.render.colours import DIM, VEIL
from seq2see.render.figures.overlay import draw_overlays
from seq2see.render.terminal.terminal_heatmap import render_terminal, summarise_drops
from seq2see.runs.run import load
from seq2see.search.greedy import Greedy
from seq2see.tasks.classification import Classification
from seq2see.tasks.task import Output
from seq2see.tasks.transduction import Transduction

TEXT = "A dog, it runs. So what? Yes"
PAIRS = Pairs([TEXT, "It rains.", "No dog."], ["a", "b", "a"])


def make_words() -> TextModality:
    return TextModality(part("tokenizer", {"kind": "words", "min_count": 1})().learn([TEXT]))


def test_a_text_loses_a_word_and_the_space_before_it() -> None:
    words = make_words()
    spans = [(0, 1), (2, 5), (5, 6), (25, 28)]
    variants = words.occlude(TEXT, spans)
    expected = [
        TEXT,
        "dog, it runs. So what? Yes",
        "A, it runs. So what? Yes",
        "A dog it runs. So what? Yes",
        TEXT[:24],
    ]
    assert [variants[row].tolist() for row in range(5)] == words.tokenizer.ids(expected)


def test_a_document_loses_a_word_or_a_sentence_and_keeps_its_cuts() -> None:
    documents = part("tokenizer", {"kind": "documents", "words": {"kind": "words", "min_count": 1}})().learn([TEXT])
    sentence, word = split_sentences(TEXT)[1], (2, 5)
    ids, mask = documents.occlude(TEXT, [sentence, word]).gather([0, 1, 2])
    first, second, third = (list(each.ids) for each in documents.sentences(TEXT))
    rows = [[ids[row, u][mask[row, u]].tolist() for u in range(3) if mask[row, u].any()] for row in range(3)]
    assert rows == [[first, second, third], [first, third], [first[:1] + first[2:], second, third]]


def test_a_region_takes_the_mean_colour() -> None:
    pixels = torch.arange(2 * 3 * 4 * 4, dtype=torch.uint8).view(1, 6, 4, 4)[:, :3]
    boxes = list_cells((2, 2))
    assert boxes[1] == Box(0.5, 0.0, 1.0, 0.5)
    found, mask = OccludedImage(pixels, torch.ones(1, 1, dtype=torch.bool), boxes).gather([0, 2])
    assert found[0].equal(pixels[0])
    assert (found[1, 0, :2, 2:] == 7).all()  # the mean of 0 to 15
    assert found[1, :, 2:].equal(pixels[0, :, 2:])
    assert mask.shape == (2, 1)
    with pytest.raises(Seq2SeeError, match="must be regions"):
        ImageModality().occlude("dog.jpg", [(0, 1)])
    with pytest.raises(Seq2SeeError, match="must be spans"):
        make_words().occlude("dog", boxes)


def test_the_drop_of_a_label_is_that_of_its_probability(tmp_path: Path) -> None:
    config = configure_planted(tmp_path / "none")
    task = replace(Classification.learn(config, PAIRS), temperature=0.02)
    model = task.build(config)
    ((output,),) = task.predict(model, [TEXT])
    sentences = split_sentences(TEXT)
    drops = leave_one_out(task, model, TEXT, output, [sentences[1], sentences[2]])
    rest = ["A dog, it runs. Yes", "A dog, it runs. So what?"]
    expected = [output.score - task.weigh(model, [text])[0, output.ids[0]].item() for text in rest]
    np.testing.assert_allclose(drops, expected, atol=1e-6)
    single = leave_one_out(task, model, "Yes", output, [(0, 3)])  # nothing is left
    assert np.isfinite(single).all()


def test_the_drop_of_a_text_is_that_of_its_log_probability() -> None:
    small = {"encoder": {"size": 6, "embedding_size": 4}, "decoder": {"size": 6, "embedding_size": 4}}
    config = load_config(base={"preset": "bahdanau2015", "model": small, "data": {"train": "x"}}).config
    task = Transduction.learn(config, Pairs(["ab cd"], ["xyz"]))
    model = task.build(config).eval()
    ((output,),) = task.predict(model, ["ab cd"], Greedy())
    (drop,) = leave_one_out(task, model, "ab cd", output, [(0, 2)])
    scores = []
    for text in ("ab cd", "cd"):
        inputs = torch.tensor([[START, *output.ids[:-1]]])
        logprobs = model(*task.source.prepare([text]).gather([0]), inputs).log_softmax(dim=2)[0]
        scores.append(logprobs[torch.arange(len(output.ids)), list(output.ids)].sum().item())
    assert drop == pytest.approx(scores[0] - scores[1], abs=1e-5)


def rank(trace: AttentionTrace, modality: Modality) -> AttentionTrace:
    """The trace as if the drop of each part were its number."""
    groups = trace.list_parts(modality, trace.source)
    return trace.with_drops(groups, [np.arange(len(parts), dtype=float) for parts in groups])


def test_an_output_is_shown_with_the_drop_of_each_part_of_its_source() -> None:
    """Attention and drops by hand: the second word got most and is needed most; so is the last region of an image."""
    tokens = (Token("a", 0, 1), Token("d", 2, 3), Token("og", 3, 5), Token("</s>", 5, 5))
    weights = np.array([[[0.1, 0.3, 0.4, 0.2], [0.3, 0.1, 0.2, 0.4]]], dtype=np.float32)
    trace = AttentionTrace("a dog", "x", tokens, tokens[:2], (AttentionMap("cross", weights),))
    words = rank(trace, make_words())
    cells = np.full((1, 1, 16), 1 / 16, dtype=np.float32)
    regions = rank(replace(trace, maps=(AttentionMap("cross", cells),), grid=(4, 4)), ImageModality())
    assert [(each.start, each.end, each.drop) for each in words.drops] == [(0, 1, 0.0), (2, 5, 1.0)]
    np.testing.assert_allclose([each.weight for each in words.drops], [0.2, 0.5], rtol=1e-6)
    assert words.agreement is not None
    assert words.agreement.kendall == 1.0
    assert (len(regions.drops), regions.regions, regions.drops[15].drop) == (16, (4, 4), 15.0)
    assert summarise_drops(words)[0].endswith("dog -1, a -0")
    assert "row 4 column 4 -15" in summarise_drops(regions)[0]


def test_a_model_without_attention_shows_what_it_needs(tmp_path: Path) -> None:
    """No attention over an image or a text, and yet each part has its probability drop."""
    for name in ("red", "blue"):
        Image.new("RGB", (16, 16), name).save(tmp_path / f"{name}.png")
    (tmp_path / "captions.tsv").write_text(
        "".join(f"{tmp_path / name}.png\ta {name} wall\n" for name in ("red", "blue"))
    )
    (tmp_path / "texts.tsv").write_text("a red wall\trot\na blue wall\tblau\n")
    decoder = {"kind": "rnn", "size": 8, "embedding_size": 8, "reader": "none"}
    seeing = {"encoder": {"kind": "cnn", "backbone": "small", "layer": 1, "size": 8, "pool": True}, "decoder": decoder}
    reading = {"encoder": {"kind": "rnn", "size": 8, "embedding_size": 8}, "decoder": decoder}
    sources = {"captions": {"kind": "images", "size": 16}, "texts": "words"}
    runs = {}
    for name, model in (("captions", seeing), ("texts", reading)):
        tokens = {"source": sources[name], "target": "words"}
        list(
            start(
                configure(tmp_path / f"{name}.tsv", model=model, tokens=tokens, updates=1), tmp_path / name
            ).loop.run()
        )
        runs[name] = load(tmp_path / name)
    image = runs["captions"].predict(str(tmp_path / "red.png")).faithfulness
    words = runs["texts"].predict("a red wall").faithfulness
    assert (len(image.drops), image.regions, image.agreement) == (16, (4, 4), None)
    assert (image.to_dict()["image"][:10], image.to_dict()["grid"]) == ("data:image", None)
    assert [(each.start, each.end, each.weight) for each in words.drops] == [(0, 1, None), (2, 5, None), (6, 10, None)]
    assert "largest drops when it is left out" in str(render_terminal(words))


def test_a_document_is_left_out_sentence_by_sentence() -> None:
    """Also where it is given as sentences, which are joined by a mark that nobody must see."""
    documents = part("tokenizer", {"kind": "documents", "words": {"kind": "words", "min_count": 1}})().learn([TEXT])
    source = join_sentences(["A dog, it runs.", "So what?"])
    assert [source[start:end] for start, end in documents.occlusion_units(source, (1, 1))] == [
        "A dog, it runs.",
        "So what?",
    ]
    shown = trace_without_attention(
        Transduction(documents, make_words().tokenizer), Output("x", 0.0, (), (1,), source)
    ).source
    assert (shown, len(shown)) == ("A dog, it runs.\nSo what?\n", len(source))


@pytest.mark.parametrize(
    ("grid", "regions"), [((14, 14), (7, 7)), ((7, 7), (7, 7)), ((8, 4), (8, 4)), ((11, 11), (11, 11))]
)
def test_many_cells_are_left_out_in_blocks(grid: Any, regions: Any) -> None:
    assert choose_regions(grid) == regions


@pytest.mark.parametrize(("grid", "size", "regions"), [((8, 8), 32, (4, 4)), ((8, 8), 64, (8, 8)), (None, 40, (5, 5))])
def test_regions_of_small_images_are_not_too_small(grid: Any, size: int, regions: Any) -> None:
    assert choose_regions(grid, size) == regions


def test_an_occluder_covers_its_region_and_a_margin() -> None:
    """Of 4 x 4 regions on 8 x 8 cells: two cells a side, and one more on each side within an eighth of the image."""
    occluders = list_occluders((4, 4))
    assert (occluders[0], occluders[6]) == (Box(0, 0, 0.375, 0.375), Box(0.375, 0.125, 0.875, 0.625))
    cells = find_cells([occluders[0], occluders[6]], (8, 8)).reshape(2, 8, 8)
    assert [cells[0].sum(), cells[1].sum()] == [9, 16]
    assert cells[1, 1:5, 3:7].all()
    columns = find_cells([Box(0.5, 0, 1, 1)], (2, 4)).reshape(2, 4)
    assert columns.tolist() == [[False, False, True, True]] * 2


def test_the_attention_to_a_region_is_that_to_all_that_was_occluded() -> None:
    weights = np.zeros((1, 1, 8, 8), dtype=np.float32)
    weights[..., 2, 5], weights[..., 7, 0] = 0.75, 0.25  # cells of which the first is in four occluders
    image = np.zeros((32, 32, 3), dtype=np.uint8)
    cells = (AttentionMap("cross", weights.reshape(1, 1, 64)),)
    trace = rank(AttentionTrace("a.png", "x", (), (), cells, (8, 8), image), ImageModality(size=32))
    shares = np.array([each.weight for each in trace.drops]).reshape(4, 4)
    expected = np.zeros((4, 4))
    expected[0:2, 2:4], expected[3, 0] = 0.75, 0.25
    np.testing.assert_allclose(shares, expected)


def test_regions_are_named_and_drawn_row_by_row() -> None:
    """Two rows of three, the first of the second row being needed most, and one that does harm."""
    drops = tuple(
        ProbabilityDrop(place, place + 1, drop, None) for place, drop in enumerate([0.1, -0.9, 0.2, 0.8, 0.0, 0.4])
    )
    image = np.full((4, 6, 3), 200, dtype=np.uint8)
    trace = AttentionTrace("a.png", "x", (), (), (), None, image, drops=drops, regions=(2, 3))
    assert summarise_drops(trace)[0].endswith(
        ": row 2 column 1 -0.8, row 2 column 3 -0.4, row 1 column 3 -0.2, row 1 column 1 -0.1, row 2 column 2 -0, "
        "row 1 column 2 +0.9"
    )
    bare, veiled = (axes.images[0].get_array() for axes in draw_overlays(trace, cells=True).axes)
    np.testing.assert_array_equal(bare, image)
    shares = np.array([[0.1, 0, 0.2], [0.8, 0, 0.4]]) / 0.8
    clear = DIM + (1 - DIM) * shares.repeat(2, axis=0).repeat(2, axis=1)[..., None]
    np.testing.assert_allclose(veiled, 200 * clear + np.array(VEIL) * (1 - clear), atol=1)
