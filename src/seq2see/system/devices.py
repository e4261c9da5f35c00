"""The device that models compute on: the CPU, or the best accelerator there is."""

import re
from collections.abc import Callable, Mapping

import torch

from seq2see.core.errors import ConfigError

PATTERN = r"auto|cpu|(?:cuda|mps|xpu)(?::\d+)?"
ACCELERATORS: Mapping[str, Callable[[], int]] = {  # how many there are of each kind, the best kind first
    "cuda": lambda: torch.cuda.device_count() if torch.cuda.is_available() else 0,
    "mps": lambda: int(torch.backends.mps.is_available()),
    "xpu": lambda: torch.xpu.device_count() if torch.xpu.is_available() else 0,
}


def choose_device(name: str = "auto", *, path: tuple[str, ...] = ()) -> torch.device:
    """Return the device of a name.

    Args:
        name: `cpu`, `cuda`, `mps` or `xpu`, with a number from 0 such as `cuda:1` if there are several; `auto` takes
            the first of cuda, mps, xpu and cpu that this machine has. A device that a program has registered with
            torch is known by its own name.
        path: the keys of a configuration that lead to the name, for the error; empty if it is none of a configuration.

    Raises:
        ConfigError: there is no such device.
    """
    if name == "auto":
        return torch.device(next((kind for kind, count in ACCELERATORS.items() if count()), "cpu"))
    own = torch._C._get_privateuse1_backend_name()
    if not re.fullmatch(rf"{PATTERN}|{own}(:0)?", name):
        raise ConfigError(f"a device must be auto, cpu, cuda, mps, xpu or one such as cuda:1; got {name!r}.", path=path)
    kind, _, number = name.partition(":")
    if kind in ACCELERATORS:
        count = ACCELERATORS[kind]()
        if int(number or 0) >= count:
            there = f"only {count} of {kind}" if count else f"no {kind}"
            raise ConfigError(
                f"the device must be one that is there, but there is {there}; got {name}; take auto.", path=path
            )
    return torch.device(name)


def describe_device(device: torch.device) -> str:
    """Return a device as people write it, with the name of its maker if torch knows one.

    Args:
        device: any device.
    """
    if device.type == "cuda":
        return f"{device} ({torch.cuda.get_device_name(device)})"
    return str(device)
