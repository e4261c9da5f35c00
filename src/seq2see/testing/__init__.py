"""The laws that every part obeys, as functions that raise an AssertionError: run them on parts of your own.

from seq2see.testing import check_score
check_score("my_file:MyScore")
"""

from seq2see.testing.attention_laws import check_normaliser, check_score, check_window
from seq2see.testing.decoding_laws import (
    check_decoder,
    check_encoder,
    check_reading,
    tiny_decoder,
    tiny_encoder,
)
from seq2see.testing.pretend_device import counting_looks, pretend_device
from seq2see.testing.search_laws import check_search
from seq2see.testing.tiny_sources import draw_documents, draw_images, draw_texts

__all__ = [
    "check_decoder",
    "check_encoder",
    "check_normaliser",
    "check_reading",
    "check_score",
    "check_search",
    "check_window",
    "counting_looks",
    "draw_documents",
    "draw_images",
    "draw_texts",
    "pretend_device",
    "tiny_decoder",
    "tiny_encoder",
]
