"""Turns that waited for a store: what of them is still to be written where others wrote to the session meanwhile."""

from __future__ import annotations

import logging
import secrets
from dataclasses import replace

from brim.stores.log_records import continued
from brim.stores.protocol import Store, Turn

log = logging.getLogger(__name__)
# Attempts to write behind what others write to the same session at the same time.
TRIES = 5


def joined(before: Turn, turn: Turn) -> Turn:
    """Two turns of a session that wait one after the other, as one; the second may say the log once more from before.

    Example: joined(Turn("a", [b"mx"], expected=4), Turn("a", [b"my"], expected=5)).records -> (b"mx", b"my")
    """
    start, kept = before.expected, before.records
    if start is not None and turn.expected is not None:
        kept = kept[: max(0, turn.expected - start)]
        start = min(start, turn.expected)
    return replace(
        turn,
        records=(*kept, *turn.records),
        blobs=tuple(dict.fromkeys([*before.blobs, *turn.blobs])),
        prefixes=(*before.prefixes, *turn.prefixes),
        state=before.state if turn.state is None else turn.state,
        shown=before.shown if turn.shown is None else turn.shown,
        meta=before.meta if turn.meta is None else turn.meta,
        expected=start,
        epoch=before.epoch,
    )


def write_late(store: Store, turn: Turn, *, read: bool) -> None:
    """Write a turn that had to wait, so that nothing of it is lost and nothing is there twice.

    Where others went on with its session meanwhile, only what they did not write is added. Where they said something
    else, both go on: the turn becomes a session beside theirs. One that could not be `read` when the turn was made may
    hold another conversation: then the turn goes to its end.
    """
    late = replace(turn, epoch=None)
    if store.commit(late) is not None or turn.expected is None:
        return
    for _ in range(TRIES):
        stored = list(store.records(turn.session))
        ours = [*stored[: turn.expected], *turn.records]
        common, rest = continued(stored, ours, (turn.meta or {}).get("api"))
        if rest == []:
            if turn.blobs:
                store.commit(Turn(turn.session, blobs=turn.blobs))
            return
        if rest is None:
            if read or common:
                break
            rest = list(turn.records)
        if store.commit(replace(late, records=rest, expected=len(stored))) is not None:
            return
    name = f"{turn.session}-{secrets.token_hex(4)}"
    log.warning("session %s was gone on with elsewhere: a turn that waited is kept as session %s", turn.session, name)
    store.fork_session(turn.session, name, turn.expected)
    store.commit(replace(late, session=name, expected=None))
