"""What upstreams have said of sizes, each for itself and for each tenant: usage, and the windows they stated.

Both are outside input. What one upstream says, or what a client makes it say in an error message, is never used for
another.
"""

from __future__ import annotations

from time import monotonic
from typing import Final

from brim.sessions.tenancy import scoped
from brim.sized_lru import SizedLru
from brim.tokens.actuals import Actuals, ActualsStore
from brim.tokens.plausible import frames

# Upstreams times tenants that are held in memory; the store has the others.
SCOPES: Final = 1_000
# Models of these whose windows are remembered.
MOST: Final = 5_000
# The smallest context that servers are started with (llama.cpp's old default).
LEAST_WINDOW: Final = 512
# A server may be started anew with more context: what it stated is tried again after an hour.
WINDOW_SECONDS: Final = 3_600.0


class Learned:
    """The learnt numbers of every upstream and tenant."""

    def __init__(self, store: ActualsStore) -> None:
        self._store = store
        self._scopes: SizedLru[str, Actuals] = SizedLru(SCOPES)
        self._windows: SizedLru[tuple[str, str], tuple[int, float]] = SizedLru(MOST)
        self._accepted: SizedLru[tuple[str, str], int] = SizedLru(MOST)

    def of(self, upstream: str, tenant: str) -> Actuals:
        """The numbers of one upstream for one tenant: the same object while it is in use."""
        scope = scoped(tenant, upstream)
        return self._scopes.get(scope) or self._scopes.put(scope, Actuals(self._store, scope))

    def window(self, upstream: str, tenant: str, model: str) -> int | None:
        """The window that an upstream stated for a model within the last hour."""
        found = self._windows.get((scoped(tenant, upstream), model))
        return found[0] if found is not None and monotonic() - found[1] < WINDOW_SECONDS else None

    def state_window(self, upstream: str, tenant: str, model: str, window: int) -> None:
        self._windows.put((scoped(tenant, upstream), model), (window, monotonic()))

    def accept(self, actuals: Actuals, model: str, tokens: int) -> None:
        """Note that an upstream has answered a prompt of so many tokens."""
        key = actuals.scope, model
        if tokens > (self._accepted.get(key) or 0):
            self._accepted.put(key, tokens)

    def can_be(self, actuals: Actuals, model: str, window: int, size: int, messages: int, output: int) -> bool:
        """Whether a window that an upstream stated when it refused a prompt of `size` bytes can be its window.

        The prompt must be able to pass it together with the answer that it asked for, and no longer one was accepted.
        """
        if window < LEAST_WINDOW or window < (self._accepted.get((actuals.scope, model)) or 0):
            return False
        return window < size + frames(messages) + output

    def forget(self, family: str) -> None:
        """Forget what was reported of a vocabulary, by any upstream to any tenant, and all windows."""
        Actuals(self._store).forget(family)
        self._scopes = SizedLru(SCOPES)
        self._windows = SizedLru(MOST)
        self._accepted = SizedLru(MOST)
