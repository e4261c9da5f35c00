"""Middleware that checks host, origin, token and size of a request, and sends every error as one sentence of JSON."""

import ipaddress
import json
import logging
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any

from seq2see.serve.bounds import Bounds
from seq2see.serve.head_checks import check_form, check_host, check_token, read_headers
from seq2see.serve.prometheus_metrics import ServerMetrics
from seq2see.serve.request_error import RequestError
from seq2see.serve.request_log import ID_HEADER, REQUEST_ID, choose_id, log_request

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

CLIENT = "seq2see.client"  # the key of the scope with the name of the client

log = logging.getLogger("seq2see.serve")


class Middleware:
    """An ASGI application that checks requests and passes them to another one.

    Args:
        app: the application inside.
        bounds: how much a request may ask for, of which the size of the body and the requests of a client are checked.
        metrics: counts requests and their seconds, by path and status.
        paths: the paths that are counted by name; all others are counted as `other`.
        tokens: the bearer tokens of clients; empty asks for no token.
        hosts: the host names of this server; localhost and IP addresses are always accepted.
    """

    def __init__(
        self,
        app: App,
        *,
        bounds: Bounds,
        metrics: ServerMetrics,
        paths: Collection[str],
        tokens: Collection[str] = (),
        hosts: Collection[str] = (),
    ) -> None:
        self.app, self.bounds, self.metrics, self.paths = app, bounds, metrics, paths
        self.tokens = tuple(tokens)
        self.hosts = {"localhost", *(host.lower().removesuffix(".") for host in hosts)}
        self.clients: Counter[str] = Counter()  # requests on their way

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        name = choose_id(scope["headers"])
        REQUEST_ID.set(name)
        connection = Connection(send, name, bodiless=scope["method"] == "HEAD")
        began = time.perf_counter()
        try:
            await self._answer(scope, receive, connection)
        except RequestError as error:
            await connection.refuse(error.status, str(error), error.headers)
        except Exception:
            log.exception("a request failed")
            await connection.refuse(500, INTERNAL_ERROR, {})
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            seconds = time.perf_counter() - began
            self.metrics.requests.add(path=path, status=str(connection.status))
            self.metrics.seconds.observe(seconds, path=path)
            log_request(scope, connection.status, seconds)

    async def _answer(self, scope: Scope, receive: Receive, connection: "Connection") -> None:
        """Check the head of a request, and pass it to the application inside."""
        token = self.check(scope)
        client = name_client(scope, token if len(self.tokens) > 1 else None)
        scope = {**scope, CLIENT: client, "method": "GET" if connection.bodiless else scope["method"]}
        if not scope["path"].startswith("/v1/"):
            await self.app(scope, self._limit(receive), connection.send)
            return
        if self.clients[client] >= self.bounds.client_requests:
            raise RequestError(
                f"a client may have {self.bounds.client_requests} requests at the same time; got one more; wait for an "
                "answer.",
                status=429,
                headers={"Retry-After": "1"},
            )
        self.clients[client] += 1
        try:
            await self.app(scope, self._limit(receive), connection.send)
        finally:
            self.clients[client] -= 1
            if not self.clients[client]:
                del self.clients[client]

    def check(self, scope: Scope) -> int | None:
        """Check the head of a request, before its body is read.

        Args:
            scope: the ASGI scope with path and headers.

        Returns:
            The number of its token; None if none is needed.

        Raises:
            RequestError: form, host, origin, size or token of the request are not acceptable.
        """
        headers = read_headers(scope["headers"])
        check_form(scope, headers)
        check_host(headers, self.hosts)
        token = check_token(headers, self.tokens) if self.tokens and needs_token(scope["path"]) else None
        size = headers.get("content-length", ["0"])[0]
        if not size.isdecimal() or len(size) > 20 or int(size) > self.bounds.body:
            raise _too_large(self.bounds)
        return token

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
        name: the id of the request.
        bodiless: whether the response has a head only.
    """

    def __init__(self, send: Send, name: str, *, bodiless: bool = False) -> None:
        self._send, self.name, self.bodiless, self.status = send, name, bodiless, 0

    async def send(self, message: Message) -> None:
        """Send a message of the response.

        Args:
            message: the ASGI message; to the start of a response, the security headers are added.
        """
        if message["type"] == "http.response.start":
            self.status = message["status"]
            known = {name.lower() for name, _ in message.get("headers", ())}
            ours = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
            ours.append((ID_HEADER, self.name.encode()))
            message = {**message, "headers": [*message.get("headers", ()), *ours]}
        elif self.bodiless:
            message = {**message, "body": b""}
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
        await self.send({"type": "http.response.body", "body": body})


def name_client(scope: Scope, token: int | None) -> str:
    """Return the name of a client: that of its token, or its address; a network of IPv6 (/64) is one client.

    Args:
        scope: the ASGI scope with the address.
        token: the number of the token, if clients have different ones; None if not.
    """
    if token is not None:
        return f"token {token + 1}"
    address = (scope.get("client") or ("unknown",))[0]
    try:
        found = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return str(address)
    return str(ipaddress.ip_network((found, 64), strict=False)) if found.version == 6 else str(found)


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
