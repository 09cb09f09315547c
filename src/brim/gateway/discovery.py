"""Models from upstreams: asked for now and then, learnt from what passes, remembered for the next start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable
from typing import Final

import msgspec

from brim.catalog import Catalog, discover
from brim.errors import BadInput
from brim.gateway.client import Client
from brim.gateway.faults import UpstreamFault
from brim.gateway.headers import Pairs, forwarded
from brim.gateway.logs import tell
from brim.gateway.upstreams import Target

REFRESH_SECONDS: Final = 900.0
LARGEST: Final = 16 << 20
Keep = Callable[[str, bytes], None]


class Discovery:
    """Asks upstreams for their models. What is known without an answer is the copy of the last one."""

    def __init__(self, client: Client, targets: Iterable[Target], catalog: Catalog, keep: Keep) -> None:
        self.client = client
        self.targets = tuple(targets)
        self.learnt: dict[str, list[str]] = {}
        self._catalog = catalog
        self._keep = keep
        self._asking: dict[str, asyncio.Task[None]] = {}
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop_task = asyncio.get_running_loop().create_task(self._refresh())

    async def close(self) -> None:
        tasks = [task for task in (self._loop_task, *self._asking.values()) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def remember(self, target: Target, body: bytes | None) -> None:
        """Take the copy of an earlier answer."""
        if body:
            self.learn(target, body, keep=False)

    def learn(self, target: Target, body: bytes, keep: bool = True) -> int:
        """Learn from a `/models` answer; how many models state their limits in it."""
        try:
            listed = msgspec.json.decode(body)
            found = self._catalog.learn(discover(listed, provider=target.name, api=_api(target)))
        except (msgspec.DecodeError, UnicodeDecodeError, BadInput):
            return 0
        if found:
            self.learnt[target.name] = [model.name for model in found]
            if keep:
                self._keep(key_of(target), body)
        return len(found)

    def wanted(self, upstream: str, headers: Iterable[tuple[bytes, bytes]]) -> None:
        """A request named a model that nothing is known of: ask, with the client's own key, for the next time."""
        target = next((one for one in self.targets if one.name == upstream), None)
        if target is None or upstream in self._asking:
            return
        api = _api(target)
        asked = [
            pair
            for pair in forwarded(headers, target, api, fitted=True)
            if pair[0] not in (b"content-type", b"content-encoding")
        ]
        self._asking[upstream] = asyncio.get_running_loop().create_task(self._ask(target, asked))

    async def _refresh(self) -> None:
        while True:
            for target in self.targets:
                if target.key is not None or target.base_url.startswith("http://"):
                    await self._ask(target, target.key_headers(_api(target)))
            await asyncio.sleep(REFRESH_SECONDS)
            self._asking.clear()

    async def _ask(self, target: Target, headers: Pairs) -> None:
        if _api(target) == "anthropic" and all(name != b"anthropic-version" for name, _ in headers):
            headers = [*headers, (b"anthropic-version", b"2023-06-01")]
        path = "/v1beta/models" if _api(target) == "gemini" else "/v1/models"
        try:
            async with await self.client.send("GET", target.address(path, ""), headers, None) as answer:
                if answer.status == 200:
                    count = self.learn(target, await answer.read(LARGEST))
                    tell("models", upstream=target.name, found=count)
        except UpstreamFault as fault:
            tell("models", logging.DEBUG, upstream=target.name, fault=fault.message)


def _api(target: Target) -> str:
    return next(name for name in ("openai_chat", "anthropic", "gemini") if name in target.apis)


def key_of(target: Target) -> str:
    """Where the copy of a target's models is kept."""
    return f"models.{target.name}"
