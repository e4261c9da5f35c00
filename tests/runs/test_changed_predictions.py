"""A prediction that was made under interventions keeps them: its attention belongs to it, whenever it is read."""

from pathlib import Path

import numpy as np
import pytest

import seq2see
from seq2see.core.interventions import Intervention, changing
from seq2see.explain.attention_trace import AttentionTrace
from seq2see.runs.parallel_prediction import start_workers
from seq2see.runs.prediction import Prediction

RUN = seq2see.load(Path(__file__).parent / "format-2")
UNIFORM = Intervention("decoder.reader.attend", weights="uniform")


def test_attention_is_that_of_the_changed_model_inside_and_after_the_block() -> None:
    with changing(RUN.model, [UNIFORM]):
        inside, after = RUN.predict(["abc", "abc"], beam=2, n_best=2)
        weights = inside.attention.weights
    np.testing.assert_allclose(weights, np.full_like(weights, 1 / weights.shape[1]), rtol=1e-6)
    np.testing.assert_array_equal(after.attention.weights, weights)
    [other] = after.alternatives
    np.testing.assert_allclose(other.attention.weights, np.full_like(other.attention.weights, 1 / weights.shape[1]))


def test_leave_one_out_is_that_of_the_changed_model_too() -> None:
    def read_drops(prediction: Prediction) -> list[float]:
        trace = prediction.faithfulness
        assert isinstance(trace, AttentionTrace)
        return [each.drop for each in trace.drops]

    with changing(RUN.model, [UNIFORM]):
        inside, after = RUN.predict(["abc", "abc"])
        drops = read_drops(inside)
    assert read_drops(after) == drops != read_drops(RUN.predict("abc"))


def test_a_block_changes_nothing_that_was_predicted_before_it() -> None:
    before, again = RUN.predict(["abc", "abc"])
    with changing(RUN.model, [UNIFORM]):
        inside = before.attention.weights
    np.testing.assert_array_equal(inside, again.attention.weights)


@pytest.mark.slow
def test_workers_predict_under_the_interventions_of_their_run() -> None:
    texts = ["abc", "cab", "bca"]
    with start_workers(RUN, 2) as shared, changing(RUN.model, [UNIFORM]):
        together, alone = shared.predict(texts), RUN.predict(texts)
    scores = [prediction.score for prediction in alone]
    np.testing.assert_allclose([prediction.score for prediction in together], scores, rtol=1e-5)
    assert not np.allclose([prediction.score for prediction in RUN.predict(texts)], scores)
    np.testing.assert_array_equal(together[0].attention.weights, alone[0].attention.weights)
