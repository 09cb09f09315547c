"""Parses query expressions.

lines 40-60 · head 20 · tail 5 · count · count by state · count by /ERROR (\\w+)/ · /time.?out/i ·
.items[] | .name · $.items[*].name
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from brim.errors import BadInput

Way = Literal["lines", "head", "tail", "count", "count by", "count matches", "regex", "jq"]
LONGEST = 4_000
_LINES = re.compile(r"lines?\s+(\d{1,9})(?:\s*(?:-|–|\.\.|to)\s*(\d{1,9}))?$", re.I)
_ENDS = re.compile(r"(head|tail|first|last)\s+(\d{1,9})(?:\s+lines?)?$", re.I)
_COUNT_BY = re.compile(r"count\s+by\s+(\S.*)$", re.I | re.S)
_SLASHED = re.compile(r"/(.*)/([imsx]*)$", re.S)
_GREP = re.compile(r"(?:grep|regex|match)\s+(\S.*)$", re.I | re.S)
# The start of a jq program: a path, a constructed value, or a function with its arguments.
_JQ = re.compile(
    r"[.\[{(\"]|-?\d|(?:def|if|try|reduce|foreach|label|not)\b"
    r"|(?:map|select|length|keys|keys_unsorted|values|to_entries|from_entries|with_entries|group_by|sort|sort_by|unique"
    r"|unique_by|min_by|max_by|min|max|add|any|all|first|last|limit|until|range|repeat|recurse|paths|leaf_paths|flatten"
    r"|tostream|type|walk|has|del|path|input|inputs|reverse|join|nth|error|while|getpath|tojson|test|env|splits|indices"
    r"|\$ENV|\$__loc__)(?=$|\s*[|(\[.,])"
)
_STEP = re.compile(
    r"\.\.(?P<deep>[\w-]+)|\.(?P<name>[\w-]+|\*)|\[(?P<star>\*)\]|\[(?P<index>-?\d+)\]|\[(?P<from>-?\d*):(?P<to>-?\d*)\]"
    r"|\[(?P<quote>['\"])(?P<key>.*?)(?P=quote)\]|\[\?\((?P<test>.+?)\)\]"
)


@dataclass(frozen=True, slots=True)
class Expression:
    """The kind of query, its numbers (first and last line, or a count), and the pattern, field or jq program."""

    way: Way
    first: int = 0
    last: int = 0
    text: str = ""


def parse(written: str) -> Expression:
    """Parse an expression. Raises BadInput with suggestions.

    Example: parse("lines 40-60") -> Expression("lines", 40, 60)
    """
    said = written.strip()
    if not said:
        raise BadInput(
            "expression", "is empty: give lines 40-60, head 20, count by FIELD, /regex/ or jq such as .items[]"
        )
    if len(said) > LONGEST:
        raise BadInput("expression", f"has {len(said):,} characters; the most is {LONGEST:,}")
    if found := _LINES.match(said):
        first, last = int(found[1]), int(found[2] or found[1])
        if not 1 <= first <= last:
            raise BadInput("expression", f"asks for lines {first} to {last}: they count from 1, the first comes first")
        return Expression("lines", first, last)
    if found := _ENDS.match(said):
        way: Way = "head" if found[1].lower() in ("head", "first") else "tail"
        return Expression(way, int(found[2]))
    if said.lower() == "count":
        return Expression("count")
    if found := _COUNT_BY.match(said):
        if inner := _SLASHED.match(found[1]):
            return Expression("count matches", text=_flagged(*inner.groups()))
        return Expression("count by", text=found[1].strip())
    if found := _SLASHED.match(said):
        return Expression("regex", text=_flagged(*found.groups()))
    if found := _GREP.match(said):
        return Expression("regex", text=found[1])
    if said.startswith("$") and not said.startswith(("$ENV", "$__")):
        return Expression("jq", text=_from_jsonpath(said))
    if _JQ.match(said):
        return Expression("jq", text=said)
    return Expression("regex", text=said)


def _flagged(pattern: str, flags: str) -> str:
    return f"(?{flags}){pattern}" if flags else pattern


def _from_jsonpath(path: str) -> str:
    """Translate JSONPath to jq. Example: "$.items[?(@.n > 3)]['a b']" -> ".items[] | select(.n > 3) | .[\\"a b\\"]" """
    out = ["."]
    at = 1
    while at < len(path):
        step = _STEP.match(path, at)
        if step is None:
            raise BadInput("expression", f"is a JSONPath not known from {path[at : at + 20]!r} on: write it in jq")
        at = step.end()
        if step["deep"]:
            out.append(f'.. | objects | .["{step["deep"]}"] | values')
        elif step["star"] or step["name"] == "*":
            out.append(".[]")
        elif step["name"] or step["key"] is not None:
            key = (step["name"] or step["key"] or "").replace("\\", "\\\\").replace('"', '\\"')
            out.append(f'.["{key}"]')
        elif step["test"]:
            out.append(f".[] | select({step['test'].replace('@', '').replace('&&', ' and ').replace('||', ' or ')})")
        elif step["index"] is not None:
            out.append(f".[{step['index']}]")
        else:
            out.append(f".[{step['from']}:{step['to']}]")
    return " | ".join(out)
