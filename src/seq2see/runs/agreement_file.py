"""The file of a run folder that says how far its attention agrees with leave-one-out occlusion."""

import hashlib
import json
import math
from typing import TYPE_CHECKING

from seq2see.core.errors import CheckpointError
from seq2see.core.json_text import read_json
from seq2see.explain.attention_agreement import NOT_MEASURED, AttentionAgreement
from seq2see.runs.checkpoint import read_checkpoint_header
from seq2see.runs.run_file import read_run_file
from seq2see.system.files import write_atomic

if TYPE_CHECKING:
    from seq2see.runs.folder import RunFolder

MAX_BYTES = 4096
MAX_REASON = 200  # characters


def write_agreement(folder: "RunFolder", agreement: AttentionAgreement) -> None:
    """Write what was measured into the run folder, with the digest of the weights and one of the content.

    Args:
        folder: the run folder, with its weights.
        agreement: what was measured of these weights.
    """
    measured = {"tau": agreement.tau, "count": agreement.count, "reason": agreement.reason}
    content = {"agreement": measured, "weights": read_weights_digest(folder)}
    write_atomic(folder.agreement_file, json.dumps({**content, "digest": _digest(content)}, indent=1) + "\n")


def read_agreement(folder: "RunFolder") -> AttentionAgreement:
    """Read what was measured of the weights of a run; of other weights, nothing was measured.

    Args:
        folder: the run folder, with its weights.

    Raises:
        CheckpointError: the file was changed or damaged.
    """
    file = folder.agreement_file
    try:
        content = read_json(read_run_file(file, most=MAX_BYTES))
        if content.pop("digest") != _digest(content):
            raise ValueError
        agreement = _check(AttentionAgreement(**content["agreement"]))
    except FileNotFoundError:
        return NOT_MEASURED
    except (ValueError, KeyError, TypeError, AttributeError):
        raise CheckpointError(
            f"{file}: the file was changed or damaged since it was written; delete it, and measure the agreement again "
            "(seq2see evaluate RUN DATA --agreement)."
        ) from None
    return agreement if content["weights"] == read_weights_digest(folder) else NOT_MEASURED


def _check(agreement: AttentionAgreement) -> AttentionAgreement:
    """Return what was read, if it can have been measured."""
    tau, count, reason = agreement.tau, agreement.count, agreement.reason
    known = type(count) is int and isinstance(reason, str) and len(reason) <= MAX_REASON and not agreement.condition
    measured = type(tau) in (int, float) and math.isfinite(tau or 0.0) and abs(tau or 0.0) <= 1 and count > 0
    if not known or (not measured and tau is not None):
        raise ValueError("this was never measured")
    return agreement


def _digest(content: object) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()


def read_weights_digest(folder: "RunFolder") -> str:
    """Return the digest that is in the header of the weights; empty without weights.

    Args:
        folder: the run folder.
    """
    if not folder.weights_file.exists():
        return ""
    return str(read_checkpoint_header(folder.weights_file).metadata.get("digest", ""))
