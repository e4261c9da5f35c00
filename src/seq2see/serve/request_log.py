"""The log of the server: the id of the request in each record, as text or as one JSON object a line."""

import json
import logging
import re
import sys
import time
import uuid
from collections.abc import Iterable, Mapping
from contextvars import ContextVar
from typing import Any, Literal

LogFormat = Literal["text", "json"]

ID_HEADER = b"x-request-id"
REQUEST_ID: ContextVar[str] = ContextVar("REQUEST_ID", default="")
KNOWN_ID = re.compile(rb"[A-Za-z0-9._:/+=@-]{1,128}")  # what a log and a header may hold safely

log = logging.getLogger("seq2see.serve.requests")


class JsonFormatter(logging.Formatter):
    """Writes a record as one line of JSON: time, level, message, request_id, and what the record adds."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line.

        Args:
            record: the record.
        """
        moment = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created))
        line: dict[str, object] = {
            "time": f"{moment}.{int(record.msecs):03d}Z",
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": REQUEST_ID.get() or None,
            **getattr(record, "facts", {}),
        }
        if record.exc_info:
            line["traceback"] = self.formatException(record.exc_info)
        return json.dumps(line)  # in ASCII: paths may hold what controls a terminal


class TextFormatter(logging.Formatter):
    """Writes a record as text, with the id of the request if there is one."""

    def format(self, record: logging.LogRecord) -> str:
        """Return the line.

        Args:
            record: the record.
        """
        name = REQUEST_ID.get()
        return super().format(record) + (f" (request {name})" if name and not record.exc_info else "")


def configure_log(form: LogFormat) -> None:
    """Send the log to standard error: warnings and errors, and with `json` each request, too.

    Args:
        form: the form of a record.
    """
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(JsonFormatter() if form == "json" else TextFormatter("%(levelname)s: %(message)s"))
    for name in ("seq2see.serve", "uvicorn"):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
    log.setLevel(logging.INFO if form == "json" else logging.WARNING)


def choose_id(headers: Iterable[tuple[bytes, bytes]]) -> str:
    """Return the id of a request: the one that its client or a proxy has given it, or a new one.

    Args:
        headers: the headers of the request, with names in lower case.
    """
    given = next((value for name, value in headers if name == ID_HEADER), b"")
    return given.decode() if KNOWN_ID.fullmatch(given) else uuid.uuid4().hex


def log_request(scope: Mapping[str, Any], status: int, seconds: float) -> None:
    """Log a request and its response.

    Args:
        scope: the ASGI scope of the request.
        status: the HTTP status of the response; 0 if there was none.
        seconds: how long it took.
    """
    facts = {
        "method": scope["method"],
        "path": scope["path"],
        "status": status,
        "seconds": round(seconds, 4),
        "client": (scope.get("client") or (None,))[0],
    }
    log.info("%s %s %d", scope["method"], scope["path"], status, extra={"facts": facts})
