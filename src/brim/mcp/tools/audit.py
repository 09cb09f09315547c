"""Reports what a server's tools cost in every prompt, and what the wrapper would save."""

from __future__ import annotations

import io
import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens
from brim.mcp.tools.definition_shrinking import shrink
from brim.mcp.tools.tool_list import ToolList, tokens_of
from brim.mcp.transport import json_rpc
from brim.mcp.transport.asking import asking
from brim.mcp.transport.child_process import ChildLog
from brim.mcp.transport.json_rpc import RpcObject
from brim.mcp.transport.upstream import Upstream


@dataclass(frozen=True, slots=True)
class ToolCost:
    """Tokens of one tool: in total, of its description, of its schema, and after shrinking."""

    name: str
    tokens: int
    description: int
    schema: int
    shrunk: int


@dataclass(frozen=True, slots=True)
class Audit:
    """The cost of a tool list. `grouped` is the cost with the tools behind meta-tools."""

    tools: tuple[ToolCost, ...]
    tokens: int
    shrunk: int
    grouped: int


def measure(tools: ToolList) -> Audit:
    """The costs of a filled tool list, the most expensive tool first."""
    costs = []
    for entry in tools.entries.values():
        tool = {**entry.original, "name": entry.name}
        small = shrink(tool, limit=tools.options.description_tokens, count=tools.count)
        costs.append(
            ToolCost(
                entry.name,
                tokens_of(tool, tools.count),
                tools.count(str(tool.get("description") or "")),
                tools.count(json_rpc.dump(tool.get("inputSchema")).decode()),
                tokens_of(small.tool, tools.count),
            )
        )
    costs.sort(key=lambda cost: (-cost.tokens, cost.name))
    meta = ToolList(WrapperOptions(grouping="meta"), tools.count)
    meta.entries = tools.entries
    meta.fill(_by_owner(tools), prefixed=False)
    grouped = sum(tokens_of(tool, tools.count) for tool in meta.shown(virtual=False, recall=False))
    total = sum(cost.tokens for cost in costs)
    return Audit(tuple(costs), total, sum(cost.shrunk for cost in costs), grouped)


def _by_owner(tools: ToolList) -> list[tuple[str, list[RpcObject]]]:
    found: dict[str, list[RpcObject]] = {}
    for entry in tools.entries.values():
        found.setdefault(entry.owner, []).append({**entry.original, "name": entry.name})
    return list(found.items())


async def audit(upstreams: Sequence[Upstream], options: WrapperOptions, log: ChildLog) -> Audit:
    """Start the servers, read their tools, stop them."""
    async with asking(upstreams, options, log) as (wrapper, ask):
        await ask("tools/list", {})
        return measure(wrapper.tools)


def render(report: Audit, *, as_json: bool = False) -> str:
    """The report for a terminal, or as JSON."""
    if as_json:
        return json.dumps(asdict(report)) + "\n"
    table = Table(box=None, pad_edge=False)
    table.add_column("tool")
    for title in ("tokens", "description", "schema", "shrunk"):
        table.add_column(title, justify="right")
    for cost in report.tools:
        name = Text("".join(one if one.isprintable() else " " for one in cost.name))  # it is the server's
        table.add_row(name, *(f"{n:,}" for n in (cost.tokens, cost.description, cost.schema, cost.shrunk)))
    out = io.StringIO()
    console = Console(file=out, width=110, force_terminal=False)
    console.print(table)
    total = max(report.tokens, 1)
    console.print(f"\n{len(report.tools)} tools, {report.tokens:,} tokens in every prompt")
    console.print(f"shrunk {report.shrunk:,} ({1 - report.shrunk / total:.0%} less)")
    console.print(f"behind meta-tools {report.grouped:,} ({report.grouped / total:.1%} of it)")
    return out.getvalue()


__all__ = ["Audit", "ToolCost", "audit", "count_tokens", "measure", "render"]
