"""`brim_recall` and `brim_query`: the original of a compacted result, by page or search, or an answer about it."""

from __future__ import annotations

from brim.apis.recall_tool import QUERY_DESCRIPTION, QUERY_SCHEMA
from brim.count_text import CountText
from brim.errors import BadInput, MissingExtra, NotFound
from brim.mcp.results.archive import ResultArchive
from brim.mcp.tools.tool_groups import QUERY, RECALL
from brim.mcp.transport.json_rpc import RpcObject
from brim.query import query
from brim.recall import asked, page, read


def recall_tool() -> RpcObject:
    return {
        "name": RECALL,
        "description": (
            "The original of a shortened result, by the brim: handle in its mark: from `offset` on, or the "
            "lines that match `query`."
        ),
        "inputSchema": {
            "type": "object",
            "properties": {
                "handle": {"type": "string"},
                "offset": {"type": "integer", "description": "character to start at, default 0"},
                "query": {"type": "string", "description": "words or an exact string to look for inside it"},
            },
            "required": ["handle"],
        },
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    }


def query_tool() -> RpcObject:
    return {
        "name": QUERY,
        "description": QUERY_DESCRIPTION,
        "inputSchema": QUERY_SCHEMA,
        "annotations": {"readOnlyHint": True, "idempotentHint": True, "openWorldHint": False},
    }


def recall(archive: ResultArchive, arguments: RpcObject, budget: int, count: CountText) -> tuple[str, bool]:
    """The answer of the tool, and whether it is an error."""
    what = asked(arguments)
    if not what.handle:
        return "handle is missing: it stands in the mark of a shortened result, such as brim:3f2a…", True
    try:
        text = archive.get(what.handle)
    except NotFound as error:
        return str(error), True
    if what.expression:
        try:
            return page(query(text, what.expression), what.offset, budget, count), False
        except (BadInput, MissingExtra) as error:
            return str(error), True
    return read(text, what, budget, count), False
