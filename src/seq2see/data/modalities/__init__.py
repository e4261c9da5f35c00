"""What a source or a target can be: a text, a document, an image or a label.

`modality` is the contract; a modality of your own implements it and is named in a config as `my_file:MyModality`.
"""

__all__ = [
    "document",
    "document_sources",
    "image",
    "image_cells",
    "image_sources",
    "label_set",
    "learn",
    "modality",
    "occluded_image",
    "target",
    "text",
]
