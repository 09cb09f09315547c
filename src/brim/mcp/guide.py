"""Text for a repository's AGENTS.md: how an agent gets short tool results."""

from __future__ import annotations

GUIDE = """## Tool results

The MCP servers of this project run behind `brim mcp wrap`, which keeps what they return short.

- Results come in four levels: `full`, `standard`, `compact` and `minimal`. The level rises as the session fills.
- Ask for `compact` unless you are diagnosing a problem: every hit keeps its path, line, kind and name, every change its
  path, name, kind of change, risk, references and tests. Pass `verbosity: "compact"` where a tool takes it.
- Ask for `full` only for the one result whose details you need, and for `minimal` to see how much there is.
- Later in a session prefer `compact` and `minimal`: short results stay in your context for more turns.
- What was left out is not lost: call `brim_recall` with the `brim:…` handle in the result.
- Look a symbol up with one call of `search_def_and_refs` rather than with two searches.
- Read several files or run several searches in one step where they do not depend on each other.
"""
