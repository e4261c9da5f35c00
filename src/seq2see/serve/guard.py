"""The guard at the door: who may ask, how much may be sent, and one sentence of JSON whatever goes wrong."""

import hmac
import ipaddress
import json
import logging
import time
from collections.abc import Awaitable, Callable, Collection, Mapping, MutableMapping
from typing import Any
from urllib.parse import urlsplit

from seq2see.serve.meter import Meter
from seq2see.serve.schema import Bounds, RefusalError

Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[MutableMapping[str, Any], Receive, Send], Awaitable[None]]

OUR_MISTAKE = "the server made a mistake; its log has more."
HEADERS = {
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "x-frame-options": "DENY",
    "cache-control": "no-store",
    "cross-origin-resource-policy": "same-origin",
}

log = logging.getLogger("seq2see.serve")


class Guard:
    """Stands before an application."""

    def __init__(
        self,
        app: App,
        *,
        bounds: Bounds,
        meter: Meter,
        paths: Collection[str],
        token: str | None = None,
        hosts: Collection[str] = (),
    ) -> None:
        self.app, self.bounds, self.meter, self.paths = app, bounds, meter, paths
        self.token, self.hosts = token, {"localhost", *(host.lower() for host in hosts)}

    async def __call__(self, scope: MutableMapping[str, Any], receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        visit = Visit(send)
        began = time.perf_counter()
        try:
            self.check(scope)
            await self.app(scope, self._count(receive), visit.send)
        except RefusalError as error:
            await visit.refuse(error.status, str(error), error.headers)
        except Exception:
            log.exception("a request failed")
            await visit.refuse(500, OUR_MISTAKE, {})
        finally:
            path = scope["path"] if scope["path"] in self.paths else "other"
            self.meter.requests.add(path=path, status=str(visit.status))
            self.meter.seconds.see(time.perf_counter() - began, path=path)

    def check(self, scope: Mapping[str, Any]) -> None:
        """Refuse a request before anything of it is read."""
        headers = {name.decode("latin-1").lower(): value.decode("latin-1") for name, value in scope["headers"]}
        self._check_host(headers)
        size = headers.get("content-length", "0")
        if not size.isdecimal() or int(size[:20]) > self.bounds.body:
            raise _too_large(self.bounds)
        if self.token is not None and wants_token(scope["path"]):
            given = headers.get("authorization", "").removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode("latin-1"), self.token.encode()):
                raise RefusalError(
                    "this server wants a token: Authorization: Bearer ...",
                    status=401,
                    headers={"WWW-Authenticate": "Bearer"},
                )

    def _check_host(self, headers: Mapping[str, str]) -> None:
        """Names that lead here by somebody else's doing (DNS rebinding), and pages of other sites, are refused."""
        host = headers.get("host", "")
        if not self._is_known(host):
            name = host.rpartition(":")[0] or host
            raise RefusalError(
                f"the host {name[:80]!r} is not served; start with --allow-host to permit it.", status=421
            )
        origin = headers.get("origin")
        if origin is not None and urlsplit(origin).netloc.lower() != host.lower():
            raise RefusalError("pages of other sites may not ask this server.", status=403)

    def _is_known(self, host: str) -> bool:
        """An address cannot be rebound, so that only names have to be known."""
        try:
            name = urlsplit(f"//{host}").hostname or ""
            if name in self.hosts:
                return True
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True

    def _count(self, receive: Receive) -> Receive:
        """The same body, refused as soon as it is too large, whatever its header said."""
        total = 0

        async def counted() -> Message:
            nonlocal total
            message = await receive()
            total += len(message.get("body", b""))
            if total > self.bounds.body:
                raise _too_large(self.bounds)
            return message

        return counted


class Visit:
    """One answer on its way: with our headers, and replaced by a sentence if it has not begun."""

    def __init__(self, send: Send) -> None:
        self._send, self.status = send, 0

    async def send(self, message: Message) -> None:
        """Pass an answer on."""
        if message["type"] == "http.response.start":
            self.status = message["status"]
            known = {name.lower() for name, _ in message.get("headers", ())}
            ours = [(n.encode(), v.encode()) for n, v in HEADERS.items() if n.encode() not in known]
            message = {**message, "headers": [*message.get("headers", ()), *ours]}
        await self._send(message)

    async def refuse(self, status: int, sentence: str, headers: Mapping[str, str]) -> None:
        """Answer with a sentence, if nothing was answered yet."""
        if self.status:
            return
        body = json.dumps({"error": sentence}).encode()
        extra = [(name.lower().encode(), value.encode()) for name, value in headers.items()]
        kind = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
        await self.send({"type": "http.response.start", "status": status, "headers": [*kind, *extra]})
        await self._send({"type": "http.response.body", "body": body})


def wants_token(path: str) -> bool:
    """Whether a path is only for those who have the token, where there is one."""
    return path.startswith("/v1/") or path == "/metrics"


def _too_large(bounds: Bounds) -> RefusalError:
    return RefusalError(
        f"a request may have {bounds.body:,} bytes; this one has more.", status=413, headers={"Connection": "close"}
    )
