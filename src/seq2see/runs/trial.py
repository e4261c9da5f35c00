"""The trial of a run in a process of its own: `python -m seq2see.runs.trial`, which `seq2see.runs.sandbox` starts.

It reads its job from standard input, one line of JSON, puts limits on itself, opens the run, predicts one input and
explains the output. It reports one line of JSON: why the run is refused, or the digests of its files.
"""

import hashlib
import json
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2see.core.errors import AttentionError, Seq2SeeError, TokenError
from seq2see.core.registry import shorten
from seq2see.system.confinement import ProcessLimits, confine

if TYPE_CHECKING:
    from seq2see.runs.folder import RunFolder
    from seq2see.runs.run import Run

CHUNK_BYTES = 2**20
TEXT = "A quick brown fox jumps over 12 lazy dogs (again)."
MAX_CHARACTERS = 200  # of pieces of the vocabulary that are read together


def try_run(path: Path) -> dict[str, object]:
    """Open a run, predict one input and explain the output.

    Args:
        path: the run folder.

    Returns:
        The digest of each file that the run was opened from, by its name.

    Raises:
        Seq2SeeError: the run is refused.
    """
    from seq2see.runs.held_out_file import read_held_out
    from seq2see.runs.run import load

    run = load(path, device="cpu")
    run.folder.read_metrics()
    read_held_out(run.folder)
    with suppress(TokenError, AttentionError):  # a model may read shorter inputs alone, or have no attention
        run.predict(INPUTS[run.task.source.reads](run)).explanation.to_json()
    return {"digests": digest_files(run.folder)}


def make_image(run: "Run") -> str:
    """Return the path of an image, which is written into the current folder.

    Args:
        run: a run that reads images.
    """
    from PIL import Image

    Image.linear_gradient("L").convert("RGB").save("trial.png")
    return "trial.png"


def make_text(run: "Run") -> str:
    """Return a text with some pieces of the vocabulary of a run.

    Args:
        run: a run that reads texts.
    """
    tokenizer = run.task.source.tokenizer
    pieces = " ".join(tokenizer.vocabulary) if tokenizer is not None else ""
    return f"{TEXT} {pieces[:MAX_CHARACTERS]}"


INPUTS = {"text": make_text, "images": make_image}  # by what a run reads


def digest_files(folder: "RunFolder") -> dict[str, str]:
    """Return the SHA-256 of each file that a run is opened from, by its name; those that are missing are left out.

    Args:
        folder: the run folder.

    Raises:
        CheckpointError: a file cannot be read.
    """
    from seq2see.runs.run_file import naming_failures, open_run_file

    found = {}
    for file in folder.files:
        with suppress(FileNotFoundError), os.fdopen(open_run_file(file), "rb") as content, naming_failures(file):
            digest = hashlib.sha256()
            while chunk := content.read(CHUNK_BYTES):
                digest.update(chunk)
            found[file.name] = digest.hexdigest()
    return found


def report(job: Mapping[str, Any]) -> dict[str, object]:
    """Do a job under its limits, and return the report.

    Args:
        job: the folder of the run (`path`) and the limits (`limits`, the fields of `ProcessLimits`).
    """
    missing = confine(ProcessLimits(**job["limits"]))
    try:
        return {**try_run(Path(job["path"])), "missing": missing}
    except Seq2SeeError as error:
        return {"refused": str(error), "missing": missing}
    except MemoryError:
        return {"refused": f"{job['path']}: the run needs more memory than a trial may use.", "missing": missing}
    except Exception as error:
        reason = shorten(f"{type(error).__name__}: {' '.join(str(error).split())}")[1:-1]
        return {"refused": f"{job['path']}: the run cannot be tried ({reason}).", "missing": missing}


def main() -> None:
    """Read a job from standard input, do it, and write the report to standard output."""
    out = os.dup(1)
    os.dup2(2, 1)  # what libraries print is no report
    line = json.dumps(report(json.loads(sys.stdin.readline())))
    os.write(out, line.encode() + b"\n")
    sys.stdout.flush()
    os._exit(0)  # what the run has left behind is not cleaned up


if __name__ == "__main__":
    main()
