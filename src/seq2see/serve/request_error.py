"""The error of a request: a sentence and an HTTP status."""

from collections.abc import Mapping

from seq2see.core.errors import Seq2SeeError


class RequestError(Seq2SeeError):
    """A request that is answered with an error: a sentence and an HTTP status.

    Args:
        message: the sentence.
        status: the HTTP status. With 422 the request is not as the OpenAPI document says; with 409 it is, but it
            contradicts itself, or the run cannot do it.
        headers: further headers of the response, such as Retry-After.
    """

    def __init__(self, message: str, *, status: int = 422, headers: Mapping[str, str] | None = None) -> None:
        super().__init__(message)
        self.status, self.headers = status, dict(headers or {})
