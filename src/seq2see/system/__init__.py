"""What has to do with the computer and not with models: files, processes, other people's code, the choice of BLAS.

Internal; it imports `core` alone.
"""

__all__ = [
    "blas",
    "checksums",
    "file_lock",
    "files",
    "foreign_code",
    "processes",
    "standard_error",
]
