"""What a process that is started as a worker is told about the program that starts it."""

import signal
import sys
from multiprocessing.spawn import get_preparation_data

from seq2see.system.processes import starting_workers


def test_a_worker_is_not_told_of_the_main_module() -> None:
    program = sys.modules["__main__"]
    keys = {"init_main_from_name", "init_main_from_path"}
    with starting_workers():
        assert not keys & get_preparation_data("worker").keys()
        assert signal.getsignal(signal.SIGINT) == signal.SIG_IGN
    assert sys.modules["__main__"] is program
    assert signal.getsignal(signal.SIGINT) != signal.SIG_IGN
    assert keys & get_preparation_data("worker").keys()
