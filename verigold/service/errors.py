"""The one form of every refusal: `{"error": {"code", "message", "row"}}`."""

from __future__ import annotations

from typing import Any


class Refusal(Exception):  # noqa: N818 - an answer to the client, not a mistake of ours
    """A request that is not served.

    row: place of the row at fault.  retry_s: when to come again.  close: the connection ends with the answer, for the
    body was not read to its end.
    """

    def __init__(
        self,
        status: int,
        code: str,
        message: str,
        *,
        row: int | None = None,
        retry_s: int | None = None,
        close: bool = False,
    ) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.row = row
        self.retry_s = retry_s
        self.close = close

    def to_json(self) -> dict[str, Any]:
        return {"error": {"code": self.code, "message": self.message, "row": self.row}}

    def headers(self) -> dict[str, str]:
        found = {} if self.retry_s is None else {"Retry-After": str(self.retry_s)}
        return found | ({"Connection": "close"} if self.close else {})


def full(message: str, *, status: int = 503) -> Refusal:
    return Refusal(status, "queue-full", message, retry_s=1)


def stopping() -> Refusal:
    return Refusal(503, "stopping", "the service is stopping", retry_s=5)
