"""A file that is either the old one or the new one, never half of one."""

import os
import secrets
from pathlib import Path


def replace_file(path: Path, content: bytes) -> Path:
    """Write the content beside the path and move it there in one step; missing folders are made."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.write_bytes(content)
        os.replace(draft, path)
    finally:
        draft.unlink(missing_ok=True)
    return path
