"""Every registered encoder and decoder obeys the laws, and each decoder reads each encoder."""

import inspect
from typing import Any

import pytest
import torch
from company import check_company

from seq2see.core.part_table import TABLE
from seq2see.core.registry import find, names
from seq2see.testing import (
    check_decoder,
    check_encoder,
    check_reading,
    draw_documents,
    draw_images,
    draw_texts,
    tiny_decoder,
    tiny_encoder,
)

CHOICES = {
    "cell": "gru",
    "reader": {"kind": "before", "score": "additive"},
    "initial_state": "projected",
    "score": "general",
    "pool": "attention",
}

DRAWS = {"han": draw_documents}  # encoders that read no texts


def find_draw(encoder: str) -> Any:
    """What draws the sources of an encoder."""
    return draw_images if encoder in ("cnn", "vit") else DRAWS.get(encoder, draw_texts)


def complete(group: str, kind: str) -> dict[str, Any]:
    """A registered part with a choice for each part it needs; scores compare sizes that may differ."""
    parameters = inspect.signature(find(group, kind)).parameters
    open_ = [n for n, p in parameters.items() if n in TABLE and (p.default is p.empty or n == "score")]
    return {"kind": kind, **{name: CHOICES[name] for name in open_}}


@pytest.mark.parametrize("encoder", names("encoder"))
def test_every_encoder_obeys_the_laws(encoder: str, device: torch.device) -> None:
    check_encoder(complete("encoder", encoder), DRAWS.get(encoder), device)


@pytest.mark.parametrize("decoder", names("decoder"))
def test_every_decoder_obeys_the_laws(decoder: str, device: torch.device) -> None:
    """Behind the encoder of its own kind, if there is one."""
    encoder = decoder if decoder in names("encoder") else "rnn"
    check_decoder(complete("decoder", decoder), complete("encoder", encoder), device=device)


@pytest.mark.parametrize("encoder", names("encoder"))
@pytest.mark.parametrize("decoder", names("decoder"))
def test_every_decoder_reads_every_encoder(encoder: str, decoder: str, device: torch.device) -> None:
    check_reading(complete("decoder", decoder), complete("encoder", encoder), DRAWS.get(encoder), device)


@pytest.mark.parametrize("encoder", names("encoder"))
@pytest.mark.parametrize("decoder", names("decoder"))
def test_longer_sources_beside_it_change_no_logits(encoder: str, decoder: str) -> None:
    check_company(complete("decoder", decoder), complete("encoder", encoder), find_draw(encoder))


@pytest.mark.parametrize("encoder", [name for name in names("encoder") if name != "none"])
@pytest.mark.parametrize("decoder", names("decoder"))
def test_all_that_a_model_keeps_is_learned(encoder: str, decoder: str) -> None:
    """Nothing that is saved stays as it was drawn, behind every encoder that tells something."""
    reading = tiny_encoder(complete("encoder", encoder))
    writing = tiny_decoder(complete("decoder", decoder), reading)
    tokens = torch.tensor([[1, 8, 5, 3], [1, 4, 4, 9], [1, 11, 16, 0]])
    writing(tokens, reading(*find_draw(encoder)(range(3)))).square().sum().backward()
    for half in (reading, writing):
        learned = {name for name, weight in half.named_parameters() if weight.grad is not None and weight.grad.any()}
        assert set(half.state_dict()) == learned
