"""Prepared data on disk: packed token ids, memory-mapped datasets and caches.

Internal: the files may change between versions, and deleting a cache is always safe.
"""

__all__ = [
    "cache",
    "cache_usage",
    "dataset",
    "feature_cache",
    "packed",
]
