"""What upstreams reported about sizes, per upstream and tenant: usage, and the windows they stated.

Both are outside input. What one upstream says, or a client makes it say in an error message, is never used for
another.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

from brim.sessions.tenancy import scoped
from brim.sized_lru import SizedLru
from brim.tokens.actuals import Actuals, ActualsStore
from brim.tokens.plausible import frames

# Pairs of upstream and tenant to hold in memory; the store has the rest.
SCOPES: Final = 1_000
# Models whose windows are remembered.
MOST: Final = 5_000
# The smallest context that servers are started with (llama.cpp's old default).
LEAST_WINDOW: Final = 512
# A server may restart with more context, so a stated window expires after an hour.
WINDOW_SECONDS: Final = 3_600.0


class Learned:
    """The learned numbers of every upstream and tenant."""

    def __init__(self, store: ActualsStore) -> None:
        self._store = store
        self._scopes: SizedLru[str, Actuals] = SizedLru(SCOPES)
        self._windows: SizedLru[tuple[str, str], tuple[int, float]] = SizedLru(MOST)
        self._accepted: SizedLru[tuple[str, str], int] = SizedLru(MOST)

    def of(self, upstream: str, tenant: str) -> Actuals:
        """The numbers of one upstream for one tenant; always the same object while in use."""
        scope = scoped(tenant, upstream)
        return self._scopes.get(scope) or self._scopes.put(scope, Actuals(self._store, scope))

    def window(self, upstream: str, tenant: str, model: str) -> int | None:
        """The window that an upstream stated for a model within the last hour."""
        found = self._windows.get((scoped(tenant, upstream), model))
        return found[0] if found is not None and monotonic() - found[1] < WINDOW_SECONDS else None

    def state_window(self, upstream: str, tenant: str, model: str, window: int) -> None:
        self._windows.put((scoped(tenant, upstream), model), (window, monotonic()))

    def accept(self, actuals: Actuals, model: str, tokens: int) -> None:
        """Note that an upstream accepted a prompt of this size."""
        key = actuals.scope, model
        if tokens > (self._accepted.get(key) or 0):
            self._accepted.put(key, tokens)

    def can_be(self, actuals: Actuals, model: str, window: int, size: int, messages: int, output: int) -> bool:
        """Whether the window that an upstream stated when refusing a prompt of `size` bytes is possible.

        The prompt plus the answer must be able to exceed it, and no longer prompt may have been accepted.
        """
        if window < LEAST_WINDOW or window < (self._accepted.get((actuals.scope, model)) or 0):
            return False
        return window < size + frames(messages) + output

    def forget(self, family: str) -> None:
        """Forget all reports about a vocabulary, from any upstream to any tenant, and all windows."""
        Actuals(self._store).forget(family)
        self._scopes = SizedLru(SCOPES)
        self._windows = SizedLru(MOST)
        self._accepted = SizedLru(MOST)
