"""seq2see: sequence-to-sequence models you can see through.

`__all__` is the whole Python interface; each name is imported when it is first used, so that importing is light.
"""

import os
from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from seq2see.estimator import Seq2SeqEstimator as Seq2SeqEstimator
    from seq2see.estimator import SequenceClassifier as SequenceClassifier
    from seq2see.explain.from_arrays import from_arrays as from_arrays
    from seq2see.explain.record import record as record
    from seq2see.nn.functional import attend as attend
    from seq2see.runs.analysis import align as align
    from seq2see.runs.analysis import compare as compare
    from seq2see.runs.analysis import doctor as doctor
    from seq2see.runs.prediction import Prediction as Prediction
    from seq2see.runs.run import Run as Run
    from seq2see.runs.run import load as load
    from seq2see.search.options import DecodeOptions as DecodeOptions
    from seq2see.training.api import Training as Training
    from seq2see.training.api import fit as fit
    from seq2see.training.api import resume as resume
    from seq2see.training.api import train as train
    from seq2see.training.events import Finished as Finished
    from seq2see.training.events import Resumed as Resumed
    from seq2see.training.events import Stepped as Stepped
    from seq2see.training.events import Validated as Validated

__all__ = [
    "DecodeOptions",
    "Finished",
    "Prediction",
    "Resumed",
    "Run",
    "Seq2SeqEstimator",
    "SequenceClassifier",
    "Stepped",
    "Training",
    "Validated",
    "align",
    "attend",
    "compare",
    "doctor",
    "fit",
    "from_arrays",
    "load",
    "record",
    "resume",
    "train",
]
__version__ = "0.1.0"

# before torch is imported: threads that spin for long while they wait starve each other as soon as anything else runs
os.environ.setdefault("GOMP_SPINCOUNT", "10000")


_PLACES = {
    "train": "training.api",
    "fit": "training.api",
    "resume": "training.api",
    "Training": "training.api",
    "Resumed": "training.events",
    "Stepped": "training.events",
    "Validated": "training.events",
    "Finished": "training.events",
    "Seq2SeqEstimator": "estimator",
    "SequenceClassifier": "estimator",
    "compare": "runs.analysis",
    "doctor": "runs.analysis",
    "align": "runs.analysis",
    "load": "runs.run",
    "Run": "runs.run",
    "Prediction": "runs.prediction",
    "DecodeOptions": "search.options",
    "attend": "nn.functional",
    "from_arrays": "explain.from_arrays",
    "record": "explain.record",
}


def __getattr__(name: str) -> object:
    """Import what needs torch only when it is asked for, so that `seq2see --help` is quick."""
    if name not in _PLACES:
        raise AttributeError(f"module 'seq2see' has no attribute {name!r}")
    return getattr(import_module(f"seq2see.{_PLACES[name]}"), name)


def __dir__() -> list[str]:
    """Return the public names, also those that are not imported yet."""
    return sorted([*__all__, "__version__"])
