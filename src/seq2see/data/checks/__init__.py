"""What is found wrong with data before training: the doctor, checks of images, and the inferred modality.

`data_doctor` is public; it reports findings and changes no file.
"""

__all__ = [
    "data_doctor",
    "image_checks",
    "infer",
    "label_checks",
    "sides",
    "swapped_sides",
    "symbols",
]
