"""Searches a folder of Markdown documents, such as specifications, learnings and notes.

found = search("docs/features", ["token", "limit"])
print(found.text)          # a note that these specifications apply, then the five best files in full
"""

from brim.docsearch.bm25 import Bm25, words
from brim.docsearch.folder import EXCLUDED, Folder, FolderDocument
from brim.docsearch.search import LARGE_FOLDER, Found, Hit, search
from brim.docsearch.texts import FEATURES, LEARNINGS, Collection
from brim.docsearch.tool_loop import run_tools
from brim.docsearch.tools import anthropic_tool, instructions, mcp_tool, openai_tool

__all__ = [
    "EXCLUDED",
    "FEATURES",
    "LARGE_FOLDER",
    "LEARNINGS",
    "Bm25",
    "Collection",
    "Folder",
    "FolderDocument",
    "Found",
    "Hit",
    "anthropic_tool",
    "instructions",
    "mcp_tool",
    "openai_tool",
    "run_tools",
    "search",
    "words",
]
