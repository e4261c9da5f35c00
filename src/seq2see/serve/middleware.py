"""Middleware that checks host, origin, token and size of a request, and sends every error as one sentence of JSON."""

import hmac
import ipaddress
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.requests import Bounds, RequestError

Scope = MutableMapping[str, Any]  # of ASGI, like the types below
Message = Scope
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]

INTERNAL_ERROR = "the server failed; its log has more."
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}

log = logging.getLogger("seq2see.serve")


class Middleware:
    """An ASGI application that checks requests and passes them to another one.

    Args:
        app: the application inside.
        bounds: how much a request may ask for, of which the size of the body is checked here.
        metrics: counts requests and their seconds, by path and status.
        paths: the paths that are counted by name; all others are counted as `other`.
        token: the bearer token that clients must send; None asks for no token.
        hosts: the host names of this server; localhost and IP addresses are always accepted.
    """

    def __init__(
        self,
        app: App,
        *,
        bounds: Bounds,
        metrics: ServerMetrics,
        paths: Collection[str],
        token: str | None = None,
        hosts: Collection[str] = (),
    ) -> None:
        self.app, self.bounds, self.metrics, self.paths = app, bounds, metrics, paths
        self.token, self.hosts = token, {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        connection = Connection(send)
        began = time.perf_counter()
        try:
            self.check(scope)
            await self.app(scope, self._limit(receive), connection.send)
        except RequestError as error:
            await connection.refuse(error.status, str(error), error.headers)
        except Exception:
            log.exception("a request failed")
            await connection.refuse(500, INTERNAL_ERROR, {})
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.metrics.requests.add(path=path, status=str(connection.status))
            self.metrics.seconds.observe(time.perf_counter() - began, path=path)

    def check(self, scope: Scope) -> None:
        """Check the head of a request, before its body is read.

        Args:
            scope: the ASGI scope with path and headers.

        Raises:
            RequestError: host, origin, size or token of the request are not acceptable.
        """
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_host(headers)
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size[:20]) > self.bounds.body:
            raise _too_large(self.bounds)
        if self.token is not None and needs_token(scope["path"]):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode("latin-1"), self.token.encode()):
                raise RequestError(
                    "the request must have the token of this server; send the header Authorization: Bearer TOKEN.",
                    status=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )

    def _check_host(self, headers: Mapping[str, str]) -> None:
        """Refuse unknown host names (against DNS rebinding) and requests from pages of other sites."""
        host = headers.get("host", "")
        if not self._is_known(host):
            name = host.rpartition(":")[0] or host
            raise RequestError(
                f"the host {name[:80]!r} is not served; start with --allow-host to permit it.", status=421
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise RequestError("pages of other sites may not use this server.", status=403)

    def _is_known(self, host: str) -> bool:
        """Tell whether a host is one of our names, or an IP address, which DNS cannot rebind."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in self.hosts:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _limit(self, receive: Receive) -> Receive:
        """Return a function that receives the body, and refuses it once it is too large, whatever its head says."""
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self.bounds.body:
                raise _too_large(self.bounds)
            return message

        return counted


class Connection:
    """The response to one request: it adds our headers, and knows whether an error may still be sent.

    Args:
        send: sends an ASGI message to the client.
    """

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def send(self, message: Message) -> None:
        """Send a message of the response.

        Args:
            message: the ASGI message; to the start of a response, the security headers are added.
        """
        if message["type"] == "http.response.start":
            self.status = message["status"]
            known = {name.lower() for name, _ in message.get("headers", ())}
            ours = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
            message = {**message, "headers": [*message.get("headers", ()), *ours]}
        await self._send(message)

    async def refuse(self, status: int, sentence: str, headers: Mapping[str, str]) -> None:
        """Respond with an error, unless a response has begun.

        Args:
            status: the HTTP status.
            sentence: the message of the error.
            headers: further headers of the response.
        """
        if self.status:
            return
        body = json.dumps({"error": sentence}).encode()
        extra = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": [*kind, *extra]})
        await self._send({"type": "http.response.body", "body": body})


def needs_token(path: str) -> bool:
    """Tell whether a path needs the token, if the server has one.

    Args:
        path: the path of a request.
    """
    return path.startswith("/v1/") or path == "/metrics"


def _too_large(bounds: Bounds) -> RequestError:
    return RequestError(
        f"a request may have {bounds.body:,} bytes; this one has more.", status=413, headers={"Connection": "close"}
    )
