"""Readers: how a recurrent decoder reads the memory at every step.

`reader.Reader` is the contract and public for plug-ins; the other modules are the readers of the papers.
"""

__all__ = [
    "attention_readers",
    "fixed_readers",
    "gated_reader",
    "reader",
]
