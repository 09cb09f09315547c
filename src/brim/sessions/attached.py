"""Context that was attached to messages of a log, kept beside them."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable

from brim import apis
from brim.conversation import Message
from brim.planning.attachments import Attachment
from brim.sessions.auto_recall import Recollection

Placed = tuple[int, Attachment]


class Attached:
    """The pieces of context of a conversation, each with the number of its message.

    Example: attached.add(0, [Attachment("The shop closes at 18:00.", "hours.md")]); attached.text(0) -> "<context …"
    """

    def __init__(self, pieces: Iterable[Placed] = ()) -> None:
        self.pieces = list(pieces)
        self._shown: list[Message] = []  # for searching
        self._recollection = Recollection(self._shown)

    def add(self, at: int, pieces: Iterable[Attachment]) -> None:
        self.pieces += [(at, piece) for piece in pieces]

    def at(self, number: int) -> list[Attachment]:
        """The context attached to a message of the log."""
        first = bisect_left(self.pieces, number, key=_place)
        return [piece for _, piece in self.pieces[first : bisect_left(self.pieces, number + 1, key=_place)]]

    def text(self, number: int) -> str:
        """The context attached to a message as one text; empty if there is none."""
        return "\n\n".join(piece.block() for piece in self.at(number))

    def before(self, number: int) -> list[Placed]:
        return self.pieces[: bisect_left(self.pieces, number, key=_place)]

    def cut(self, length: int) -> list[Attachment]:
        """The log was cut: forget the context of removed messages, and return that of the first of them.

        That message is usually rephrased and sent again, and its context is still needed.
        """
        found = self.at(length)
        self.pieces = self.before(length)
        return found

    def search(self, query: str, most: int) -> list[tuple[int, str]]:
        """The pieces that match a query, best first, with the numbers of their messages."""
        if not self.pieces:
            return []
        texts = [f"{piece.source}\n{piece.text}" for _, piece in self.pieces]
        if [message.text for message in self._shown] != texts:
            self._shown[:] = [apis.text_message("openai_chat", "user", text) for text in texts]
            self._recollection.rest()
        return [(self.pieces[n][0], self.pieces[n][1].text) for n in self._recollection.search(query, most)]


def _place(piece: Placed) -> int:
    return piece[0]
