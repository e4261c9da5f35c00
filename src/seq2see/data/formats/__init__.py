"""File formats of training data: lines, tables, JSON lines, Parquet, COCO captions, idx files, folders and images.

`read` is public and chooses the format of a file; each other module reads one format.
"""

__all__ = [
    "alphabets",
    "anki",
    "cells",
    "coco",
    "data_table",
    "dictionary",
    "encodings",
    "file_bytes",
    "folders",
    "given_sources",
    "headers",
    "idx",
    "image_file",
    "image_object",
    "image_paths",
    "in_memory",
    "jsonl",
    "lines",
    "parquet",
    "parquet_stream",
    "read",
    "row_stream",
    "table_kind",
    "tables",
]
