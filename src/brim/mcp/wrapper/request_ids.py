"""Translates ids between several servers and one client.

Servers number their requests independently, so two may use the same id at once. The client gets one of the
wrapper's ids, which leads back to the server that asked.
"""

from __future__ import annotations

from brim.mcp.transport import json_rpc
from brim.mcp.transport.json_rpc import Id, RpcMessage, RpcObject, meta_of
from brim.mcp.transport.upstream import Upstream

_SUBSCRIPTION_KEY = "io.modelcontextprotocol/subscriptionId"


class Renaming:
    """The servers' pending requests to the client, and their subscriptions."""

    def __init__(self) -> None:
        self.asked: dict[Id, tuple[Upstream, Id]] = {}
        self.subscriptions: dict[str, Id] = {}
        self.acknowledged: set[Id] = set()
        self._numbered = 0
        self._token_of: dict[Id, object] = {}
        self._by_token: dict[object, Upstream] = {}

    def request(self, upstream: Upstream, message: RpcMessage) -> bytes:
        """A server's request in the form for the client."""
        assert message.id is not None
        self._numbered += 1
        id = f"brim/{upstream.name}/{self._numbered}"
        self.asked[id] = (upstream, message.id)
        token = meta_of(message.params()).get("progressToken")
        if isinstance(token, str | int):
            self._by_token[token] = upstream
            self._token_of[id] = token
        body: RpcObject = json_rpc.parse(message.line)
        return json_rpc.dump({**body, "id": id})

    def answer(self, message: RpcMessage) -> tuple[Upstream, bytes] | None:
        """The client's answer in the form for its server; None if no server is waiting for it."""
        found = self.asked.get(message.id) if message.id is not None else None
        if found is None or message.id is None:
            return None
        self._forget(message.id)
        body: RpcObject = json_rpc.parse(message.line)
        return found[0], json_rpc.dump({**body, "id": found[1]})

    def notification(self, upstream: Upstream, message: RpcMessage) -> bytes:
        """A server's notification with the client's ids; b"" if it isn't for the client."""
        if message.method == "notifications/cancelled":
            asked = (upstream, message.params().get("requestId"))
            known = next((id for id, found in self.asked.items() if found == asked), None)
            if known is None:
                return b""
            self._forget(known)
            return json_rpc.notification("notifications/cancelled", {**message.params(), "requestId": known})
        if not self.subscriptions:
            return message.line
        params = message.params()
        meta = meta_of(params)
        client_id = self.subscriptions.get(str(meta.get(_SUBSCRIPTION_KEY)))
        if client_id is None or message.method is None:
            return message.line
        if message.method == "notifications/subscriptions/acknowledged":
            if client_id in self.acknowledged:
                return b""
            self.acknowledged.add(client_id)
        meta = {**meta, _SUBSCRIPTION_KEY: client_id}
        return json_rpc.notification(message.method, {**params, "_meta": meta})

    def owner(self, token: object) -> Upstream | None:
        """The server whose request the client reports progress on."""
        return self._by_token.get(token) if isinstance(token, str | int) else None

    def gone(self, upstream: Upstream) -> None:
        """Forget the requests of a server that ended."""
        for id in [id for id, (owner, _) in self.asked.items() if owner is upstream]:
            self._forget(id)

    def _forget(self, id: Id) -> None:
        del self.asked[id]
        self._by_token.pop(self._token_of.pop(id, None), None)
