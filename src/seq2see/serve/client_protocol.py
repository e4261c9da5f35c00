"""The protocol of one connection: time limits for its client, sentences for what is not HTTP, and a careful end."""

import asyncio
import json
import sys
from collections import Counter
from typing import Any

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

CLIENT_TIMEOUT_SECONDS = 30.0  # for the head of a request to arrive, or for a client to read a part of its response
LINGER_BYTES = 100_000_000  # of the rest of a request that are read and dropped after its response
HEAD_BYTES = 65_536  # of a request, as uvicorn limits it


class LingeringTransport:
    """A transport whose `close` lets a client that still sends read its response first.

    A connection that is closed while data arrives is reset, and the client never reads why it was refused. So the
    response is ended, what still arrives is dropped, within bounds, and the client closes the connection.

    Args:
        transport: the transport of asyncio, which does everything else.
        protocol: the protocol of the connection.
    """

    def __init__(self, transport: asyncio.Transport, protocol: "ClientProtocol") -> None:
        self._transport, self._protocol = transport, protocol
        self.lingering = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)

    def is_closing(self) -> bool:
        """Tell whether nothing more can be sent."""
        return self.lingering or self._transport.is_closing()

    def close(self) -> None:
        """Close the connection once all is sent; if the client still sends, that is dropped until it stops."""
        if self.is_closing():
            return
        if not self._protocol.is_receiving or not self._transport.can_write_eof():  # TLS cannot
            self._transport.close()
            return
        self.lingering = True
        self._transport.write_eof()
        self._transport.resume_reading()
        self._protocol.start_timer()


class ClientProtocol(H11Protocol):
    """The protocol of one connection: it disconnects idle clients, and answers what is not HTTP with a sentence.

    Args:
        *given: what uvicorn gives.
        most: the most connections of one address; None for any number.
        counts: the connections of each address, shared by all protocols of a server.
        **named: what uvicorn gives by name.
    """

    _timer: asyncio.TimerHandle | None = None

    def __init__(self, *given: Any, most: int | None = None, counts: Counter[str] | None = None, **named: Any) -> None:
        super().__init__(*given, **named)
        self.most, self.counts = most, Counter[str]() if counts is None else counts
        self._address = ""
        self._dropped, self._refused = 0, False

    @property
    def is_receiving(self) -> bool:
        """Tell whether the client may still send: its request has not ended, or was refused as a whole."""
        return self._refused or self.conn.their_state is h11.SEND_BODY

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Start the timer for the head of the first request; refuse the connection if its address has too many.

        Args:
            transport: the connection.
        """
        super().connection_made(LingeringTransport(transport, self))  # type: ignore[arg-type]
        self._address = self.client[0] if self.client else ""
        self.counts[self._address] += 1
        self.start_timer()
        if self.most is None or self.counts[self._address] <= self.most:
            return
        if self.counts[self._address] > 2 * self.most:  # those that are told so are open for a while, too
            transport.abort()
        else:
            self.refuse(429, f"a client may have {self.most} connections at the same time; got one more; close some.")

    def connection_lost(self, exc: Exception | None) -> None:
        """Stop the timer.

        Args:
            exc: the error that ended the connection; None if one side closed it.
        """
        self.counts[self._address] -= 1
        if not self.counts[self._address]:
            del self.counts[self._address]
        self._stop_timer()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Read what has arrived; after the end of the response it is dropped.

        Args:
            data: what has arrived.
        """
        if not self.transport.is_closing():
            super().data_received(data)
            return
        self._dropped += len(data)
        if self._dropped > LINGER_BYTES:
            self.transport.abort()

    def handle_events(self) -> None:
        """Read requests, and stop the timer when the head of one is complete."""
        before = self.cycle
        super().handle_events()
        if self.cycle is not before:  # a new request has begun
            self._stop_timer()

    def on_response_complete(self) -> None:
        """Start the timer for the head of the next request."""
        self.start_timer()
        super().on_response_complete()

    def pause_writing(self) -> None:
        """Start the timer, because the client does not read as fast as the response is sent."""
        super().pause_writing()
        self.start_timer()

    def resume_writing(self) -> None:
        """Stop the timer, unless it waits for the next request."""
        super().resume_writing()
        if self.cycle is not None and not self.cycle.response_complete:
            self._stop_timer()

    def shutdown(self) -> None:
        """Close the connection after its response, because the server is about to stop."""
        if not self.transport.is_closing():
            super().shutdown()
        elif not self.transport.get_write_buffer_size():
            self.transport.abort()

    def send_400_response(self, msg: str) -> None:
        """Answer what is not HTTP with one sentence of JSON, and close the connection.

        Args:
            msg: the message of uvicorn, which is not sent.
        """
        error = sys.exc_info()[1]  # uvicorn calls this where it caught what h11 says
        if getattr(error, "error_status_hint", 400) == 431:
            self.refuse(431, f"the head of a request may have {HEAD_BYTES:,} bytes; got more.")
        else:
            reason = f" ({str(error)[:80]})" if isinstance(error, h11.ProtocolError) else ""
            self.refuse(400, f"the request must be HTTP/1.1; got something else{reason}.")

    def refuse(self, status: int, sentence: str) -> None:
        """Answer with an error, unless a response has begun, and close the connection.

        Args:
            status: the HTTP status.
            sentence: the message of the error.
        """
        if self.conn.our_state is not h11.SEND_RESPONSE and self.conn.our_state is not h11.IDLE:
            self.transport.abort()  # no other response can be sent
            return
        body = json.dumps({"error": sentence}).encode()
        headers = {"content-type": "application/json", "content-length": str(len(body)), "connection": "close"}
        events: list[h11.Event] = [
            h11.Response(status_code=status, headers=list(headers.items())),
            h11.Data(data=body),
            h11.EndOfMessage(),
        ]
        for event in events:
            self.transport.write(self.conn.send(event) or b"")
        self._refused = True
        self.transport.close()

    def start_timer(self) -> None:
        """Disconnect the client if it stays idle for the timeout; one that reads, however slowly, stays connected."""
        self._stop_timer()
        unread = self.transport.get_write_buffer_size()
        self._timer = self.loop.call_later(CLIENT_TIMEOUT_SECONDS, self._check_progress, unread)

    def _unsupported_upgrade_warning(self) -> None:
        """Log nothing: a request to speak another protocol is answered in HTTP, as the standard says."""

    def _check_progress(self, unread: int) -> None:
        if self.transport.get_write_buffer_size() < unread:
            self.start_timer()
        else:
            self.transport.abort()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
