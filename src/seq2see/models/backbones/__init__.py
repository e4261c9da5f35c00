"""Backbones: networks that turn pixels into maps of features, pretrained by others or trained from scratch.

`build_backbone.build_backbone` chooses one by its name; `backbone.Backbone` is the contract and public for plug-ins.
"""

__all__ = [
    "backbone",
    "build_backbone",
    "efficientnet_lite",
    "hugging_face",
    "small_cnn",
]
