"""The digest at the end of a run's config.yaml, which reveals a change of the file."""

import hashlib
import re
from pathlib import Path

from seq2see.core.errors import CheckpointError
from seq2see.runs.run_file import MAX_CONFIG_BYTES, read_run_file

MARK = "# sha256 of what is above: "
SEALED = re.compile(rb"^" + MARK.encode() + rb"([0-9a-f]{64})\n\.\.\.\n\Z", re.MULTILINE)
END = "...\n"


def add_digest(text: str) -> str:
    """Return the text of a configuration with its digest before YAML's end marker, in place of an older one.

    Args:
        text: YAML that ends with the marker `...` in a line of its own.
    """
    above = re.sub(rf"^{MARK}.*\n\Z", "", text.removesuffix(END), flags=re.MULTILINE)
    return f"{above}{MARK}{hashlib.sha256(above.encode()).hexdigest()}\n{END}"


def check_config_file(path: Path) -> None:
    """Refuse a run's config.yaml that is not as it was written.

    Args:
        path: the file, which must exist.

    Raises:
        CheckpointError: the file is cut short, changed or damaged.
    """
    content = read_run_file(path, most=MAX_CONFIG_BYTES)
    if content.rstrip().rpartition(b"\n")[2] != END.strip().encode():
        raise CheckpointError(
            f"{path}: the file is cut short, or not one of seq2see (its last line must be `...`); choose another "
            "folder."
        )
    sealed = SEALED.search(content)  # that of an older version has no digest
    if sealed is not None and hashlib.sha256(content[: sealed.start()]).hexdigest().encode() != sealed[1]:
        raise CheckpointError(
            f"{path}: the file was changed or damaged since it was written (its digest differs); undo the edit (to "
            "change it, edit a copy: seq2see train COPY.yaml --out DIR)."
        )
