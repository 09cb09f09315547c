"""The tool list for a client: renamed, shrunk, or behind a few meta-tools."""

from __future__ import annotations

from dataclasses import dataclass, field

from brim.count_text import CountText
from brim.docsearch.tool_index import ToolIndex
from brim.mcp.options import LEVELS, Level, WrapperOptions
from brim.mcp.results.meta_budgets import MAX_CHARS_KEY, is_read_only, is_round_trip
from brim.mcp.results.recall_tool import query_tool, recall_tool
from brim.mcp.tools import tool_groups
from brim.mcp.tools.definition_shrinking import Shrunk, shrink
from brim.mcp.transport.json_rpc import RpcObject, dump, meta_of

SEPARATOR = "__"
VERBOSITY = "verbosity"
_CHARS_A_TOKEN = 5
# A search shows the best tools in full, and from the best groups the names of this many others.
_POOL = 60
_NEAR_GROUPS = 8
_SIBLINGS = 14


@dataclass(frozen=True, slots=True)
class ListedTool:
    """A tool of a server: its definition there, and its name here."""

    name: str
    owner: str
    original: RpcObject


@dataclass(slots=True)
class ToolList:
    """All tools behind the wrapper, and how to present them."""

    options: WrapperOptions
    count: CountText
    entries: dict[str, ListedTool] = field(default_factory=dict)
    opened: dict[str, None] = field(default_factory=dict)
    _index: ToolIndex | None = None
    _full: list[RpcObject] = field(default_factory=list)
    _tokens: int = 0

    def fill(self, tools_by_owner: list[tuple[str, list[RpcObject]]], *, prefixed: bool) -> None:
        """Add the tools of the servers in order; with several servers each name gets a prefix."""
        self.entries = {}
        for owner, tools in tools_by_owner:
            for tool in tools:
                bare = str(tool.get("name", ""))
                name = f"{owner}{SEPARATOR}{bare}" if prefixed else bare
                self.entries.setdefault(name, ListedTool(name, owner, tool))
        self._full = [{**entry.original, "name": entry.name} for entry in self.entries.values()]
        self._tokens = sum(tokens_of(tool, self.count) for tool in self._full)
        self._index = None

    def get(self, name: str) -> RpcObject | None:
        entry = self.entries.get(name)
        return entry.original if entry else None

    def without_verbosity(self, name: str, params: RpcObject) -> tuple[RpcObject, Level | None]:
        """A call without the `verbosity` that Brim added to the tool, and the level that it asked for."""
        arguments, tool = params.get("arguments"), self.get(name)
        if not self.options.verbosity or tool is None or not isinstance(arguments, dict):
            return params, None
        asked = arguments.get(VERBOSITY)
        if asked not in LEVELS or VERBOSITY in _properties(tool):
            return params, None
        left = {key: value for key, value in arguments.items() if key != VERBOSITY}
        return {**params, "arguments": left}, asked

    def exempt(self, name: str) -> bool:
        """Whether the tool's results pass unchanged."""
        tool = self.get(name)
        return self.options.exempts(name) or (tool is not None and is_round_trip(tool))

    def read_only(self, name: str) -> bool:
        return is_read_only(self.get(name))

    @property
    def grouped(self) -> bool:
        mode, options = self.options.grouping, self.options
        if mode in ("meta", "virtual"):
            return len(self.entries) > 0
        return mode == "auto" and (len(self.entries) > options.tool_threshold or self._tokens > options.tool_tokens)

    def shown(self, *, virtual: bool, recall: bool) -> list[RpcObject]:
        """The list for the client. `virtual` is for clients of the versions whose lists may change."""
        if not self.grouped:
            tools, cut = self._slim(list(self.entries))
            extra = [tool_groups.describe_tool()] if cut else []
        elif virtual and self.options.grouping == "virtual":
            tools, extra = self._virtual()
        else:
            tools, extra = (
                [],
                [
                    tool_groups.find_tool(self.groups(), self._tokens, self.count),
                    tool_groups.describe_tool(),
                    tool_groups.call_tool(),
                ],
            )
        if recall:
            for tool in (recall_tool(), query_tool()) if tool_groups.RECALL not in self.entries else ():
                tool["_meta"] = {MAX_CHARS_KEY: self.options.recall_tokens * _CHARS_A_TOKEN}
                extra.append(tool)
        return [*tools, *(tool for tool in extra if tool["name"] not in self.entries)]

    def groups(self) -> list[tool_groups.ToolGroup]:
        names = list(self.entries)
        return tool_groups.groups(names, [entry.owner for entry in self.entries.values()])

    def _virtual(self) -> tuple[list[RpcObject], list[RpcObject]]:
        tools: list[RpcObject] = []
        doors: list[RpcObject] = []
        cut = False
        for group in self.groups():
            if group.name in self.opened:
                slim, some = self._slim(list(group.tools))
                tools += slim
                cut = cut or some
                doors.append(tool_groups.close_tool(group))
            else:
                doors.append(tool_groups.open_tool(group, self.count))
        return tools, [*doors, *([tool_groups.describe_tool()] if cut else [])]

    def _slim(self, names: list[str]) -> tuple[list[RpcObject], bool]:
        done = [self._one(self.entries[name]) for name in names]
        return [one.tool for one in done], any(one.cut for one in done)

    def _one(self, entry: ListedTool) -> Shrunk:
        tool = {**entry.original, "name": entry.name}
        compacted = self.options.compact and not self.exempt(entry.name)
        if self.options.verbosity and compacted:
            tool = _with_verbosity(tool)
        if compacted and MAX_CHARS_KEY not in meta_of(tool):
            largest = max(self.options.result_tokens.values()) * _CHARS_A_TOKEN
            tool["_meta"] = {**meta_of(tool), MAX_CHARS_KEY: largest}
        if compacted:
            # A compacted result has no structured content, so the schema must not promise it.
            tool.pop("outputSchema", None)
        if not self.options.shrink:
            return Shrunk(tool, False)
        return shrink(tool, limit=self.options.description_tokens, count=self.count, drop_output=compacted)

    def find(self, query: str, limit: int) -> str:
        """The answer of `brim_find`: the best tools, and the names of others in the best groups."""
        if self._index is None:
            owners = [entry.owner for entry in self.entries.values()]
            self._index = ToolIndex(self._full, owners)
        ranked = [str(self._full[place]["name"]) for place in self._index.search(query, _POOL)]
        if not ranked:
            names = ", ".join(group.name for group in self.groups())
            return f"No tool matches {query!r}. Groups: {names}"
        best = ranked[: max(1, min(limit, 20))]
        lines = [tool_groups.signature(self._named(name), 60, self.count) for name in best]
        owning = {name: group for group in self.groups() for name in group.tools}
        for group in list(dict.fromkeys(owning[name] for name in ranked))[:_NEAR_GROUPS]:
            near = [name for name in ranked if owning[name] is group]
            others = [name for name in dict.fromkeys([*near, *group.tools]) if name not in best]
            if others:
                more = f" and {len(others) - _SIBLINGS} more" if len(others) > _SIBLINGS else ""
                lines.append(f"also {group.name}: {', '.join(others[:_SIBLINGS])}{more}")
        return "\n".join(lines)

    def describe(self, wanted: str) -> tuple[str, bool]:
        """The full definitions of the named tools, and whether none is known."""
        names = [name.strip() for name in wanted.split(",") if name.strip()]
        found = [{**entry.original, "name": name} for name in names if (entry := self.entries.get(name))]
        if not found:
            return f"no tool is called {wanted!r}; {tool_groups.FIND} searches them", True
        keys = ("name", "description", "inputSchema")
        slim = [{key: tool[key] for key in keys if tool.get(key) is not None} for tool in found]
        return "\n".join(dump(tool).decode() for tool in slim), False

    def door(self, name: str) -> str | None:
        """Open or close a group by its tool's name; returns a text that says what happened, or None."""
        for group in self.groups():
            if name == tool_groups.OPEN + tool_groups.slug(group.name):
                self.opened[group.name] = None
                lines = [tool_groups.signature(self._named(tool), 40, self.count) for tool in group.tools]
                return f"{group.name} is open:\n" + "\n".join(lines)
            if name == tool_groups.CLOSE + tool_groups.slug(group.name):
                self.opened.pop(group.name, None)
                return f"{group.name} is closed."
        return None

    def _named(self, name: str) -> RpcObject:
        return {**self.entries[name].original, "name": name}


def _properties(tool: RpcObject) -> RpcObject:
    schema = tool.get("inputSchema")
    found = schema.get("properties") if isinstance(schema, dict) else None
    return found if isinstance(found, dict) else {}


def _with_verbosity(tool: RpcObject) -> RpcObject:
    """The tool with an argument for the level of detail; unchanged if it has one already."""
    if VERBOSITY in _properties(tool):
        return tool
    schema = tool.get("inputSchema")
    schema = schema if isinstance(schema, dict) else {"type": "object"}
    argument = {"type": "string", "enum": list(LEVELS), "description": "How much the result says."}
    return {**tool, "inputSchema": {**schema, "properties": {**_properties(tool), VERBOSITY: argument}}}


def tokens_of(tool: RpcObject, count: CountText) -> int:
    """A tool's cost in a prompt: its name, description and input schema."""
    seen = {key: tool[key] for key in ("name", "description", "inputSchema") if tool.get(key) is not None}
    return count(dump(seen).decode())
