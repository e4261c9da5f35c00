"""What has to do with the computer and not with models: files, memory, processes, consoles, other people's code, BLAS.

Internal; it imports `core` alone.
"""

__all__ = [
    "blas",
    "checksums",
    "confinement",
    "console",
    "devices",
    "file_lock",
    "files",
    "foreign_code",
    "free_memory",
    "processes",
    "standard_error",
]
