"""The Vision Transformer: what a patch is, where it stands, and what becomes of the class token."""

from typing import Any

import numpy as np
import pytest
import torch
from twins import shake, twin_encoder

from seq2see.core.errors import ConfigError, DataError
from seq2see.core.registry import part
from seq2see.testing import check_encoder

MASK = torch.ones(2, 1, dtype=torch.bool)
PIXELS = torch.from_numpy(np.random.default_rng(1).integers(0, 256, (2, 3, 12, 12), dtype=np.uint8))


def build(**options: Any) -> Any:
    torch.manual_seed(1)
    spec = {"kind": "vit", "patch": 4, "size": 8, "inner_size": 10, "layers": 2, "heads": 2, **options}
    return part("encoder", spec)(image_size=12).eval()


def test_a_patch_is_a_linear_map_of_its_pixels_in_reading_order() -> None:
    encoder = build(layers=1, class_token=False)
    weight, bias = (
        encoder.project_patches.weight.detach().flatten(1).numpy(),
        encoder.project_patches.bias.detach().numpy(),
    )
    image = PIXELS[1].numpy() / 127.5 - 1
    patches = [image[:, y : y + 4, x : x + 4].reshape(-1) for y in (0, 4, 8) for x in (0, 4, 8)]
    tokens = np.stack(patches) @ weight.T + bias + encoder.positions.detach().numpy().reshape(9, 8)
    (layer,) = encoder.layers
    with torch.no_grad():
        after = layer(torch.tensor(tokens[None], dtype=torch.float32), torch.ones(1, 1, 1, 9, dtype=torch.bool))
        memory = encoder(PIXELS, MASK)
        torch.testing.assert_close(memory.states[1], encoder.norm(after)[0], rtol=1e-4, atol=1e-5)
    assert memory.grid == (3, 3)
    torch.testing.assert_close(memory.summary, memory.states.mean(dim=1))


@pytest.mark.parametrize("norm", ["pre", "post"])
@pytest.mark.parametrize("class_token", [True, False])
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.usefixtures("doubled")
def test_the_encoder_is_torchs_own_over_class_token_and_patches(norm: str, class_token: bool, times: int) -> None:
    """Dosovitskiy et al. 2021, eq. 1-4: patches as rows of numbers; the class token's place has no position."""
    encoder = shake(build(heads=4, norm=norm, class_token=class_token, dropout=0.5)).train(times == 2)
    images = PIXELS.numpy() / 127.5 - 1
    cut = [images[:, :, y : y + 4, x : x + 4].reshape(2, -1) for y in (0, 4, 8) for x in (0, 4, 8)]
    rows = (
        torch.from_numpy(np.stack(cut, axis=1)) @ encoder.project_patches.weight.flatten(1).T
        + encoder.project_patches.bias
    )
    rows = rows + encoder.positions.flatten(0, 1)
    if class_token:
        rows = torch.cat([encoder.class_token.expand(2, 1, 8), rows], dim=1)
    expected = twin_encoder(encoder, norm=norm, doubled=times == 2)(times * rows)
    memory = encoder(PIXELS, MASK)
    torch.testing.assert_close(memory.states, expected[:, int(class_token) :], atol=1e-6, rtol=1e-6)
    summary = expected[:, 0] if class_token else expected.mean(dim=1)
    torch.testing.assert_close(memory.summary, summary, atol=1e-6, rtol=1e-6)
    assert (memory.grid, memory.mask.shape, memory.mask.all().item()) == ((3, 3), (2, 9), True)


def test_the_class_token_is_the_summary_and_no_cell() -> None:
    encoder = build()
    memory = encoder(PIXELS, MASK)
    assert (memory.states.shape, memory.mask.shape) == ((2, 9, 8), (2, 9))
    (gradient,) = torch.autograd.grad(memory.summary[0, 0], encoder.class_token)
    assert gradient.abs().sum() > 0
    with torch.no_grad():
        encoder.class_token += 1
    assert not torch.allclose(encoder(PIXELS, MASK).summary, memory.summary)


@pytest.mark.parametrize("class_token", [True, False])
def test_company_changes_nothing(class_token: bool) -> None:
    check_encoder({"kind": "vit", "patch": 8, "class_token": class_token})


def test_positions_of_another_size_lie_between_the_learned() -> None:
    encoder = build()
    with torch.no_grad():
        encoder.positions.copy_(torch.arange(3.0).view(3, 1, 1).expand(3, 3, 8))  # the number of the row
    placed = encoder._interpolate_positions(6, 6)
    torch.testing.assert_close(placed.mean(dim=(1, 2)), torch.linspace(-0.25, 2.25, 6), rtol=0, atol=0.2)
    assert torch.equal(placed[:, 0], placed[:, 5])
    wide = torch.zeros(2, 3, 8, 20, dtype=torch.uint8)
    assert encoder(wide, MASK).grid == (2, 5)


def test_images_that_cannot_be_cut_are_refused() -> None:
    with pytest.raises(ConfigError, match="patch must divide the size of the images; got a patch of 5 and"):
        build(patch=5)
    with pytest.raises(DataError, match="got 10x10 pixels; make it 8x8"):
        build()(torch.zeros(2, 3, 10, 10, dtype=torch.uint8), MASK)
