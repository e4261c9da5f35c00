"""Predictions as columns of a table: outputs, confidences, and the probability of each label."""

from collections.abc import Sequence

from seq2see.runs.prediction import Prediction
from seq2see.runs.run import Run


def list_columns(run: Run, predictions: Sequence[Prediction], outputs: int = 1) -> dict[str, list[object]]:
    """Return the columns that predictions add to a table, by name; a blank source has no values but its empty output.

    `prediction` and `confidence` come first. Of several outputs, the others are `alternative_1` and
    `alternative_1_confidence` and so on. A run that chooses labels adds `probability_LABEL` for each label.

    Args:
        run: the run that predicted them.
        predictions: the prediction of each row.
        outputs: how many outputs were asked for; there are columns for as many, also if all inputs have fewer.
    """
    columns: dict[str, list[object]] = {
        "prediction": [each.text for each in predictions],
        "confidence": [each.confidence for each in predictions],
    }
    labels = run.task.target.label_set
    asked = outputs if labels is None else 1 if labels.many else min(outputs, len(labels.names))
    for place in range(max([asked - 1, *(len(each.alternatives) for each in predictions)])):
        others = [each.alternatives[place] if place < len(each.alternatives) else None for each in predictions]
        columns[f"alternative_{place + 1}"] = [other.text if other else None for other in others]
        columns[f"alternative_{place + 1}_confidence"] = [other.confidence if other else None for other in others]
    for label in labels.names if labels is not None else ():
        columns[f"probability_{label}"] = [(each.probabilities or {}).get(label) for each in predictions]
    return columns
