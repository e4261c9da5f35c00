"""Estimators in the manner of scikit-learn: with its tools, by its own checks, and without it."""

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import seq2see
from seq2see.estimator import Seq2SeqEstimator, SequenceClassifier

TEXTS = [f"{word} {number}" for number in range(12) for word in ("good", "bad", "fair")]
LABELS = [text.split()[0] for text in TEXTS]
SMALL = {"model.encoder": {"kind": "rnn", "size": 8, "embedding_size": 8}, "train.validate_every": 20}
TINY = {"preset": "bigru-attention", "updates": 2, "settings": SMALL, "random_state": 1}

# checks of scikit-learn that cannot pass, and why
EXCLUDED = {
    "check_n_features_in_after_fitting": "a text has no fixed number of features",
    "check_do_not_raise_errors_in_init_or_set_params": "the tests check the types of every call, constructors included",
}


class Frame:
    """As data frames are: iterating over one gives the names of its columns."""

    columns = ("a", "b")

    def __getitem__(self, name: str) -> list[str]:
        return [name, name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)


@pytest.fixture(scope="module")
def classifier() -> SequenceClassifier:
    """A classifier that has learned to tell three words apart."""
    settings = {**SMALL, "train.learning_rate": 0.02}
    return SequenceClassifier(preset="bigru-attention", updates=60, settings=settings).fit(TEXTS, LABELS)


def test_a_classifier_learns_and_tells_how_sure_it_is(classifier: SequenceClassifier) -> None:
    assert classifier.classes_.tolist() == ["bad", "fair", "good"]
    assert classifier.predict(["good 5", "bad 3"]).tolist() == ["good", "bad"]
    chances = classifier.predict_proba(["good 5", "bad 3", "fair 1"])
    assert chances.shape == (3, 3)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-5)
    assert chances.argmax(axis=1).tolist() == [2, 0, 1]
    assert classifier.score(TEXTS, LABELS) == 1.0
    assert classifier.score(["good 1", "bad 1"], ["good", "good"], sample_weight=[3, 1]) == 0.75


def test_labels_keep_their_type() -> None:
    numbers = [{"good": 3, "bad": 1, "fair": 2}[label] for label in LABELS]
    model = SequenceClassifier(**TINY).fit(np.array(TEXTS), np.array(numbers))
    assert model.classes_.tolist() == [1, 2, 3]
    assert model.predict(["good 1"]).dtype == model.classes_.dtype


def test_texts_are_written_and_scored() -> None:
    settings = {
        "model": {half: {"size": 8, "embedding_size": 8} for half in ("encoder", "decoder")},
        "train.validate_every": 20,
        "train.validation_pairs": 2,
    }
    model = Seq2SeqEstimator(preset="bahdanau2015", updates=2, settings=settings).fit(TEXTS, [t[::-1] for t in TEXTS])
    written = model.predict(["good 1", "bad 2"])
    assert [type(text) for text in written] == [str, str]
    assert 0 <= model.score(TEXTS[:4], [t[::-1] for t in TEXTS[:4]]) <= 1


@pytest.mark.parametrize(
    ("sources", "targets", "message"),
    [
        (Frame(), ["a", "b"], "a data frame must have one column of texts or images; got 'a', 'b'"),
        ("a text", ["a"], "X must be a list of texts; got str"),
        ([1, 2], ["a", "b"], "X must be a list of texts, or of paths of images; got one of int"),
        ([], [], "X must have at least one source; got none"),
        (["a", "b"], ["a"], "X and y must have as many entries each; got 2 and 1"),
        (["a", "b"], None, "y must be a list with a target for each source; got NoneType"),
    ],
)
def test_other_inputs_are_refused_in_a_sentence(sources: Any, targets: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        SequenceClassifier().fit(sources, targets)


def test_parameters_are_those_of_the_constructor() -> None:
    model = SequenceClassifier(updates=7)
    assert model.get_params()["updates"] == 7
    assert model.set_params(updates=9, preset="han2016") is model
    assert repr(model) == "SequenceClassifier(preset='han2016', updates=9)"
    with pytest.raises(ValueError, match=r"SequenceClassifier has no parameter 'update' \(known: preset, updates"):
        model.set_params(update=3)


def test_who_was_not_fitted_says_so() -> None:
    with pytest.raises(AttributeError, match="this Seq2SeqEstimator must be fitted before it predicts; call fit first"):
        Seq2SeqEstimator().predict(["a"])


def test_scikit_learn_need_not_be_installed() -> None:
    code = (
        "import sys; sys.modules['sklearn'] = None; import seq2see; "
        "print(seq2see.SequenceClassifier(updates=3), seq2see.SequenceClassifier.__mro__[-1].__name__)"
    )
    output = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert output.strip() == "SequenceClassifier(updates=3) object"


class RowsAsTexts(SequenceClassifier):
    """A classifier that reads rows of numbers as texts, because scikit-learn's checks bring nothing else."""

    def fit(self, X: Any, y: Any) -> "RowsAsTexts":  # noqa: N803
        super().fit(write_rows(X), y)
        return self

    def predict(self, X: Any) -> np.ndarray:  # noqa: N803
        return super().predict(write_rows(X))

    def predict_proba(self, X: Any) -> np.ndarray:  # noqa: N803
        return super().predict_proba(write_rows(X))

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:  # noqa: N803
        return super().score(write_rows(X), y, sample_weight)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.one_d_array, tags.input_tags.two_d_array = False, True
        return tags


def write_rows(rows: Any) -> list[str]:
    """Each row of an array as a text; texts as they are."""
    return [row if isinstance(row, str) else " ".join(f"{each:.3f}" for each in np.atleast_1d(row)) for row in rows]


def test_an_estimator_passes_the_checks_of_scikit_learn() -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    results = checks.check_estimator(RowsAsTexts(**TINY), legacy=False, expected_failed_checks=EXCLUDED)
    passed = {each["check_name"] for each in results if each["status"] == "passed"}
    assert {each["check_name"] for each in results} - passed <= EXCLUDED.keys()
    assert {"check_estimator_cloneable", "check_estimators_overwrite_params", "check_estimators_unfitted"} <= passed


@pytest.mark.parametrize("kind", [Seq2SeqEstimator, SequenceClassifier])
def test_what_reads_texts_says_so_to_scikit_learn(kind: Any) -> None:
    checks = pytest.importorskip("sklearn.utils.estimator_checks")
    base = pytest.importorskip("sklearn.base")
    with pytest.warns(Warning, match="Can't test estimator .* which requires input"):
        results = checks.check_estimator(kind())
    assert [each["status"] for each in results] == ["passed"]
    assert base.is_classifier(kind()) == (kind is SequenceClassifier)


def test_cross_validation_and_clones_work(classifier: SequenceClassifier) -> None:
    selection, base = pytest.importorskip("sklearn.model_selection"), pytest.importorskip("sklearn.base")
    copy = base.clone(classifier)
    assert copy.get_params() == classifier.get_params()
    assert not hasattr(copy, "run_")
    scores = selection.cross_val_score(SequenceClassifier(**TINY), TEXTS, LABELS, cv=2)
    assert scores.shape == (2,)
    search = selection.GridSearchCV(seq2see.SequenceClassifier(**TINY), {"updates": [1, 2]}, cv=2)
    assert set(search.fit(TEXTS, LABELS).best_params_) == {"updates"}
