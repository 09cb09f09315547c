"""What is loaded at the start, in a thread: compactors, and tokenizers of the models that were used last or are named.

The first request of a process then does not wait for its own, nor do others beside it: compactors take 0.3 seconds.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Iterator

from brim import content
from brim.errors import MissingExtra
from brim.gateway.fitting.fitter import Fitter
from brim.gateway.server.options import Options

# So many families: each takes 20 to 50 MB, and loads in a moment when it is asked for.
MOST_FAMILIES = 2
# Usage records that are looked at, the newest first.
LOOKED_AT = 200


class Warming:
    """Loads beside everything else, once."""

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
            with contextlib.suppress(MissingExtra):  # content of that kind is then plain text
                content.module_of(kind)

    def families(self) -> list[str]:
        """The likely families, the likeliest first."""
        found: dict[str, None] = {}
        for upstream, name in dict.fromkeys(self._names()):
            model = self._fitter.models.find(name, upstream)
            if model is not None and model.family != "estimate":
                found[model.family] = None
            if len(found) == MOST_FAMILIES:
                break
        return list(found)

    def _names(self) -> Iterator[tuple[str, str]]:
        """Upstreams and models: as they were used last, then as the settings name them (patterns name none)."""
        yield from ((used.provider, used.model) for used in self._fitter.store.usage(limit=LOOKED_AT))
        yield from (("", name) for name in self._options.settings.models)
        for target in self._options.targets:
            yield from ((target.name, name) for name in target.models if not set("*?[") & set(name))

    async def close(self) -> None:
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
