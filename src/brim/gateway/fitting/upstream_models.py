"""The model behind a name at an upstream: its limits by the catalog, by what the upstream stated, or by the request."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from brim.conversation import Conversation
from brim.errors import UnknownModel
from brim.gateway.fitting.learned import Learned
from brim.models import Catalog, Model
from brim.models.families import family_of

# Windows that requests stated, and models with the window that an upstream gives them, that are remembered.
MOST_STATED: Final = 5_000
MOST_NARROWED: Final = 500


class UpstreamModels:
    """Finds models. The same name at the same upstream gives the same object, because counters are cached by it."""

    def __init__(self, catalog: Catalog, learned: Learned) -> None:
        self.catalog = catalog
        self._learned = learned
        self._stated: dict[tuple[str, int], Model] = {}
        self._narrow: dict[tuple[int, int], tuple[Model, Model]] = {}

    def find(self, name: str, upstream: str, tenant: str = "") -> Model | None:
        """The model with the limits that this upstream gives it; None if nothing is known of it."""
        window = self.window(name, upstream, tenant)
        try:
            model = self.catalog.find(f"{upstream}/{name}")
        except UnknownModel:
            return None if window is None else self.catalog.override(name, {"window": window})
        return self.narrowed(model, window)

    def window(self, name: str, upstream: str, tenant: str) -> int | None:
        """The window that the upstream stated for a model."""
        return self._learned.window(upstream, tenant, name)

    def opened(self, conversation: Conversation) -> Model | None:
        """An unknown model, if the request itself states the window to open."""
        name, window = conversation.model, conversation.window
        if not name or window is None:
            return None
        if (name, window) not in self._stated:
            blank = Model(name, "", window, None, family_of(name), None, conversation.api, "request")
            self._stated[name, window] = blank
            if len(self._stated) > MOST_STATED:
                del self._stated[next(iter(self._stated))]
        return self._stated[name, window]

    def narrowed(self, model: Model, window: int | None) -> Model:
        """A model with the window that an upstream stated, where that is the smaller one."""
        if not window or window >= model.window:
            return model
        known = self._narrow.get((id(model), window))
        if known is None or known[0] is not model:
            if len(self._narrow) > MOST_NARROWED:
                self._narrow.clear()
            narrow = replace(model, window=window, max_output=_within(model.max_output, window))
            known = self._narrow[id(model), window] = model, narrow
        return known[1]

    def learn_window(self, name: str, upstream: str, window: int, tenant: str = "") -> None:
        """Keep the window that an upstream stated, if it is smaller than the known one."""
        known = self.find(name, upstream, tenant)
        if known is None or window < known.window:
            self._learned.state_window(upstream, tenant, name, window)


def _within(max_output: int | None, window: int) -> int | None:
    return max_output if max_output is not None and max_output < window else None
