"""The names of metrics as papers write them, for reports and comparisons."""

METRIC_NAMES = {
    "exact_match": "exact match",
    "bleu": "BLEU",
    "cer": "CER",
    "chrf": "chrF",
    "ter": "TER",
    "wer": "WER",
    "ece": "ECE",
    **{f"bleu_{order}": f"BLEU-{order}" for order in range(1, 5)},
    "meteor": "METEOR",
    "rouge_l": "ROUGE-L",
    "cider_d": "CIDEr-D",
    "accuracy": "accuracy",
    "micro_f1": "micro-F1",
    "macro_f1": "macro-F1",
}


def name_metric(name: str) -> str:
    """Return the name of a metric as papers write it.

    Args:
        name: its name in files and options, such as `exact_match`.
    """
    return METRIC_NAMES.get(name, name.replace("_", " "))
