"""How often labels are right against their probability, before and after calibration."""

from seq2see.metrics.labels import Bin, tabulate_reliability
from seq2see.runs.evaluation import Evaluation
from seq2see.runs.run import Run
from seq2see.tasks.calibration import undo_temperature


def tabulate_calibration(run: Run, result: Evaluation) -> dict[str, list[Bin]]:
    """Return how often labels are right against their probability, before and after calibration (temperature scaling).

    Guo et al. 2017 (arXiv:1706.04599). There are no tables unless every source has one label.

    Args:
        run: a run that chooses labels; any other has no tables.
        result: its evaluation.

    Returns:
        The table "as predicted" and, if the run was calibrated, the table "before calibration".
    """
    known = [(p, r) for p, r in zip(result.predictions, result.references, strict=True) if p.probabilities]
    if not known:
        return {}
    task, _ = run.classification
    if task.target.many:
        return {}
    correct = [task.is_correct(prediction.text, reference) for prediction, reference in known]
    scores = {"as predicted": [prediction.score for prediction, _ in known]}
    if task.temperature != 1.0:
        scores["before calibration"] = [undo_temperature(p.probabilities or {}, task.temperature) for p, _ in known]
    return {name: tabulate_reliability(each, correct) for name, each in scores.items()}
