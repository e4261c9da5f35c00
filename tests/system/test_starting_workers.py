"""What a process that is started as a worker is told about the program that starts it."""

import signal
import sys
import types
from multiprocessing.spawn import get_preparation_data

import pytest

from seq2see.system.processes import starting_workers


def test_a_worker_is_not_told_of_the_main_module(monkeypatch: pytest.MonkeyPatch) -> None:
    program = types.ModuleType("__main__")
    program.__file__ = "script.py"
    monkeypatch.setitem(sys.modules, "__main__", program)
    handler = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell starts jobs in the background without
    keys = {"init_main_from_name", "init_main_from_path"}
    assert keys & get_preparation_data("worker").keys()
    try:
        with starting_workers():
            assert not keys & get_preparation_data("worker").keys()
            assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
        assert sys.modules["__main__"] is program
        assert signal.getsignal(signal.SIGINT) == signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, handler)
