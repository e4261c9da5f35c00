"""Estimators in the manner of scikit-learn: `fit(X, y)`, `predict(X)`, `score(X, y)`.

They follow scikit-learn's conventions by themselves. Where it is installed, they are `BaseEstimator`s and work with its
tools (`clone`, `cross_val_score`, `GridSearchCV`, pipelines).
"""

import inspect
import os
import shutil
import sys
import weakref
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from tempfile import mkdtemp
from typing import TYPE_CHECKING, TypeVar, cast

import numpy as np

from seq2see.core.errors import DataError
from seq2see.data.formats.given_sources import Source, is_single, list_sources
from seq2see.data.formats.image_object import is_pixels
from seq2see.runs.run import Run
from seq2see.system.console import make_console
from seq2see.training.api import train_request
from seq2see.training.arguments import make_request
from seq2see.training.training_data import StrPath

if TYPE_CHECKING:
    from sklearn.utils import Tags

    class BaseEstimator:
        """The base of scikit-learn's estimators."""

else:
    try:
        from sklearn.base import BaseEstimator
    except ImportError:
        BaseEstimator = object

Own = TypeVar("Own", bound="TextEstimator")


class TextEstimator(BaseEstimator):
    """The base of both estimators: parameters, training, and what scikit-learn asks of them.

    Args:
        preset: the name of the preset to start from; None lets the data decide.
        updates: how many updates to make; None lets the data decide.
        settings: further keys of the configuration, such as {"train.learning_rate": 0.002}; None: none.
        random_state: the seed of everything random; None takes the configured one, 1 unless `settings` say otherwise.
        out: the run folder; None takes a temporary one that lasts as long as the estimator.
        progress: whether to show the progress of the training.
    """

    task: str

    def __init__(
        self,
        *,
        preset: str | None = None,
        updates: int | None = None,
        settings: Mapping[str, object] | None = None,
        random_state: int | None = None,
        out: StrPath | None = None,
        progress: bool = False,
    ) -> None:
        self.preset = preset
        self.updates = updates
        self.settings = settings
        self.random_state = random_state
        self.out = out
        self.progress = progress

    def get_params(self, deep: bool = True) -> dict[str, object]:
        """Return the arguments of the constructor, by name.

        Args:
            deep: has no effect, because no argument is an estimator; scikit-learn passes it.
        """
        return {name: getattr(self, name) for name in self._list_parameters()}

    def set_params(self: Own, **params: object) -> Own:
        """Set arguments of the constructor, and return the estimator.

        Args:
            **params: their new values, by name.

        Raises:
            ValueError: the constructor has no such argument.
        """
        known = self._list_parameters()
        for name, value in params.items():
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no parameter {name!r} (known: {', '.join(known)}).")
            setattr(self, name, value)
        return self

    def __repr__(self) -> str:
        defaults = inspect.signature(type(self)).parameters
        changed = [f"{name}={value!r}" for name, value in self.get_params().items() if value != defaults[name].default]
        return f"{type(self).__name__}({', '.join(changed)})"

    def __sklearn_tags__(self) -> "Tags":
        """Return what scikit-learn may expect: texts in one dimension."""
        from sklearn.utils import InputTags, Tags, TargetTags

        inputs = InputTags(one_d_array=True, two_d_array=False, string=True)
        return Tags(
            estimator_type=None, target_tags=TargetTags(required=True), input_tags=inputs, non_deterministic=False
        )

    def __sklearn_is_fitted__(self) -> bool:
        """Return whether `fit` was called."""
        return hasattr(self, "run_")

    @classmethod
    def _list_parameters(cls) -> list[str]:
        return list(inspect.signature(cls).parameters)

    def _train(self, sources: Sequence[object], targets: Sequence[str]) -> None:
        """Train a run, which is `run_` afterwards."""
        settings: dict[str, object] = {"task": self.task, **(self.settings or {})}
        settings |= {} if self.updates is None else {"train.updates": self.updates}
        settings |= {} if self.random_state is None else {"seed": int(self.random_state)}
        out = self.out if self.out is not None else self._make_folder()
        pairs = list(zip(sources, targets, strict=True))
        request = make_request(pairs, preset=self.preset, out=out, settings=settings)
        self.run_ = train_request(request, console=make_console(quiet=not self.progress)).load()

    def _make_folder(self) -> Path:
        """Return a temporary run folder, which is removed with the estimator."""
        folder = mkdtemp(prefix="seq2see-")
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        return Path(folder) / "run"

    @property
    def _run(self) -> Run:
        if not self.__sklearn_is_fitted__():
            error = getattr(sys.modules.get("sklearn.exceptions"), "NotFittedError", AttributeError)
            raise error(f"this {type(self).__name__} must be fitted before it predicts; call fit first.")
        return self.run_


class Seq2SeqEstimator(TextEstimator):
    """Texts (or images) to texts: translation, transcription, captions, normal forms.

    `score` is chrF, from 0 to 1 (Popović 2015, doi:10.18653/v1/W15-3049). The constructor has the arguments of
    `TextEstimator`.
    """

    task = "transduction"

    def fit(self, X: object, y: object) -> "Seq2SeqEstimator":  # noqa: N803 (as scikit-learn names it)
        """Train on sources and their target texts, and return the estimator.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.
            y: a target text for each of them; anything else is converted by `str`.
        """
        sources = _list_inputs(X)
        self._train(sources, [str(target) for target in _list_targets(y, len(sources))])
        return self

    def predict(self, X: object) -> np.ndarray:  # noqa: N803
        """Return the predicted texts.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.

        Returns:
            An array of Python strings, one for each source.
        """
        return np.array([each.text for each in self._run.predict(_list_inputs(X))], dtype=object)

    def score(self, X: object, y: object) -> float:  # noqa: N803
        """Return the chrF of the predictions, from 0 to 1.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.
            y: a reference text for each of them.
        """
        sources = _list_inputs(X)
        targets = [str(target) for target in _list_targets(y, len(sources))]
        result = self._run.evaluate(list(zip(sources, targets, strict=True)))
        return next(metric.value for metric in result.metrics if metric.name == "chrf") / 100


class SequenceClassifier(TextEstimator):
    """Texts (or images) to labels, one for each source.

    `predict_proba` returns calibrated probabilities, `score` the accuracy. The constructor has the arguments of
    `TextEstimator`.
    """

    task = "classification"

    def fit(self, X: object, y: object) -> "SequenceClassifier":  # noqa: N803
        """Train on sources and their labels, and return the estimator.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.
            y: a label for each of them, as text or as number; `classes_` has all of them, sorted.
        """
        sources = _list_inputs(X)
        labels = _list_targets(y, len(sources))
        self.classes_ = np.unique(np.asarray(labels))
        self._train(sources, [_write_label(label) for label in labels])
        return self

    def predict(self, X: object) -> np.ndarray:  # noqa: N803
        """Return the most probable label of each source.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.
        """
        chosen: np.ndarray = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[chosen])

    def predict_proba(self, X: object) -> np.ndarray:  # noqa: N803
        """Return the probability of each label of `classes_`, a row for each source.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.
        """
        rows = [each.probabilities or {} for each in self._run.predict(_list_inputs(X))]
        names = [_write_label(label) for label in self.classes_]
        return np.array([[row.get(name, 0.0) for name in names] for row in rows])

    def score(self, X: object, y: object, sample_weight: Sequence[int | float] | np.ndarray | None = None) -> float:  # noqa: N803
        """Return the share of sources with the right label (accuracy), from 0 to 1.

        Args:
            X: the sources: texts or paths of images, in a list, an array, a column or a data frame.
            y: the right label of each of them.
            sample_weight: how much each source counts; None: all alike.
        """
        sources = _list_inputs(X)
        right = self.predict(sources) == np.asarray(_list_targets(y, len(sources)))
        return float(np.average(right, weights=sample_weight))

    def __sklearn_tags__(self) -> "Tags":
        """Return what scikit-learn may expect of a classifier."""
        from sklearn.utils import ClassifierTags

        tags = super().__sklearn_tags__()
        tags.estimator_type, tags.classifier_tags = "classifier", ClassifierTags()
        return tags


def _list_inputs(given: object) -> list[Source]:
    """Return the sources of X: texts, or paths of images."""
    if is_single(given):
        raise ValueError(f"X must be a list of texts; got {type(given).__name__}.")
    try:
        found = list_sources(given)
    except DataError as error:
        raise ValueError(str(error)) from None
    sources: list[Source] = []
    for source in found:
        if not isinstance(source, str | os.PathLike) and not is_pixels(source):
            raise ValueError(f"X must be a list of texts, or of paths of images; got one of {type(source).__name__}.")
        sources.append(cast(Source, source))
    if not sources:
        raise ValueError("X must have at least one source; got none.")
    return sources


def _list_targets(given: object, count: int) -> list[object]:
    """Return the targets of y, as many as there are sources."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise ValueError(f"y must be a list with a target for each source; got {type(given).__name__}.")
    targets = list(given)
    if len(targets) != count:
        raise ValueError(f"X and y must have as many entries each; got {count} and {len(targets)}.")
    return targets


def _write_label(label: object) -> str:
    """Return a label as data files have it."""
    return str(label).strip()
