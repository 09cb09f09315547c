"""Requests that the wrapper answers in several steps: the handshake, lists, and all that several servers share."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, TypeVar

from brim.mcp.transport import json_rpc
from brim.mcp.transport.json_rpc import Id, RpcMessage, RpcObject, is_modern, meta_of
from brim.mcp.wrapper import server_merge
from brim.recall import SCHEME

if TYPE_CHECKING:
    from brim.mcp.transport.upstream import Upstream
    from brim.mcp.wrapper.proxy import Wrapper

T = TypeVar("T")
_PAGES = 1_000
_PROTOCOL = "io.modelcontextprotocol/"


class ServerError(Exception):
    """A server answered with a JSON-RPC error."""

    def __init__(self, error: RpcObject) -> None:
        self.error = error
        super().__init__(str(error.get("message", "")))


class Answers:
    """Builds the wrapper's answers from those of its servers."""

    def __init__(self, wrapper: Wrapper) -> None:
        self._wrapper = wrapper
        self._upstreams = wrapper.upstreams
        self._several = len(wrapper.upstreams) > 1
        self._own_resources = False
        self._uris: dict[str, Upstream] = {}

    async def greet(self, message: RpcMessage, id: Id) -> None:
        """Answer `initialize` and `server/discover` for all servers, with the wrapper's additions."""
        assert message.method is not None
        params = message.params()
        method = message.method
        named = await self._of_each(method, lambda up: self._wrapper.ask(up, method, params))
        result = server_merge.merge_hello(named) if self._several else named[0][1]
        version = result.get("protocolVersion")
        self._wrapper.version = version if isinstance(version, str) else self._wrapper.version
        capabilities = result.get("capabilities")
        if isinstance(capabilities, dict) and isinstance(capabilities.get("tools"), dict):
            result = {**result, "capabilities": self._with_own(capabilities)}
        self._wrapper.send(json_rpc.response(id, result))

    def _with_own(self, capabilities: RpcObject) -> RpcObject:
        own = dict(capabilities)
        if self._wrapper.options.compact and "resources" not in own:
            own["resources"] = {}
            self._own_resources = True
        if self._wrapper.options.grouping == "virtual":
            own["tools"] = {**own["tools"], "listChanged": True}
        return own

    def own_resource(self, message: RpcMessage, id: Id) -> bool:
        """Answer requests for the wrapper's own resources: originals of compacted results."""
        params = message.params()
        uri = params.get("uri")
        modern = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"} if is_modern(params) else {}
        if isinstance(uri, str) and uri.startswith(SCHEME) and message.method == "resources/read":
            try:
                text = self._wrapper.archive.get(uri)
            except LookupError as error:
                self._wrapper.send(json_rpc.error_response(id, json_rpc.INVALID_PARAMS, str(error)))
                return True
            content = {"uri": uri, "mimeType": "text/plain", "text": text}
            self._wrapper.send(json_rpc.response(id, {**modern, "contents": [content]}))
            return True
        if self._own_resources and message.method in ("resources/list", "resources/templates/list"):
            key = server_merge.list_key(message.method)
            self._wrapper.send(json_rpc.response(id, {**modern, key: []}))
            return True
        return False

    async def list_tools(self, message: RpcMessage, id: Id) -> None:
        params = message.params()
        base = await self._gather_tools(params)
        virtual = not is_modern(params)
        shown = self._wrapper.tools.shown(
            virtual=virtual, recall=self._wrapper.recalls and bool(self._wrapper.tools.entries)
        )
        self._wrapper.send(json_rpc.response(id, {**base, "tools": shown}))

    async def learn_tools(self, params: RpcObject) -> None:
        """Read the tool lists for a client that calls a tool without having listed them, or with an outdated list."""
        meta = {key: value for key, value in meta_of(params).items() if key.startswith(_PROTOCOL)}
        try:
            await self._gather_tools({"_meta": meta} if meta else {})
        except ServerError as error:
            self._wrapper.log.say(f"no tool list could be read: {error}")
            self._wrapper.tools_known = True  # as far as possible; not requested again until it changes

    async def _gather_tools(self, params: RpcObject) -> RpcObject:
        """Read every server's whole list; returns the fields beside the list, merged.

        If a server can't answer, its known tools are kept.
        """
        changes = self._wrapper.tool_changes
        read = dict(await self._of_each("tools/list", lambda up: self._pages(up, "tools/list", params)))
        entries = self._wrapper.tools.entries.values()
        known = {up.name: [entry.original for entry in entries if entry.owner == up.name] for up in self._upstreams}
        lists = [(up.name, read[up.name][0] if up.name in read else known[up.name]) for up in self._upstreams]
        self._wrapper.tools.fill(lists, prefixed=self._several)
        self._wrapper.tools_known = changes == self._wrapper.tool_changes
        return server_merge.merge_base([base for _, base in read.values()])

    async def _of_each(self, method: str, ask: Callable[[Upstream], Coroutine[Any, Any, T]]) -> list[tuple[str, T]]:
        """The answers of all servers; if one of several fails, it is left out and logged."""
        answers = await asyncio.gather(*map(ask, self._upstreams), return_exceptions=True)
        good: list[tuple[str, T]] = []
        failed: list[BaseException] = []
        for upstream, answer in zip(self._upstreams, answers, strict=True):
            if isinstance(answer, BaseException):
                failed.append(answer)
                self._wrapper.log.say(
                    f"the server {upstream.name} did not answer {method}: {answer}".replace("  ", " ")
                )
            else:
                good.append((upstream.name, answer))
        broken = [error for error in failed if not isinstance(error, ServerError)]
        if broken or not good:
            raise (broken or failed)[0]
        return good

    async def _pages(self, upstream: Upstream, method: str, params: RpcObject) -> tuple[list[RpcObject], RpcObject]:
        key = server_merge.list_key(method)
        meta = {"_meta": params["_meta"]} if "_meta" in params else {}
        items: list[RpcObject] = []
        base: RpcObject = {}
        cursor: object = None
        for _ in range(_PAGES):
            asked = {**meta, "cursor": cursor} if cursor is not None else meta
            try:
                result = await self._wrapper.ask(upstream, method, asked)
            except ServerError as error:
                if self._several and error.error.get("code") == json_rpc.METHOD_NOT_FOUND:
                    return items, base
                raise
            page = result.get(key)
            items += [item for item in page if isinstance(item, dict)] if isinstance(page, list) else []
            base = base or {name: value for name, value in result.items() if name not in (key, "nextCursor")}
            cursor = result.get("nextCursor")
            if cursor is None:
                break
        return items, base

    async def route(self, message: RpcMessage, id: Id) -> None:
        assert message.method is not None
        params = message.params()
        if message.method in server_merge.LISTS:
            await self._merged_list(message, id, params)
        elif message.method in server_merge.FOR_ALL:
            await self._all(message, id, params)
        else:
            await self._first_that_knows(message, id, params)

    async def _all(self, message: RpcMessage, id: Id, params: RpcObject) -> None:
        """Ask every server, and answer when all have; one that refuses doesn't affect the others."""
        assert message.method is not None
        wrapper = self._wrapper
        ids = [wrapper.own_id() for _ in wrapper.upstreams]
        if message.method == "subscriptions/listen":
            wrapper.renaming.subscriptions.update(dict.fromkeys(ids, id))
        answers = await asyncio.gather(
            *(wrapper.ask(up, message.method, params, own) for up, own in zip(wrapper.upstreams, ids, strict=True)),
            return_exceptions=True,
        )
        for own in ids:
            wrapper.renaming.subscriptions.pop(own, None)
        wrapper.renaming.acknowledged.discard(id)
        good = [answer for answer in answers if isinstance(answer, dict)]
        failed = [answer for answer in answers if isinstance(answer, BaseException)]
        if not good:
            raise failed[0]
        wrapper.send(json_rpc.response(id, good[0]))

    async def _merged_list(self, message: RpcMessage, id: Id, params: RpcObject) -> None:
        assert message.method is not None
        method = message.method
        read = await self._of_each(method, lambda up: self._pages(up, method, params))
        for name, (items, _) in read:
            upstream = self._wrapper.by_name[name]
            self._uris.update({str(item.get("uri")): upstream for item in items if "uri" in item})
        base = server_merge.merge_base([base for _, (_, base) in read])
        named = [(name, items) for name, (items, _) in read]
        self._wrapper.send(json_rpc.response(id, server_merge.merge_list(method, named, base)))

    async def _first_that_knows(self, message: RpcMessage, id: Id, params: RpcObject) -> None:
        """Ask the server that a name or address belongs to; otherwise one after the other."""
        assert message.method is not None
        candidates = self._wrapper.upstreams
        ref = params.get("ref")
        holder = ref if isinstance(ref, dict) else params
        found = server_merge.split_name(str(holder.get("name", "")), list(self._wrapper.by_name))
        if found is not None:
            candidates = [self._wrapper.by_name[found[0]]]
            holder = {**holder, "name": found[1]}
            params = {**params, "ref": holder} if isinstance(ref, dict) else holder
        elif isinstance(params.get("uri"), str) and params["uri"] in self._uris:
            candidates = [self._uris[params["uri"]]]
        failure = ServerError({"code": json_rpc.INVALID_PARAMS, "message": "no server knows this"})
        for upstream in candidates:
            try:
                result = await self._wrapper.ask(upstream, message.method, params)
            except ServerError as error:
                failure = error
                continue
            self._wrapper.send(json_rpc.response(id, result))
            return
        raise failure
