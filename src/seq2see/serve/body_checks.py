"""Checks of JSON that its schema cannot make: how many values it has, and that no name stands twice in an object."""

import json
from collections.abc import Sequence

from seq2see.serve.bounds import Bounds
from seq2see.serve.request_error import RequestError


def check_size(body: bytes, bounds: Bounds) -> None:
    """Refuse JSON with too many values before it is read, because an error for each of millions costs gigabytes.

    Args:
        body: the bytes of the body.
        bounds: the most values.

    Raises:
        RequestError: with status 413, there are too many values.
    """
    if len(body) <= bounds.values:  # a value has at least one byte
        return
    if b"\\" in body:
        body = body.replace(b"\\\\", b"").replace(b'\\"', b"")  # quotes that end no text
    if body.count(b'"') <= 4 * bounds.values:  # or splitting them would cost much, too
        outside = b"".join(body.split(b'"')[::2])
        if sum(outside.count(mark) for mark in (b",", b"[", b"{")) <= bounds.values:
            return
    raise RequestError(f"the JSON of a request may have {bounds.values:,} values; got more.", status=413)


def check_names(body: bytes) -> None:
    """Refuse JSON in which an object has a name twice, because programs differ in which one they take.

    Args:
        body: the bytes of a body that has passed all other checks.

    Raises:
        RequestError: a name stands twice.
    """
    json.loads(body, object_pairs_hook=_check_pairs)


def _check_pairs(pairs: Sequence[tuple[str, object]]) -> None:
    known: set[str] = set()
    for name, _ in pairs:
        if name in known:
            raise RequestError(f"a name must stand once in an object; got {name[:80]!r} twice.")
        known.add(name)
