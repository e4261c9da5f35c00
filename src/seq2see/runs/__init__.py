"""A trained run: its folder, its checkpoints, prediction, evaluation and comparison with other runs.

`run.load` and `run.Run` are public as `seq2see.load` and `seq2see.Run`; the folder's layout is public, too.
"""

__all__ = [
    "agreement_file",
    "agreement_measurement",
    "analysis",
    "calibration_table",
    "checkpoint",
    "compared_run",
    "comparison",
    "config_changes",
    "config_digest",
    "data_files",
    "decoding",
    "evaluation",
    "folder",
    "folder_lock",
    "held_out_file",
    "metrics_file",
    "model_limits",
    "parallel_prediction",
    "prediction",
    "prediction_columns",
    "prediction_json",
    "predictions",
    "run",
    "run_file",
    "sandbox",
    "saved_model",
    "shards",
    "trial",
    "weights_header",
    "word_alignment",
]
