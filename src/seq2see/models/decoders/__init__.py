"""Decoders: what writes a target token by token from a memory, with `begin`, `step` and teacher forcing.

Public for plug-ins: `seq2see.testing.check_decoder` checks a decoder of your own.
"""

__all__ = [
    "conv_decoder",
    "lstmn_decoder",
    "lstmn_layer",
    "ntm_decoder",
    "rnn_decoder",
    "transformer_decoder",
]
