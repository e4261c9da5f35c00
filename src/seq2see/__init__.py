"""seq2see: sequence-to-sequence models you can see through."""

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2see.inspect.view import view as view
    from seq2see.inspect.watch import watch as watch
    from seq2see.nn.lookup import attend as attend
    from seq2see.run import Prediction as Prediction
    from seq2see.run import Run as Run
    from seq2see.run import load as load
    from seq2see.search.rules import Rules as Rules

__version__ = "0.1.0"

# before torch is imported: threads that spin for long while they wait starve each other as soon as anything else runs
os.environ.setdefault("GOMP_SPINCOUNT", "10000")


_PLACES = {
    "load": "run",
    "Run": "run",
    "Prediction": "run",
    "Rules": "search.rules",
    "attend": "nn.lookup",
    "view": "inspect.view",
    "watch": "inspect.watch",
}


def __getattr__(name: str) -> Any:
    """Import what needs torch only when it is asked for, so that `seq2see --help` is quick."""
    if name not in _PLACES:
        raise AttributeError(f"module 'seq2see' has no attribute {name!r}")
    return getattr(import_module(f"seq2see.{_PLACES[name]}"), name)
