"""Limits that a process puts on itself before it reads what a stranger wrote: memory, time, files, network.

A process cannot take them back. What the system does not permit is named, and the rest holds.
"""

import ctypes
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass

NEW_USER, NEW_NETWORK = 0x10000000, 0x40000000  # namespaces, in Linux's unshare
NO_NEW_PRIVILEGES, PARENT_DEATH_SIGNAL = 38, 1  # names of Linux's prctl
SIGKILL = 9


@dataclass(frozen=True)
class ProcessLimits:
    """What a process may use.

    Args:
        memory: bytes of address space.
        seconds: seconds of computing.
        written: bytes of the largest file that it may write.
        files: files and sockets that it may have open.
    """

    memory: int
    seconds: int
    written: int = 1_000_000
    files: int = 256


def confine(limits: ProcessLimits) -> list[str]:
    """Put limits on this process for ever; call it before there are other threads.

    Afterwards it has no network (no interface is up, not even the one to itself), can start no process, and is killed
    when it has computed for too long, or with the thread that started it.

    Args:
        limits: what the process may use.

    Returns:
        What the system does not permit, as words for a message: those limits do not hold.
    """
    missing = [] if _leave_network() else ["a network of its own, cut off from yours"]
    if sys.platform == "linux":
        _call("prctl", NO_NEW_PRIVILEGES, 1, 0, 0, 0)
        _call("prctl", PARENT_DEATH_SIGNAL, SIGKILL, 0, 0, 0)
    return missing + _set_limits(limits)


def _set_limits(limits: ProcessLimits) -> list[str]:
    try:
        import resource
    except ImportError:  # Windows
        return ["limits of memory and time"]
    named = {
        "RLIMIT_AS": ("a limit of memory", limits.memory),
        "RLIMIT_CPU": ("a limit of computing time", limits.seconds),
        "RLIMIT_FSIZE": ("a limit on written files", limits.written),
        "RLIMIT_NOFILE": ("a limit on open files", limits.files),
        "RLIMIT_NPROC": ("a limit on processes", 0),
        "RLIMIT_CORE": ("no dumps of memory", 0),
    }
    missing = []
    for name, (words, value) in named.items():
        try:
            number = getattr(resource, name)
            most = resource.getrlimit(number)[1]
            least = value if most == resource.RLIM_INFINITY else min(value, most)
            resource.setrlimit(number, (least, least))
        except (AttributeError, OSError, ValueError):
            missing.append(words)
    if os.name == "posix" and _was_root:  # Linux does not count the processes of root
        missing.append(named["RLIMIT_NPROC"][0])
    return missing


_was_root = os.name == "posix" and os.getuid() == 0  # read before the process has another user namespace


def _leave_network() -> bool:
    """Move this process into a network without interfaces; a user namespace of its own permits that to anybody."""
    return sys.platform == "linux" and _call("unshare", NEW_USER | NEW_NETWORK)


def _call(name: str, *arguments: int) -> bool:
    """Call a function of the C library; Python has `unshare` from 3.12 on."""
    function: Callable[..., int] | None = None
    with suppress(OSError, AttributeError):
        function = getattr(ctypes.CDLL(None), name)
    return function is not None and function(*map(ctypes.c_ulong, arguments)) == 0
