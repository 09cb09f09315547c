"""What can go wrong between a client and its provider, each with its HTTP status.

ExchangeFault
├── Refused        the request cannot be taken: too large, malformed, forbidden, no upstream
│   └── Limited    the client has used up a limit
├── UpstreamFault  the provider could not be reached, or stopped in the middle
└── ClientGone     nobody waits for the answer any more
"""

from __future__ import annotations

from brim.errors import BrimError


class ExchangeFault(BrimError):
    """A request that ends without the provider's own answer."""

    def __init__(self, status: int, message: str, code: str = "") -> None:
        self.status = status
        self.message = message
        self.code = code
        super().__init__(message)


class Refused(ExchangeFault):
    """The request is refused. The message says why and what would work; `retry_after` is in seconds."""

    def __init__(self, status: int, message: str, code: str = "", *, retry_after: int = 0) -> None:
        super().__init__(status, message, code)
        self.retry_after = retry_after


class Limited(Refused):
    """The client has used up a limit, such as "60 requests in a minute"; `code` is OpenAI's name for its kind."""

    def __init__(self, limit: str, code: str, retry_after: int) -> None:
        super().__init__(429, f"the limit is {limit}", code, retry_after=retry_after)
        self.limit = limit


class UpstreamFault(ExchangeFault):
    """The provider did not answer, or not completely."""


class ClientGone(BrimError):
    """The client has closed its connection."""
