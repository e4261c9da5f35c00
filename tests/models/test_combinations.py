"""Every registered encoder and decoder obeys the laws, and each decoder reads each encoder."""

import inspect
from typing import Any

import pytest

from seq2see.core.registry import TABLE, find, names
from seq2see.testing import check_decoder, check_encoder, check_reading, draw_documents

CHOICES = {
    "cell": "gru",
    "reader": {"kind": "before", "score": "additive"},
    "start": "summary",
    "score": "general",
    "pool": "attention",
}

DRAWS = {"hierarchy": draw_documents}  # encoders that read no texts


def complete(group: str, kind: str) -> dict[str, Any]:
    """A registered part with a choice for each part it needs; scores compare sizes that may differ."""
    parameters = inspect.signature(find(group, kind)).parameters
    open_ = [n for n, p in parameters.items() if n in TABLE and (p.default is p.empty or n == "score")]
    return {"kind": kind, **{name: CHOICES[name] for name in open_}}


@pytest.mark.parametrize("encoder", names("encoder"))
def test_every_encoder_obeys_the_laws(encoder: str) -> None:
    check_encoder(complete("encoder", encoder), DRAWS.get(encoder))


@pytest.mark.parametrize("decoder", names("decoder"))
def test_every_decoder_obeys_the_laws(decoder: str) -> None:
    """Behind the encoder of its own kind, if there is one."""
    encoder = decoder if decoder in names("encoder") else "rnn"
    check_decoder(complete("decoder", decoder), complete("encoder", encoder))


@pytest.mark.parametrize("encoder", names("encoder"))
@pytest.mark.parametrize("decoder", names("decoder"))
def test_every_decoder_reads_every_encoder(encoder: str, decoder: str) -> None:
    check_reading(complete("decoder", decoder), complete("encoder", encoder), DRAWS.get(encoder))
