"""The client's side of an exchange: the answer, and Brim's own headers."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from brim.gateway.observe.turns import GatewayTurn
from brim.gateway.proxy.headers import Pairs

JSON = (b"content-type", b"application/json")
_ABOUT = (b"x-brim-count", b"about")
_LINES = (
    b"x-brim-tokens-before: %d\r\nx-brim-tokens-after: %d\r\nx-brim-archived: %d\r\n"
    b"x-brim-session: %b\r\nx-brim-ms: %.2f\r\n"
)
_ABOUT_LINE = b"x-brim-count: about\r\n"


class ClientSide:
    """Writes an answer to a client over ASGI."""

    def __init__(self, send: Callable[[Any], Awaitable[None]]) -> None:
        self.send = send
        self.started = False
        self.turn: GatewayTurn | None = None

    def brim_headers(self) -> Pairs:
        """The headers that tell the client what Brim did."""
        turn = self.turn
        if turn is None:
            return []
        found = [
            (b"x-brim-tokens-before", b"%d" % turn.before),
            (b"x-brim-tokens-after", b"%d" % turn.after),
            (b"x-brim-archived", b"%d" % turn.archived),
            (b"x-brim-session", turn.session.encode("latin-1", "replace")),
            (b"x-brim-ms", b"%.2f" % turn.added_ms),
        ]
        if turn.about:
            found.append(_ABOUT)
        if turn.note:
            found.append(
                (b"x-brim-note", turn.note.encode("ascii", "replace").replace(b"\n", b" ").replace(b"\r", b" "))
            )
        return found

    def brim_lines(self) -> bytes | None:
        """The same as raw bytes, for a server that accepts those; None if that isn't straightforward."""
        turn = self.turn
        if turn is None or turn.note or not turn.session.isprintable():
            return None
        session = turn.session.encode("latin-1", "replace")
        lines = _LINES % (turn.before, turn.after, turn.archived, session, turn.added_ms)
        return lines + _ABOUT_LINE if turn.about else lines

    def note_status(self, status: int) -> None:
        if self.turn is not None:
            self.turn.status = status

    async def pass_on(self, piece: bytes) -> None:
        """Send a piece of the answer to the client."""
        if piece:
            await self.send({"type": "http.response.body", "body": piece, "more_body": True})

    async def end(self) -> None:
        await self.send({"type": "http.response.body", "body": b"", "more_body": False})

    async def start(self, status: int, headers: Pairs) -> None:
        self.started = True
        await self.send({"type": "http.response.start", "status": status, "headers": headers})

    async def respond(self, status: int, headers: Pairs, body: bytes) -> None:
        """Answer with a whole body."""
        lengthless = [pair for pair in headers if pair[0] != b"content-length"]
        await self.start(status, [*lengthless, (b"content-length", b"%d" % len(body))])
        await self.send({"type": "http.response.body", "body": body, "more_body": False})
