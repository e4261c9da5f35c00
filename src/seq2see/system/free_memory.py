"""How much memory there is."""

import os
import re
from contextlib import suppress
from pathlib import Path


def read_free_memory() -> int | None:
    """Return the bytes of memory that this process may still use; None where the system does not say."""
    found = []
    with suppress(ValueError, OSError, AttributeError):
        found.append(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_AVPHYS_PAGES"))
    with suppress(ValueError, OSError):  # of Linux: with what caches of files would give back
        available = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.MULTILINE)
        found = [1024 * int(available[1])] if available else found
    with suppress(ImportError, ValueError, OSError):
        import resource

        limit = resource.getrlimit(resource.RLIMIT_AS)[0]
        pages = int(Path("/proc/self/statm").read_text().split()[0])
        found += [limit - pages * os.sysconf("SC_PAGE_SIZE")] if limit != resource.RLIM_INFINITY else []
    return min(found, default=None)
