"""Makes several servers look like one: routes by name, and merges their answers."""

from __future__ import annotations

from collections.abc import Sequence

from brim.mcp.tools.tool_list import SEPARATOR
from brim.mcp.transport.json_rpc import RpcObject

_MERGED_LISTS = {
    "prompts/list": "prompts",
    "resources/list": "resources",
    "resources/templates/list": "resourceTemplates",
    "tasks/list": "tasks",
}
LISTS = frozenset(_MERGED_LISTS)
# Sent to every server, and answered when all have answered.
FOR_ALL = frozenset(("initialize", "server/discover", "logging/setLevel", "ping", "subscriptions/listen"))


def merge_hello(results: Sequence[tuple[str, RpcObject]]) -> RpcObject:
    """Merge all servers' answers to `initialize` or `server/discover`.

    The version is the oldest one chosen, which newer servers still understand.
    """
    first = results[0][1]
    merged: RpcObject = dict(first)
    capabilities: RpcObject = {}
    for _, result in results:
        _add_capabilities(capabilities, result.get("capabilities"))
    merged["capabilities"] = capabilities
    versions = [v for _, result in results if isinstance(v := result.get("protocolVersion"), str)]
    if versions:
        merged["protocolVersion"] = min(versions)
    supported = [set(v) for _, result in results if isinstance(v := result.get("supportedVersions"), list)]
    if supported:
        merged["supportedVersions"] = sorted(set.intersection(*supported), reverse=True)
    texts = [f"{name}: {t}" for name, result in results if isinstance(t := result.get("instructions"), str) and t]
    if texts:
        merged["instructions"] = "\n\n".join(texts)
    if "serverInfo" in first:
        merged["serverInfo"] = {"name": "brim (" + ", ".join(name for name, _ in results) + ")", "version": "1"}
    return merged


def _add_capabilities(whole: RpcObject, part: object) -> None:
    if not isinstance(part, dict):
        return
    for key, value in part.items():
        if isinstance(value, dict) and isinstance(whole.get(key), dict):
            _add_capabilities(whole[key], value)
        elif isinstance(value, dict):
            whole[key] = {}
            _add_capabilities(whole[key], value)
        elif value is True or key not in whole:
            whole[key] = value


def merge_base(bases: Sequence[RpcObject]) -> RpcObject:
    """Merge the fields beside a list: the merged list is only as fresh, and only as public, as each of them.

    Example: [{"ttlMs": 60, "cacheScope": "public"}, {"ttlMs": 5, "cacheScope": "private"}] -> {"ttlMs": 5, …"private"}
    """
    given = [base for base in bases if base]
    merged: RpcObject = dict(given[0]) if given else {}
    times = [base["ttlMs"] for base in given if isinstance(base.get("ttlMs"), int | float)]
    if times:
        merged["ttlMs"] = min(times)
    if any(base.get("cacheScope") == "private" for base in given):
        merged["cacheScope"] = "private"
    return merged


def merge_list(method: str, results: Sequence[tuple[str, list[RpcObject]]], base: RpcObject) -> RpcObject:
    """Merge all servers' lists; prompts get their server's prefix, as tools do."""
    key = _MERGED_LISTS[method]
    items: list[RpcObject] = []
    for owner, found in results:
        for item in found:
            items.append({**item, "name": f"{owner}{SEPARATOR}{item.get('name')}"} if key == "prompts" else item)
    merged = {name: value for name, value in base.items() if name not in ("nextCursor", key)}
    merged[key] = items
    return merged


def list_key(method: str) -> str:
    return _MERGED_LISTS.get(method, "tools")


def split_name(name: str, owners: Sequence[str]) -> tuple[str, str] | None:
    """The server and its own name for a prefixed name. Example: "git__log" -> ("git", "log")"""
    for owner in sorted(owners, key=len, reverse=True):
        if name.startswith(owner + SEPARATOR):
            return owner, name[len(owner) + len(SEPARATOR) :]
    return None
