"""Loads compactors, and tokenizers of recently used or configured models, in a thread at the start.

This way the first request doesn't wait for them, and neither do others: compactors take 0.3 seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from brim import content
from brim.errors import MissingExtra
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.server.options import Options

# Families to preload: each takes 20 to 50 MB, and others load quickly on demand.
MOST_FAMILIES = 2
# Usage records to examine, newest first.
LOOKED_AT = 200


class Warming:
    """Loads in the background, once."""

    def __init__(self, fitter: Fitter, options: Options) -> None:
        self._fitter = fitter
        self._options = options
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(asyncio.to_thread(self._load))

    def _load(self) -> None:
        for family in self.families():
            self._fitter.load(family)
        for kind in content.KINDS:
            with contextlib.suppress(MissingExtra):  # that kind of content is then treated as plain text
                content.module_of(kind)

    def families(self) -> list[str]:
        """The likely families, most likely first."""
        found: dict[str, None] = {}
        for upstream, name in dict.fromkeys(self._names()):
            model = self._fitter.models.find(name, upstream)
            if model is not None and model.family != "estimate":
                found[model.family] = None
            if len(found) == MOST_FAMILIES:
                break
        return list(found)

    def _names(self) -> Iterator[tuple[str, str]]:
        """Upstreams and models: first those used last, then those in the settings (patterns name none)."""
        yield from ((used.provider, used.model) for used in self._fitter.store.usage(limit=LOOKED_AT))
        yield from (("", name) for name in self._options.settings.models)
        for target in self._options.targets:
            yield from ((target.name, name) for name in target.models if not set("*?[") & set(name))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
