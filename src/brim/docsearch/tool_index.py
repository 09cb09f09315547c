"""Finds tools by what they do."""

from __future__ import annotations

import re
from collections.abc import Sequence
from difflib import get_close_matches
from typing import Any

from brim.docsearch.bm25 import Bm25, words
from brim.errors import BadInput

Tool = dict[str, Any]

# Synonyms in the names of tools: a line has words that a query and a tool may use for the same thing.
_SAME = """get fetch retrieve read load show view obtain access
write save create store export generate make produce
search find lookup query discover locate
delete remove drop clear
update edit modify change set
run execute start launch invoke
send post publish
list enumerate browse
file document filesystem
directory folder path
web website page url html http internet online scrape crawl browser
image picture photo png jpg
chart plot graph visualization visualize diagram
spreadsheet excel xlsx csv sheet workbook
presentation powerpoint pptx slide ppt
stock share ticker finance financial market
paper article academic research publication
shell command terminal process script code python cli
map location geocode address place coordinate
news story headline
pdf docx word
calculate compute math arithmetic
database sql table query
note memory remember
music audio song sound
weather forecast
product shopping price ecommerce
summary summarize extract"""
_SAME_WORTH = 0.5
# The weight of corrections: a word that no tool has may be misspelt, or two words written as one.
_MEANT_WORTH = 0.8
_LIKENESS = 0.8
_SHORTEST_MEANT = 4
_MEANINGS = 2
# The fields for parameters in MCP, Anthropic, OpenAI and Gemini.
_SCHEMAS = ("inputSchema", "input_schema", "parameters", "parametersJsonSchema")
_NAME_WORTH = 4
_GROUP_WORTH = 2
_MARKUP = re.compile(r"<[^<>\n]{1,40}>|\b(?:server|tool)s?\s*:", re.IGNORECASE)
_SENTENCE_END = re.compile(r"(?<=[.!?。])\s|\n\n")


def _near() -> dict[str, tuple[str, ...]]:
    near: dict[str, dict[str, None]] = {}
    for line in _SAME.splitlines():
        stems = [stem for word in line.split() for stem in words(word)]
        for stem in stems:
            near.setdefault(stem, {}).update(dict.fromkeys(stems))
    return {stem: tuple(other for other in others if other != stem) for stem, others in near.items()}


_NEAR = _near()


def find_tools(tools: Sequence[Tool], query: str, limit: int = 5) -> list[Tool]:
    """The tools of a request, in any API's format, that match a query best, best first.

    Example: find_tools([{"name": "read_file"}, {"name": "send_mail"}], "open a document") -> [{"name": "read_file"}]
    """
    if limit < 1:
        raise BadInput("limit", f"must be 1 or more, not {limit}")
    known = [one for tool in tools for one in _functions(tool)]
    index = ToolIndex([one.get("function", one) for one in known])
    return [known[place] for place in index.search(query, limit)]


def _functions(tool: Tool) -> list[Tool]:
    """The functions that an entry in a request's tools declares; none if it is the provider's own tool."""
    for key in ("functionDeclarations", "function_declarations", "tools"):
        if isinstance(tool.get(key), list):
            return [one for one in tool[key] if isinstance(one, dict)]
    return [tool] if tool.get("type") in (None, "function", "custom") else []


class ToolIndex:
    """BM25 over names, groups, descriptions and parameters, with synonyms and corrections of misspelt words.

    Example: ToolIndex([{"name": "read_file"}, {"name": "send_mail"}]).search("open a document") -> [0]
    """

    def __init__(self, tools: Sequence[Tool], groups: Sequence[str] | None = None) -> None:
        named = groups if groups is not None else [""] * len(tools)
        self._names = [str(tool.get("name", "")) for tool in tools]
        documents = [_words_of(tool, group) for tool, group in zip(tools, named, strict=True)]
        self._bm25 = Bm25(documents, b=0.6)
        self._known = dict.fromkeys(word for document in documents for word in document)
        self._by_start: dict[str, list[str]] = {}
        for word in self._known:
            self._by_start.setdefault(word[:1], []).append(word)

    def search(self, query: str, limit: int = 5) -> list[int]:
        """The indexes of the best tools, best first; tools named in the query come before all others."""
        asked = words(_MARKUP.sub(" ", query))
        scores = self._bm25.scores(asked)
        for word, worth in self._further(list(dict.fromkeys(asked))).items():
            for place, score in self._bm25.scores((word,)).items():
                scores[place] = scores.get(place, 0.0) + worth * score
        # A name that is a plain word, such as "search", says nothing inside a sentence.
        named = frozenset(word for word in re.findall(r"[\w.-]+", query) if not word.isalpha() or not word.islower())
        order = sorted(scores, key=lambda place: (self._names[place] not in named, -scores[place], place))
        return order[:limit]

    def _further(self, asked: list[str]) -> dict[str, float]:
        """Words that the query doesn't contain but may mean, with weights."""
        found: dict[str, float] = {}
        for word in asked:
            if word not in self._known and word not in _NEAR:
                found.update(dict.fromkeys(self._meant(word), _MEANT_WORTH))
        for word in asked:
            for near in _NEAR.get(word, ()):
                found.setdefault(near, _SAME_WORTH)
        return {word: worth for word, worth in found.items() if word not in asked}

    def _meant(self, word: str) -> list[str]:
        """The words that a word no tool has may mean.

        Example: "direktori" -> ["directori"], "readfil" -> ["read", "file"]
        """
        if len(word) < _SHORTEST_MEANT or not word.isalpha():
            return []
        for cut in range(2, len(word) - 1):
            first, second = words(word[:cut]), words(word[cut:])
            if len(first) == len(second) == 1 and first[0] in self._known and second[0] in self._known:
                return [first[0], second[0]]
        return get_close_matches(word, self._by_start.get(word[0], ()), _MEANINGS, _LIKENESS)


def _words_of(tool: Tool, group: str) -> list[str]:
    text = str(tool.get("description") or "")
    found = words(str(tool.get("name", ""))) * _NAME_WORTH + words(group) * _GROUP_WORTH
    found += words(_SENTENCE_END.split(text.strip(), maxsplit=1)[0][:300]) + words(text[:1_500])
    schema = next((tool[key] for key in _SCHEMAS if key in tool), None)
    properties: Any = schema.get("properties") if isinstance(schema, dict) else None
    if isinstance(properties, dict):
        for name, value in properties.items():
            said = value.get("description") if isinstance(value, dict) else None
            found += words(name) + words(said[:200] if isinstance(said, str) else "")
    return found
