"""Encoders: what turns a source (tokens, sentences or pixels) into a `Memory`.

Public for plug-ins: `seq2see.testing.check_encoder` checks an encoder of your own.
"""

__all__ = [
    "cnn_encoder",
    "conv_encoder",
    "han_encoder",
    "lstmn_encoder",
    "no_encoder",
    "ntm_encoder",
    "rnn_encoder",
    "transformer_encoder",
    "vit_encoder",
]
