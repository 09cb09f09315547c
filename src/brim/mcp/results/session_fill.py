"""Tracks how full a session is, and derives how much a result may take."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field

from brim.mcp.options import LEVELS, Level, WrapperOptions
from brim.mcp.results.changed import PreviousResults

_SESSIONS_KEPT = 256


@dataclass(slots=True)
class FillSession:
    """What was sent in one session. Without a name it doesn't fill, because nothing ties its calls together."""

    options: WrapperOptions
    fills: bool = True
    calls: int = 0
    tokens: int = 0
    saved: int = 0
    hinted_at: int = -1_000_000
    previous: PreviousResults = field(default_factory=PreviousResults)

    @property
    def fill(self) -> float:
        if not self.fills:
            return 0.0
        before = max(self.calls - 1, 0)  # the current call doesn't count against itself
        return max(self.tokens / self.options.session_tokens, before / self.options.session_calls)

    @property
    def level(self) -> Level:
        """full → standard → compact → minimal, as the session fills."""
        if self.options.level != "auto":
            return self.options.level
        fill = self.fill
        return LEVELS[sum(fill >= rise for rise in self.options.rises)]

    @property
    def spent(self) -> bool:
        """Whether the limit on calls is reached."""
        return 0 < self.options.max_calls <= self.calls

    def count(self, tokens: int, saved: int = 0) -> None:
        self.tokens += tokens
        self.saved += saved

    def hints_due(self) -> bool:
        """Whether a server's own hints are due: at the first call, and periodically after that."""
        return (self.calls - 1) % max(1, self.options.hint_every) == 0

    def hint(self, level: Level, recall: bool) -> str:
        """A line for the model, at most every `hint_every` calls and only while results are being cut."""
        if self.options.level != "auto" or level in ("full", "standard"):
            return ""
        if self.calls - self.hinted_at < self.options.hint_every:
            return ""
        self.hinted_at = self.calls
        way = "; brim_recall gives any of them in full" if recall else ""
        return f"[brim: this session is {min(self.fill, 9.99):.0%} full, results are {level} from here{way}]"


class FillSessions:
    """The sessions of a connection.

    The handshake versions have one, the connection itself. The stateless ones have those that the client
    names in `_meta`; a request that names none belongs to no session, since there a connection may carry
    unrelated conversations. Its calls count for the cap all the same: that is set for the wrapper.
    """

    def __init__(self, options: WrapperOptions) -> None:
        self._options = options
        self._connection = FillSession(options)
        self._loose = FillSession(options, fills=False)
        self._named: OrderedDict[str, FillSession] = OrderedDict()

    def of(self, name: str, *, modern: bool) -> FillSession:
        if not name:
            return self._loose if modern else self._connection
        session = self._named.get(name)
        if session is None:
            session = self._named[name] = FillSession(self._options)
            if len(self._named) > _SESSIONS_KEPT:
                self._named.popitem(last=False)
        self._named.move_to_end(name)
        return session
