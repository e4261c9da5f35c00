"""Whole networks: an encoder joined with a decoder, or an encoder with a pool.

Encoders, decoders and readers are chosen by configuration; the classes are public for plug-ins.
"""

__all__ = [
    "backbones",
    "classifier",
    "decoders",
    "encoders",
    "initial_state",
    "network",
    "readers",
    "seq2seq",
    "shared_parameters",
]
