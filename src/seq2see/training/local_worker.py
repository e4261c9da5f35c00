"""A process that shares the training of another one on this machine: `python -m seq2see.training.local_worker`."""

import json
import os
import signal
import sys
import threading
from collections.abc import Mapping
from pathlib import Path

from seq2see.system.processes import REQUESTS, own_process


def main() -> None:
    """Take part in a training; the first line of standard input says in which one, and its end ends this process."""
    for number in REQUESTS:
        signal.signal(number, signal.SIG_IGN)  # the process that started this one decides
    own_process()
    setup: dict[str, str | int] = json.loads(sys.stdin.readline())
    threading.Thread(target=_end_with_parent, daemon=True).start()
    sys.exit(serve(setup))


def serve(setup: Mapping[str, str | int]) -> int:
    """Take part in a training, and return the exit code.

    Args:
        setup: the run folder (`folder`), the `rank` of this process, how many `workers` there are, the `threads` of
            each, and the `port` of the store over which they find each other.
    """
    from seq2see.core.errors import Seq2SeeError
    from seq2see.training.follow import follow, open_job
    from seq2see.training.local_workers import LOST
    from seq2see.training.parallel_plan import ParallelPlan
    from seq2see.training.process_group import LOOPBACK, LostError, ProcessGroup, connect_store

    plan = ParallelPlan(int(setup["workers"]), int(setup["threads"]))
    try:
        job = open_job(Path(str(setup["folder"])))
        _say({"ready": "yes"})
        store = connect_store(LOOPBACK, int(setup["port"]), is_master=False)
        job.loop.join(ProcessGroup(store, int(setup["rank"]), plan.workers, local=True), plan)
        follow(job)
    except LostError:
        return LOST  # another process has ended, and the main one knows
    except Exception as error:
        _say({"error": str(error) if isinstance(error, Seq2SeeError) else f"{type(error).__name__}: {error}"})
        return 2
    return 0


def _say(words: Mapping[str, str]) -> None:
    """Tell the process that started this one something."""
    print(json.dumps(words), flush=True)


def _end_with_parent() -> None:
    """End this process, without waiting for other threads, as soon as the one that started it has ended."""
    while sys.stdin.buffer.read(1):
        pass
    os._exit(1)


if __name__ == "__main__":
    main()
