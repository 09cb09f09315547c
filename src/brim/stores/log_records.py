"""The records of a session's log: its messages, what is attached to them, and where it was cut."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field

from brim import apis
from brim.conversation import Message, decode, encode
from brim.errors import BrimError
from brim.planning.attachments import Attachment

MESSAGE, CUT, CONTEXT = b"m", b"c", b"a"


def message_record(raw: bytes) -> bytes:
    return MESSAGE + raw


def cut_record(length: int) -> bytes:
    """The log goes on after so many messages: what followed them was edited away."""
    return CUT + str(length).encode()


def context_record(at: int, piece: Attachment) -> bytes:
    """What was attached to a message."""
    return CONTEXT + encode((at, *rows_of([piece])[0]))


def rows_of(attached: Iterable[Attachment]) -> list[tuple[str, str, str, bool]]:
    return [(piece.text, piece.source, piece.type, piece.recoverable) for piece in attached]


@dataclass(slots=True)
class Log:
    """What the records of a session say: its messages after all cuts, and what was attached to them."""

    messages: list[Message] = field(default_factory=list)
    attached: list[tuple[int, Attachment]] = field(default_factory=list)
    records: int = 0


def read_log(records: Iterable[bytes], read: Callable[[bytes, str], Message], log: Log | None = None) -> Log:
    """What records say, after those that a log was read from already."""
    log = log or Log()
    for record in records:
        log.records += 1
        kind, content = record[:1], record[1:]
        if kind == MESSAGE:
            log.messages.append(read(content, f"record {len(log.messages)}"))
        elif kind == CONTEXT:
            at, *row = decode(content)
            log.attached.append((at, Attachment(*row)))
        elif kind == CUT:
            del log.messages[int(content) :]
            log.attached = [placed for placed in log.attached if placed[0] < int(content)]
    return log


def replayed(records: Iterable[bytes], read: Callable[[bytes, str], Message]) -> list[Message]:
    """The messages that a log holds after all its cuts."""
    return read_log(records, read).messages


def continued(stored: Sequence[bytes], ours: Sequence[bytes], api: object) -> tuple[int, list[bytes] | None]:
    """How many messages two logs of one session begin with alike, and what the first lacks to say all of the second.

    None where they differ. Messages are compared as requests are: their ids and cache breakpoints do not count.

    Example: continued([b"ma"], [b"ma", b"mb"], None) -> (1, [b"mb"])
    """
    theirs, (mine, attached) = _told(stored)[0], _told(ours)
    same = _comparing(api)
    shorter = min(len(theirs), len(mine))
    common = next((n for n in range(shorter) if theirs[n] != mine[n] and same(theirs[n]) != same(mine[n])), shorter)
    if common == len(mine):
        return common, []
    if common < len(theirs):
        return common, None
    return common, [*(record for at, record in attached if at >= common), *mine[common:]]


def _told(records: Iterable[bytes]) -> tuple[list[bytes], list[tuple[int, bytes]]]:
    """The records of the messages that a log holds after all its cuts, and of what is attached to which of them."""
    messages: list[bytes] = []
    attached: list[tuple[int, bytes]] = []
    for record in records:
        if record[:1] == CUT:
            length = int(record[1:])
            del messages[length:]
            attached = [placed for placed in attached if placed[0] < length]
        elif record[:1] == CONTEXT:
            attached.append((decode(record[1:])[0], record))
        else:
            messages.append(record)
    return messages, attached


def _comparing(api: object) -> Callable[[bytes], bytes]:
    """What of a message's record is compared."""
    read = apis.APIS[api].messages.get if isinstance(api, str) and api in apis.APIS else None

    def compared(record: bytes) -> bytes:
        if read is None:
            return record
        try:
            return read(record[1:], "record").digest
        except BrimError:
            return record

    return compared
