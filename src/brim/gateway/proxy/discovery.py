"""Models from upstreams: asked for now and then, learnt from what passes, remembered for the next start."""

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
# A server that is not up yet is asked again so soon, then half as often each time.
RETRY_SECONDS: Final = 5.0
# So many models of one upstream are asked about, if their vocabulary is not known.
MOST_PROBED: Final = 20
# Where the copy of a list keeps what was found out about a model.
_FOUND: Final = "brim_family"
LARGEST: Final = 16 << 20
Keep = Callable[[str, bytes], None]


class Discovery:
    """Asks upstreams for their models. What is known without an answer is the copy of the last one."""

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
        """Take the copy of an earlier answer."""
        if body:
            self.learn(target, body, keep=False)

    def go_on_from(self, before: Discovery) -> None:
        """Take all that was learnt from upstreams that are still there, at the same address."""
        places = {(target.name, target.base_url) for target in before.targets}
        for target in self.targets:
            if (target.name, target.base_url) not in places:
                continue
            if stated := before._stated.get(target.name):
                self._take(target, stated)
            for name, family in before._families.get(target.name, {}).items():
                self._identified(target, name, family)

    def _take(self, target: Target, stated: list[Model]) -> list[Model]:
        """Know the models that an upstream states the limits of; those that the settings leave to it."""
        found = self._catalog.learn(stated)
        if found:
            self.learnt[target.name] = [model.name for model in found]
            self._stated[target.name] = stated
        return found

    def learn(self, target: Target, body: bytes, keep: bool = True) -> int:
        """Learn from a `/models` answer; how many models state their limits in it."""
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
        """Take what was found out about the vocabulary of a model, where nothing was known of it."""
        self._families.setdefault(target.name, {})[name] = family
        if self._family(target, name) == "estimate":
            self._catalog.add(replace(self._catalog.find(f"{target.name}/{name}"), family=family))

    def _family(self, target: Target, name: str) -> str:
        try:
            return self._catalog.find(f"{target.name}/{name}").family
        except UnknownModel:
            return ""

    def wanted(self, upstream: str, headers: Iterable[tuple[bytes, bytes]], token: bytes | None = None) -> None:
        """A request named a model that nothing is known of: ask, with the client's own key, for the next time."""
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
        """Ask an upstream for its models; whether it answered."""
        asking, there = ASKING[_api(target)], {name for name, _ in headers}
        own = [(name.encode(), value.encode()) for name, value in asking.headers()]
        headers = [*headers, *(pair for pair in own if pair[0] not in there)]
        try:
            async with await self.client.send(
                "GET", target.address(asking.models, "", _api(target)), headers, None
            ) as answer:
                if answer.status != 200:
                    return answer.status < 500  # one that is starting answers 503
                body = await answer.read(LARGEST)
        except UpstreamFault as fault:
            tell("models", logging.DEBUG, upstream=target.name, fault=fault.message)
            return False
        tell("models", upstream=target.name, found=self.learn(target, body))
        if not target.well_known:
            await self._probe(target, headers, body)
        return True

    async def _probe(self, target: Target, headers: Pairs, body: bytes) -> None:
        """Find out the vocabularies that nothing is known of, and keep them with the list."""
        try:
            listed = msgspec.json.decode(body)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
        unknown = [entry for entry in _entries(listed) if self._family(target, entry["id"]) == "estimate"]
        told: dict[str, str] = {}
        for entry in unknown[:MOST_PROBED]:
            family = await family_at(self.client, target, headers, entry["id"])
            if family is None and not told:
                return  # it does not count on request, or in a way that is not known
            if family is not None:
                self._identified(target, entry["id"], family)
                entry[_FOUND] = told[entry["id"]] = family
        if told:
            tell("tokenizers", upstream=target.name, found=told)
            self._keep(key_of(target), msgspec.json.encode(listed))


def _entries(listed: Any) -> Iterator[dict[str, Any]]:
    """The models of a list that have a name."""
    found = listed.get("data") if isinstance(listed, Mapping) else listed
    return (entry for entry in found or () if isinstance(entry, dict) and isinstance(entry.get("id"), str))


def _api(target: Target) -> str:
    return target.own_api


def key_of(target: Target) -> str:
    """Where the copy of a target's models is kept."""
    return f"models.{target.name}"
