"""Attention of other frameworks, and of other people's models, is shown exactly as it was."""

import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import torch.nn.functional as F
from PIL import Image
from torch import Tensor, nn
from torch.nn.functional import scaled_dot_product_attention as kernel

import seq2see
from seq2see.core.errors import AttentionError
from seq2see.core.json_text import write_payload
from seq2see.explain.from_arrays import from_arrays, write_text
from seq2see.explain.record import record

DRAW = np.random.default_rng(5)


def rows(*shape: int) -> np.ndarray:
    """Weights whose rows sum to 1."""
    return DRAW.dirichlet(np.ones(shape[-1]), size=shape[:-1]).astype(np.float32)


@pytest.mark.parametrize(
    "wrap", [np.asarray, torch.tensor, lambda a: a.tolist(), lambda a: torch.tensor(a, requires_grad=True)]
)
def test_arrays_of_every_kind_keep_their_numbers(wrap: Any) -> None:
    weights = rows(2, 3, 4)
    trace = from_arrays(wrap(weights), ["x", "y", "z"], list("abcd"))
    np.testing.assert_array_equal(trace.maps[0].weights, weights)
    assert [token.text for token in trace.source_tokens] == list("abcd")


def test_layers_may_differ_in_heads_and_a_batch_of_one_is_no_batch() -> None:
    trace = from_arrays([rows(1, 2, 3, 3), rows(3, 3), rows(5, 3, 3)], list("abc"))
    assert [each.weights.shape for each in trace.maps] == [(2, 3, 3), (1, 3, 3), (5, 3, 3)]
    assert {(each.queries, each.keys) for each in trace.maps} == {("source", "source")}
    assert [each.name for each in trace.maps] == ["layer 1", "layer 2", "layer 3"]


def test_names_and_sizes_tell_who_looks_at_whom() -> None:
    weights = {"encoder": [rows(2, 3, 3)] * 2, "decoder": [rows(2, 3, 3)], "cross": [rows(2, 3, 3)]}
    trace = from_arrays(weights, list("xyz"), list("abc"))
    sides = {each.name: (each.queries, each.keys) for each in trace.maps}
    assert sides["encoder, layer 2"] == ("source", "source")
    assert sides["decoder, layer 1"] == ("target", "target")
    assert sides["cross, layer 1"] == ("target", "source")
    for name in ("decoder.layers.0.multihead_attn", "decoder.layers.0.encoder_attn", "decoder.0.EncDecAttention"):
        assert from_arrays({name: rows(3, 3)}, list("xyz"), list("abc")).maps[0].is_cross_attention, name


def test_sides_without_tokens_are_numbered() -> None:
    trace = from_arrays({"encoder": rows(3, 3), "decoder": rows(2, 2), "cross": rows(2, 3)})
    assert [token.text for token in trace.target_tokens] == ["query 1", "query 2"]
    assert [token.text for token in trace.source_tokens] == ["key 1", "key 2", "key 3"]


def test_an_image_file_is_shown_upright(tmp_path: Path) -> None:
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was held on its side
    Image.new("RGB", (6, 4)).save(tmp_path / "held.jpg", exif=exif)
    image = from_arrays(rows(2, 2, 9), ["a", "dog"], image=tmp_path / "held.jpg").image
    assert image is not None
    assert image.shape == (6, 4, 3)


def test_json_has_no_nan() -> None:
    assert json.loads(write_payload({"weights": [0.5, float("nan")]})) == {"weights": [0.5, None]}


def test_an_image_is_looked_at_cell_by_cell(tmp_path: Path) -> None:
    trace = from_arrays(rows(2, 2, 9), ["a", "dog"], image=np.zeros((6, 6, 3), dtype=np.uint8))
    assert trace.grid == (3, 3)
    assert trace.save(tmp_path / "look.html").read_text().count("data:image/") == 1
    with pytest.raises(AttentionError, match="class token"):
        from_arrays(rows(2, 2, 10), ["a", "dog"], image=np.zeros((6, 6, 3), dtype=np.uint8))


def test_cells_of_an_image_are_named_row_by_row() -> None:
    trace = from_arrays(rows(2, 6), ["a", "dog"], image=np.zeros((4, 6, 3), dtype=np.uint8), grid=(2, 3))
    assert [re.findall(r"\d+", token.text) for token in trace.source_tokens] == [
        ["1", "1"], ["1", "2"], ["1", "3"], ["2", "1"], ["2", "2"], ["2", "3"],
    ]  # fmt: skip


def test_normalised_pixels_are_stretched_from_black_to_white() -> None:
    pixels = np.linspace(-1.5, 2.5, 2 * 4 * 3, dtype=np.float32).reshape(2, 4, 3)
    expected = np.floor(np.linspace(0, 255, 24) + 1e-3).reshape(2, 4, 3)
    for image in (pixels, torch.tensor(pixels), pixels.transpose(2, 0, 1)):
        image = from_arrays(rows(3, 4), list("abc"), image=image).image
        assert image is not None
        assert image.dtype == np.uint8
        np.testing.assert_allclose(image, expected, atol=1)


def test_tokens_of_other_tokenizers_become_words() -> None:
    for tokens in (["▁un", "seen", "▁dog"], ["un", "##seen", "dog"], ["un", "seen", "Ġdog"]):
        text, placed = write_text(tokens)
        assert text == "unseen dog"
        assert [text[token.start : token.end] for token in placed] == ["un", "seen", "dog"]


@pytest.mark.parametrize(
    ("weights", "sentence"),
    [
        (rows(2, 3, 4) * 9, "after the softmax"),
        (rows(2, 2, 3, 4), "choose one of the batch"),
        ([[0.1, 0.2], [0.3]], "rows of one length"),
        ([], "must be"),
        (rows(5, 4), "give as many tokens"),
        (rows(4, 4), "fit 3 queries; got 4 x 4"),
    ],
    ids=str,
)
def test_what_cannot_be_seen_is_told_in_a_sentence(weights: Any, sentence: str) -> None:
    with pytest.raises(AttentionError, match=sentence):
        from_arrays(weights, ["x", "y", "z"], list("abcd"))


def test_a_trace_saves_itself(tmp_path: Path) -> None:
    trace = seq2see.from_arrays(rows(2, 2), ["a", "b"])
    assert json.loads(trace.save(tmp_path / "look.json").read_text()) == trace.to_dict()
    assert "seq2see-payload" in trace.save(tmp_path / "look.html").read_text()


class Mixed(nn.Module):
    """Attends in every way there is in torch."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(2)
        self.asked = nn.MultiheadAttention(8, 2, batch_first=True)
        self.layer = nn.TransformerEncoderLayer(8, 4, 16, batch_first=True, dropout=0.0)
        self.own = Bare()

    def forward(self, x: Tensor) -> Tensor:
        x, weights = self.asked(x, x, x)
        assert weights.shape == (2, 5, 5)
        return self.own(self.layer(x))


class Bare(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        heads = x.unflatten(-1, (4, 2)).transpose(1, 2)
        return F.scaled_dot_product_attention(heads, heads[:, :2], heads[:, :2], is_causal=True, enable_gqa=True)


def test_every_attention_of_a_model_is_seen_and_nothing_changes() -> None:
    model, x = Mixed().eval(), torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(1))
    with torch.no_grad():
        before = model(x)
        with record(model) as seen:
            during = model(x)
        torch.testing.assert_close(during, before)
        assert seen.names == ("asked", "layer.self_attn", "own")
        expected = model.asked(x, x, x, average_attn_weights=False)[1]
        torch.testing.assert_close(seen.weights("asked"), expected)
        inner = model.asked(x, x, x)[0]
        torch.testing.assert_close(
            seen.weights("layer.self_attn"), model.layer.self_attn(inner, inner, inner, average_attn_weights=False)[1]
        )
    assert not seen.weights("own").triu(1).any()
    torch.testing.assert_close(seen.weights("own").sum(dim=-1), torch.ones(2, 4, 5))
    assert "forward" not in vars(model.asked)
    assert not model._forward_hooks
    trace = seen.attention(list("abcde"), row=1)
    np.testing.assert_array_equal(trace.maps[1].weights, seen.weights("layer.self_attn")[1].numpy())


def test_masks_and_scales_are_those_of_the_kernel() -> None:
    q, k, v = torch.randn(3, 2, 3, 4, 6, generator=torch.Generator().manual_seed(1)).unbind(0)
    for mask in (torch.rand(4, 4) > 0.3, torch.randn(4, 4), None):

        class One(nn.Module):
            def forward(self, mask: Tensor | None = mask) -> Tensor:
                return kernel(q, k, v, attn_mask=mask, scale=0.3)

        model = One()
        with record(model) as seen:
            output = model()
        torch.testing.assert_close(seen.weights("One") @ v, output.nan_to_num(0.0))


@pytest.mark.parametrize("causal", [False, True])
def test_grouped_heads_share_the_keys_of_their_group(causal: bool) -> None:
    """A value that is the identity makes the kernel give its weights themselves: six heads in two groups."""
    draw = torch.Generator().manual_seed(1)
    q, k = torch.randn(2, 6, 3, 4, generator=draw), torch.randn(2, 2, 5, 4, generator=draw)
    values = torch.eye(5).expand(2, 2, 5, 5)

    class Grouped(nn.Module):
        def forward(self) -> Tensor:
            return F.scaled_dot_product_attention(q, k, values, is_causal=causal, enable_gqa=True)

    with record(model := Grouped()) as seen:
        output = model()
    torch.testing.assert_close(seen.weights("Grouped"), output)


def test_a_model_without_attention_is_told_so() -> None:
    with pytest.raises(AttentionError, match="nothing was recorded"), record(nn.Linear(2, 2)) as _:
        pass


def test_an_attention_that_is_used_again_is_another_but_a_step_is_not() -> None:
    own = nn.MultiheadAttention(4, 2, batch_first=True)
    whole, step = torch.randn(1, 3, 4), torch.randn(1, 1, 4)
    with record(own) as seen:
        for queries, keys in ((whole, whole), (whole, whole), (step, torch.cat([whole, step], 1))):
            own(queries, keys, keys)
    shapes = {name: tuple(seen.weights(name).shape) for name in seen.names}
    assert shapes == {"MultiheadAttention": (1, 2, 3, 3), "MultiheadAttention (2)": (1, 2, 4, 4)}
