"""`brim mcp serve`: Brim's tools as an MCP server, on the official SDK."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, Literal

from brim.apis.recall_tool import QUERY_DESCRIPTION, QUERY_SCHEMA
from brim.docsearch import FEATURES, LEARNINGS, instructions
from brim.errors import BrimError, MissingExtra
from brim.mcp.options import Level
from brim.mcp.server.own_tools import Tools
from brim.mcp.transport.json_rpc import dump

try:
    from mcp.server.mcpserver import MCPServer
    from mcp.server.mcpserver.exceptions import ToolError
    from mcp.types import CallToolResult, TextContent, ToolAnnotations
    from pydantic import BaseModel, Field, ValidationError
except ImportError as error:  # needed only in this file
    raise MissingExtra("brim mcp serve", "mcp") from error

_INSTRUCTIONS = (
    "Tools that keep a context window small: search before reading, map before listing, and ask for level "
    "compact or minimal when the conversation is long."
)
_READ = ToolAnnotations(read_only_hint=True, idempotent_hint=True, open_world_hint=False)


class Counted(BaseModel):
    tokens: int
    upper: int
    source: str


class CompactedText(BaseModel):
    text: str
    tokens: int
    of: int
    fidelity: str
    kind: str
    handle: str | None = None


class Recalled(BaseModel):
    text: str


class Documents(BaseModel):
    text: str
    files: list[str]
    matched: int


class Context(BaseModel):
    model: str
    tokens: int
    limit: int
    used: float
    layers: list[dict[str, Any]]
    fitted: dict[str, int] | None = None
    warnings: list[str] | None = None


class Hits(BaseModel):
    results: list[dict[str, Any]]
    total: int | None = None


class Uses(BaseModel):
    definitions: list[dict[str, Any]]
    references: list[dict[str, Any]]
    total_references: int | None = None


class RepoMap(BaseModel):
    files: int
    languages: dict[str, int] | list[dict[str, Any]]  # counts, or lists of files at the fuller levels
    tree: dict[str, Any]
    dependencies: Any = None
    test_layout: Any = None


class ChangedFiles(BaseModel):
    scope: dict[str, Any]
    structural_changes: list[dict[str, Any]]
    non_structural_changes: list[dict[str, Any]]


Model = Annotated[str, Field(description="whose tokenizer and window, default gpt-4o")]
QueryExpression = Annotated[str, Field(description=QUERY_SCHEMA["properties"]["expression"]["description"])]
Keywords = Annotated[list[str], Field(description="none lists the files")]
Detail = Annotated[Level, Field(description="full, standard, compact or minimal")]
Limit = Annotated[int, Field(description="most results")]


def _told(make: Callable[[], dict[str, Any]], text: str = "") -> CallToolResult:
    """A value as a result: structured, and as compact JSON for clients that show text."""
    try:
        value = make()
    except BrimError as error:
        raise ToolError(str(error)) from error
    shown = value[text] if text else dump(value).decode()
    return CallToolResult(content=[TextContent(type="text", text=shown)], structured_content=value)


class _Server(MCPServer):
    """The SDK's server, with argument errors that show the tool's schema, so that the next call can be right."""

    async def call_tool(self, name: str, arguments: dict[str, Any], *rest: Any) -> Any:
        try:
            return await super().call_tool(name, arguments, *rest)
        except ToolError as refusal:
            if not isinstance(refusal.__cause__, ValidationError):
                raise
            wrong = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in refusal.__cause__.errors()]
            schema = next(tool.input_schema for tool in await self.list_tools() if tool.name == name)
            raise ToolError(f"{name}: {'; '.join(wrong)}. It takes {dump(schema).decode()}") from refusal


def build(root: Path, docs: Path, learnings: Path) -> MCPServer:
    """The server for a project."""
    tools = Tools(root, docs, learnings)
    folders = ((docs, FEATURES, "search_docs"), (learnings, LEARNINGS, "search_learnings"))
    when = [instructions(collection, name=tool) for folder, collection, tool in folders if folder.is_dir()]
    server: MCPServer = _Server("brim", instructions="\n\n".join([_INSTRUCTIONS, *when]))
    _add_text_tools(server, tools)
    _add_code_tools(server, tools)
    return server


def _add_text_tools(server: MCPServer, tools: Tools) -> None:
    @server.tool(description="Tokens that a text takes for a model.", annotations=_READ)
    def count_tokens(text: str, model: Model = "gpt-4o") -> Annotated[CallToolResult, Counted]:
        return _told(lambda: tools.count_tokens(text, model))

    @server.tool(
        description="A text in fewer tokens: lossless, or within a budget with what is left out marked.",
        annotations=_READ,
    )
    def compact(
        text: str, budget: int | None = None, kind: str | None = None, query: str = ""
    ) -> Annotated[CallToolResult, CompactedText]:
        return _told(lambda: tools.compact(text, budget, kind, query), "text")

    @server.tool(description="The original behind a brim: handle, by page or by query.", annotations=_READ)
    def recall(handle: str, offset: int = 0, query: str = "") -> Annotated[CallToolResult, Recalled]:
        return _told(lambda: tools.recall(handle, offset, query), "text")

    @server.tool(description=QUERY_DESCRIPTION, annotations=_READ)
    def query(handle: str, expression: QueryExpression, offset: int = 0) -> Annotated[CallToolResult, Recalled]:
        return _told(lambda: tools.query(handle, expression, offset), "text")

    @server.tool(description="Feature specifications that match keywords, best first.", annotations=_READ)
    def search_docs(keywords: Keywords) -> Annotated[CallToolResult, Documents]:
        return _told(lambda: tools.search_docs(keywords), "text")

    @server.tool(description="Recorded learnings that match keywords, best first.", annotations=_READ)
    def search_learnings(keywords: Keywords) -> Annotated[CallToolResult, Documents]:
        return _told(lambda: tools.search_learnings(keywords), "text")

    @server.tool(
        description="How full chat messages make a model's window, by layer, and what fitting would do.",
        annotations=_READ,
    )
    def context_report(
        messages: list[dict[str, Any]], model: Model = "gpt-4o", budget: int | None = None
    ) -> Annotated[CallToolResult, Context]:
        return _told(lambda: tools.context_report(messages, model, budget))


def _add_code_tools(server: MCPServer, tools: Tools) -> None:
    @server.tool(description="Languages, tree, dependencies and tests of the repository.", annotations=_READ)
    def map_repo(path: str = "", level: Detail = "compact") -> Annotated[CallToolResult, RepoMap]:
        return _told(lambda: tools.map_repo(path, level))

    @server.tool(description="Find definitions, uses or text in the code.", annotations=_READ)
    def search(
        query: str,
        mode: Literal["definitions", "references", "lexical"] = "definitions",
        limit: Limit = 20,
        level: Detail = "compact",
    ) -> Annotated[CallToolResult, Hits]:
        return _told(lambda: tools.search(query, mode, limit, level))

    @server.tool(description="Where a symbol is defined and where it is used, in one call.", annotations=_READ)
    def search_def_and_refs(
        symbol: str, limit: Limit = 20, level: Detail = "compact"
    ) -> Annotated[CallToolResult, Uses]:
        return _told(lambda: tools.search_def_and_refs(symbol, limit, level))

    @server.tool(
        description="Changes by definition, with risk, uses and tests: base to target, or to the working tree.",
        annotations=_READ,
    )
    def semantic_diff(
        base: str = "HEAD", target: str = "", level: Detail = "compact"
    ) -> Annotated[CallToolResult, ChangedFiles]:
        return _told(lambda: tools.semantic_diff(base, target, level))


def run(root: Path, docs: Path, learnings: Path) -> None:
    """Serve over stdio until the client closes it."""
    build(root, docs, learnings).run()
