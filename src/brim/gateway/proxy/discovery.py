"""Models of upstreams: requested periodically, learned from passing answers, remembered for the next start."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any, Final

import msgspec

from brim.apis.asking import ASKING
from brim.errors import BadInput, UnknownModel
from brim.gateway.observe.logs import tell
from brim.gateway.proxy.client import Client
from brim.gateway.proxy.faults import UpstreamFault
from brim.gateway.proxy.headers import Pairs, forwarded
from brim.gateway.proxy.upstreams import Target
from brim.gateway.proxy.vocabulary_probe import family_at
from brim.models import Catalog, Model, discover
from brim.models.families import FAMILIES, Family

REFRESH_SECONDS: Final = 900.0
# A server that isn't up yet is asked again after this long, doubling each time.
RETRY_SECONDS: Final = 5.0
# Models per upstream to probe if their vocabulary is unknown.
MOST_PROBED: Final = 20
# The key under which the saved list keeps what probing found out about a model.
_FOUND: Final = "brim_family"
LARGEST: Final = 16 << 20
Keep = Callable[[str, bytes], None]


class Discovery:
    """Asks upstreams for their models. Until one answers, its last saved answer is used."""

    def __init__(self, client: Client, targets: Iterable[Target], catalog: Catalog, keep: Keep) -> None:
        self.client = client
        self.targets = tuple(targets)
        self.learnt: dict[str, list[str]] = {}
        self._stated: dict[str, list[Model]] = {}
        self._families: dict[str, dict[str, Family]] = {}
        self._catalog = catalog
        self._keep = keep
        self._asking: dict[str, asyncio.Task[bool]] = {}
        self._loop_task: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._loop_task = asyncio.get_running_loop().create_task(self._refresh())

    async def close(self) -> None:
        tasks: list[asyncio.Task[Any]] = [*self._asking.values(), *([self._loop_task] if self._loop_task else [])]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def remember(self, target: Target, body: bytes | None) -> None:
        """Load the saved answer."""
        if body:
            self.learn(target, body, keep=False)

    def go_on_from(self, before: Discovery) -> None:
        """Take over what was learned from upstreams that still exist at the same address."""
        places = {(target.name, target.base_url) for target in before.targets}
        for target in self.targets:
            if (target.name, target.base_url) not in places:
                continue
            if stated := before._stated.get(target.name):
                self._take(target, stated)
            for name, family in before._families.get(target.name, {}).items():
                self._identified(target, name, family)

    def _take(self, target: Target, stated: list[Model]) -> list[Model]:
        """Add the models whose limits an upstream states, except those that the settings define."""
        found = self._catalog.learn(stated)
        if found:
            self.learnt[target.name] = [model.name for model in found]
            self._stated[target.name] = stated
        return found

    def learn(self, target: Target, body: bytes, keep: bool = True) -> int:
        """Learn from a `/models` answer; returns how many models state their limits."""
        try:
            listed = msgspec.json.decode(body)
            found = self._take(target, discover(listed, provider=target.name, api=_api(target)))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError, BadInput):
            return 0
        for entry in _entries(listed):
            if entry.get(_FOUND) in FAMILIES:
                self._identified(target, entry["id"], entry[_FOUND])
        if found and keep:
            self._keep(key_of(target), body)
        return len(found)

    def _identified(self, target: Target, name: str, family: Family) -> None:
        """Apply what probing found out about a model's unknown vocabulary."""
        self._families.setdefault(target.name, {})[name] = family
        if self._family(target, name) == "estimate":
            self._catalog.add(replace(self._catalog.find(f"{target.name}/{name}"), family=family))

    def _family(self, target: Target, name: str) -> str:
        try:
            return self._catalog.find(f"{target.name}/{name}").family
        except UnknownModel:
            return ""

    def wanted(self, upstream: str, headers: Iterable[tuple[bytes, bytes]], token: bytes | None = None) -> None:
        """A request named an unknown model: ask about it with the client's own key, for the next request."""
        target = next((one for one in self.targets if one.name == upstream), None)
        if target is None or upstream in self._asking:
            return
        api = _api(target)
        asked = [
            pair
            for pair in forwarded(headers, target, api, fitted=True, token=token)
            if pair[0] not in (b"content-type", b"content-encoding")
        ]
        self._asking[upstream] = asyncio.get_running_loop().create_task(self._ask(target, asked))

    async def _refresh(self) -> None:
        pause = RETRY_SECONDS
        while True:
            asked = [one for one in self.targets if one.key is not None or one.base_url.startswith("http://")]
            answers = [await self._ask(target, target.key_headers(_api(target))) for target in asked]
            pause = REFRESH_SECONDS if all(answers) else min(2 * pause, REFRESH_SECONDS)
            await asyncio.sleep(pause)
            self._asking.clear()

    async def _ask(self, target: Target, headers: Pairs) -> bool:
        """Ask an upstream for its models; returns whether it answered."""
        asking, there = ASKING[_api(target)], {name for name, _ in headers}
        own = [(name.encode(), value.encode()) for name, value in asking.headers()]
        headers = [*headers, *(pair for pair in own if pair[0] not in there)]
        try:
            async with await self.client.send(
                "GET", target.address(asking.models, "", _api(target)), headers, None
            ) as answer:
                if answer.status != 200:
                    return answer.status < 500  # a server that is starting answers 503
                body = await answer.read(LARGEST)
        except UpstreamFault as fault:
            tell("models", logging.DEBUG, upstream=target.name, fault=fault.message)
            return False
        tell("models", upstream=target.name, found=self.learn(target, body))
        if not target.well_known:
            await self._probe(target, headers, body)
        return True

    async def _probe(self, target: Target, headers: Pairs, body: bytes) -> None:
        """Probe for unknown vocabularies, and save the results with the list."""
        try:
            listed = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        unknown = [entry for entry in _entries(listed) if self._family(target, entry["id"]) == "estimate"]
        told: dict[str, str] = {}
        for entry in unknown[:MOST_PROBED]:
            family = await family_at(self.client, target, headers, entry["id"])
            if family is None and not told:
                return  # it doesn't count on request, or not in a known way
            if family is not None:
                self._identified(target, entry["id"], family)
                entry[_FOUND] = told[entry["id"]] = family
        if told:
            tell("tokenizers", upstream=target.name, found=told)
            self._keep(key_of(target), msgspec.json.encode(listed))


def _entries(listed: Any) -> Iterator[dict[str, Any]]:
    """The named models of a list."""
    found = listed.get("data") if isinstance(listed, Mapping) else listed
    return (entry for entry in found or () if isinstance(entry, dict) and isinstance(entry.get("id"), str))


def _api(target: Target) -> str:
    return target.own_api


def key_of(target: Target) -> str:
    """The store key of a target's saved models."""
    return f"models.{target.name}"
