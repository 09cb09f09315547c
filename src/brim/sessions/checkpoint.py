"""The state of a session before a turn, so that a turn that fails halfway leaves no trace."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

from brim.sessions.attached import Attached
from brim.sessions.view import View

if TYPE_CHECKING:
    from brim.sessions.held import Held

# Attributes that a turn replaces but never modifies in place.
_VALUES = "_context _carried _pins _asked_at _before _sent _last _end _begun _tight _head compactions".split()


class Checkpoint:
    """A session's log, view and pending writes; `restore` brings them back."""

    def __init__(self, session: Held) -> None:
        self._values: dict[str, Any] = {name: getattr(session, name) for name in _VALUES}
        self._log = list(session.log)
        self._view = View(list(session.view.entries), session.view.settled, session.view.tokens)
        self._attached = list(session._attached)
        self._writer = session._writer.copy()
        self._summary = session.running_summary.text, session.running_summary.upto

    def restore(self, session: Held) -> None:
        """Restore the session. What it derives from its log is recomputed when needed."""
        for name, value in self._values.items():
            setattr(session, name, copy.copy(value) if isinstance(value, list) else value)
        session.log[:] = self._log
        session.view = View(list(self._view.entries), self._view.settled, self._view.tokens)
        session._attached = Attached(self._attached)
        failed, session._writer = session._writer, self._writer.copy()
        if failed.records != self._writer.records:  # the turn was written before it failed, so continue after it
            session._writer.again(self._log, self._attached, [], None)
            session._writer.records, session._writer.epoch = failed.records, failed.epoch
            session._writer.holds = failed.holds
        session.running_summary.restore(*self._summary)
        session._derive()
