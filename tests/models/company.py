"""What a decoder writes for a source does not depend on the sources beside it."""

from typing import Any

import torch

from seq2see.testing import draw_texts, tiny_decoder, tiny_encoder


def check_company(decoder_spec: Any, encoder_spec: Any, draw: Any = draw_texts) -> None:
    """The logits of each of three sources, padded to the longest, are those that it has alone and without padding."""
    encoder = tiny_encoder(encoder_spec)
    decoder = tiny_decoder(decoder_spec, encoder)
    tokens = torch.tensor([[1, 8, 5, 3], [1, 4, 4, 9], [1, 11, 16, 0]])
    together = decoder(tokens, encoder(*draw(range(3))))
    for row in range(3):
        alone = decoder(tokens[row : row + 1], encoder(*draw([row])))
        torch.testing.assert_close(together[row], alone[0])
