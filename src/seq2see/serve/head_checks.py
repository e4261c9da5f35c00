"""Checks of the head of a request: its form, its host and origin, and its token."""

import hmac
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from seq2see.serve.host_names import is_same_origin, parse_host
from seq2see.serve.request_error import RequestError

MOST_HEADERS = 100
ONCE = ("authorization", "content-encoding", "content-type", "transfer-encoding")  # h11 checks Host and Content-Length

Headers = Mapping[str, Sequence[str]]  # the values of each header, by its name in lower case


def read_headers(headers: Iterable[tuple[bytes, bytes]]) -> Headers:
    """Return the headers of a request by name.

    Args:
        headers: names and values, as ASGI has them.
    """
    found: dict[str, list[str]] = {}
    for name, value in headers:
        found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
    return found


def check_form(scope: Mapping[str, Any], headers: Headers) -> None:
    """Refuse what servers and proxies read in different ways, and what this server does not do.

    A request whose end is ambiguous lets an attacker hide a second one in it from a proxy (request smuggling).

    Args:
        scope: the ASGI scope.
        headers: the headers by name.

    Raises:
        RequestError: with status 431 for too many headers, 415 for a compressed body, and 400 for all else.
    """
    version, target = scope["http_version"], scope.get("raw_path") or scope["path"].encode()
    if version not in ("1.0", "1.1"):
        raise _refuse(f"the request must be HTTP/1.0 or HTTP/1.1; got HTTP/{version}.")
    if not target.startswith(b"/"):
        shown = target.decode("latin-1")[:80]
        raise _refuse(f"the target of a request must be a path, such as /v1/predict; got {shown!r}.")
    if "transfer-encoding" in headers and (version == "1.0" or "content-length" in headers):
        raise _refuse("a request must not have Transfer-Encoding in HTTP/1.0, or with a Content-Length; leave it out.")
    for name in ONCE:
        if len(headers.get(name, ())) > 1:
            raise _refuse(f"the header {name} must be given once; got it {len(headers[name])} times.")
    count = sum(map(len, headers.values()))
    if count > MOST_HEADERS:
        raise _refuse(f"a request may have {MOST_HEADERS} headers; got {count:,}.", status=431)
    encoding = headers.get("content-encoding", ["identity"])[0].strip().lower()
    if encoding not in ("identity", ""):
        raise RequestError(f"the body must not be compressed; got {encoding[:80]!r}; send it as it is.", status=415)


def check_host(headers: Headers, hosts: Collection[str]) -> None:
    """Refuse unknown host names (against DNS rebinding) and requests from pages of other sites.

    Args:
        headers: the headers by name.
        hosts: the host names of this server in lower case; IP addresses are always accepted, as DNS cannot rebind them.

    Raises:
        RequestError: with status 421 for the host, and 403 for the origin.
    """
    given = headers.get("host", [])
    host = parse_host(given[0]) if len(given) == 1 else None
    if host is None or not (host.name in hosts or host.is_address):
        shown = given[0] if host is None and given else host.name if host is not None else ""
        raise RequestError(f"the host {shown[:80]!r} is not served; start with --allow-host to permit it.", status=421)
    if not all(is_same_origin(origin, host) for origin in headers.get("origin", ())):
        raise RequestError("pages of other sites may not use this server.", status=403)


def check_token(headers: Headers, tokens: Sequence[str]) -> int:
    """Return the number of the token of a request, in a time that says nothing about the tokens.

    Args:
        headers: the headers by name.
        tokens: the tokens of this server.

    Raises:
        RequestError: with status 401, the request has none of them.
    """
    scheme, _, given = headers.get("authorization", [""])[0].partition(" ")
    said = given.strip().encode("latin-1")
    matches = [hmac.compare_digest(said, token.encode()) for token in tokens]  # all, whichever matches
    if scheme.lower() != "bearer" or not any(matches):
        raise RequestError(
            "the request must have the token of this server; send the header Authorization: Bearer TOKEN.",
            status=401,
            headers={"WWW-Authenticate": "Bearer"},
        )
    return matches.index(True)


def _refuse(sentence: str, *, status: int = 400) -> RequestError:
    return RequestError(sentence, status=status, headers={"Connection": "close"})
