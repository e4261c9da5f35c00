"""Layers that know no task: attention and its scores, recurrent cells, convolutions, positions, pools, losses.

`functional.attend` is public as `seq2see.attend`; the base classes `Score`, `Normaliser`, `Window`, `Position`, `Pool`
and `Cell` are public for plug-ins.
"""

__all__ = [
    "attend",
    "cell",
    "convolution",
    "cross_entropy",
    "dropout",
    "embed",
    "functional",
    "key_value_cache",
    "lstmn_cell",
    "maxout",
    "module_list",
    "multihead",
    "normalise",
    "ntm_head",
    "pool",
    "position",
    "ragged",
    "score",
    "shared_gradient",
    "transformer_block",
    "window",
]
