"""Tasks: what joins data, a model, a loss, prediction and metrics into something that can be trained.

`task` is the contract; transduction writes a text, classification chooses labels. `replay` is the one
teacher-forced pass over given outputs that scores and explains them.
"""

__all__ = [
    "calibration",
    "classification",
    "constraints",
    "decode_start",
    "output_scores",
    "replay",
    "task",
    "transduction",
]
