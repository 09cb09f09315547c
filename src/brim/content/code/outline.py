"""The definitions of a source text: where each one, and its body, begins and ends.

Uses tree-sitter if the extra `code` is installed and supports the language, else indentation.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import TYPE_CHECKING, NamedTuple

from brim.content.code import grammars
from brim.content.detect import line_patterns

if TYPE_CHECKING:
    from tree_sitter import Node

_LONGEST = 2_000_000
_DEEPEST = 40
_DEFINES = re.compile(
    r"(?:function|method|class|struct|enum|trait|interface|impl|namespace|constructor|protocol|extension|record|union|object"
    r"|module|mod|singleton|getter|setter|actor|contract|fun|subroutine)(?:_|$)|arrow_function|type_(?:spec|alias|definition)"
)
_NOT = re.compile(
    r".*(?:_call|_type|_invocation|_list|_name|_modifiers?|_body|_pattern|_literal|_creation.*|_declarator|_heritage"
    r"|_value|_parameters?|_argument)$|object$|enum_(?:variant|constant|assignment|member.*|entry|case)$"
)
# The fields in which grammars keep a definition's name, or the name that an anonymous definition is assigned to.
_NAMES = ("name", "declarator", "type", "left", "key", "property")
_NAMELESS = re.compile(r"arrow_function|function_expression|function$|class$|.*lambda.*")
_HOLDERS = re.compile(r"variable_declarator|assignment.*|pair|.*field_definition|property_.*")
_NAME = re.compile(r"[\w$~][\w$.:?!]*")
# Names longer than this are cut, such as an `impl` for a generic type.
_LONGEST_NAME = 60
_IMPORTS = re.compile(r".*(?:import|include|use_declaration|using_directive|package|extern_crate|namespace_use)")
_SECTION = re.compile(r"\[{1,2}[\w.\"' :@/*-]+\]{1,2}\s*(?:[#;].*)?$")
_ASSIGNED = re.compile(r"\s*[\w.\"'-]+\s*[=:]|\s*[\"'\]\[}#;]")
_NAMING = re.compile(r"(?:name|id|title|path|module|key)\s*=", re.I)
_COMMENT = re.compile(r".*comment")
# Declarations in SQL, Protocol Buffers, GraphQL and Dockerfiles, which have no grammar installed.
_DECLARES = re.compile(
    r"(?i:CREATE (?:OR REPLACE )?(?:(?:TEMP|TEMPORARY|UNIQUE|MATERIALIZED|UNLOGGED) )*(?:TABLE|VIEW|FUNCTION"
    r"|PROCEDURE|INDEX|TRIGGER|TYPE|DOMAIN|SEQUENCE|SCHEMA|EXTENSION|AGGREGATE|POLICY|ROLE) "
    r"(?:CONCURRENTLY |IF NOT EXISTS )*[^\s(;]+"
    r"|ALTER TABLE (?:ONLY |IF EXISTS )*[^\s(;]+)"
    r"|\s*(?:message|service|enum|oneof|extend) [\w.]+(?= *\{)|\s*rpc \w+ *\([^)]*\)(?: *returns *\([^)]*\))?"
    r"|(?:extend )?(?:type|input|interface|union|scalar|query|mutation|subscription|fragment|directive) @?\w+"
    r"|FROM \S+(?: (?:AS|as) \S+)?$"
)
_REMARK = re.compile(r"\s*(?:/\*|\*|//|--|#)")
# The first line of a block if all blocks begin with the same key, like a package's version in a lock file.
_SAID_FIRST = re.compile(r"\s+\"?([\w-]+)\"?[:=]? +\"?([^\s\"]{1,40})\"?$")
# A definition at the margin: the name after a keyword, or before the parameters of a C function.
_AT_MARGIN = re.compile(
    r"(?:[a-z]+(?:\([a-z]+\))? ){0,5}"
    r"(?:def|class|function|fn|func|fun|struct|enum|trait|impl|interface|namespace|module)\*? "
    r"(?:\([^()]*\) )?([\w$][\w$.:]*[\w$]|[\w$])"
    r"|(?!(?:if|for|while|switch|return|else|do|case)\b)(?:[\w:<>,]+[ *&]+){1,6}([\w:~]+)\([^;]*$"
)


class Definition(NamedTuple):
    """Lines [first, body) are the signature, [body, end) the body; `doc` is the line of its description.

    `at` is the line with its name, which comes after any decorators.
    """

    first: int
    body: int
    end: int
    depth: int
    name: str
    at: int
    doc: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class Outline:
    """The definitions of a source text in order, and the lines of its imports."""

    definitions: list[Definition]
    imports: list[int]
    parsed: bool = False  # whether a grammar parsed it, which also confirms the language


def outline(lines: Sequence[str], language: str, most: int = _LONGEST) -> Outline:
    """The outline of a source text, given as lines without their ends.

    After the first `most` characters, only definitions at the start of a line are found.
    """
    read = bisect_right(list(accumulate((len(line) + 1 for line in lines), initial=0)), most)
    near = lines[:read]
    sections = _by_section(near)
    if sections:
        return Outline(sections if read >= len(lines) else _by_section(lines), [])
    found = _parsed(near, language) if language else None
    found = found if found and found.definitions else _by_declaration(near) or _by_indentation(near)
    return replace(found, definitions=[*found.definitions, *_at_margin(lines, read)])


def _at_margin(lines: Sequence[str], first: int) -> list[Definition]:
    """The definitions that begin at the margin, from a given line on."""
    rows = [row for row in range(first, len(lines)) if lines[row][:1].isalpha()]
    heads = [(row, match) for row in rows if (match := _AT_MARGIN.match(lines[row][:240]))]
    ends = [*[row for row, _ in heads[1:]], len(lines)][: len(heads)]
    return [
        Definition(row, row + 1, end, 0, (match[1] or match[2])[:_LONGEST_NAME], row)
        for (row, match), end in zip(heads, ends, strict=True)
    ]


def _by_section(lines: Sequence[str]) -> list[Definition]:
    """The sections of settings (TOML, INI, lock files); none unless the text consists mostly of them.

    Tables of an array are told apart by their name field: "[[package]]" with `name = "itoa"` below it.
    """
    heads = [row for row, line in enumerate(lines) if line[:1] == "[" and _SECTION.match(line)]
    if len(heads) < 2:
        return []
    said = sum(1 for line in lines if line.strip())
    assigned = sum(1 for line in lines if _ASSIGNED.match(line))
    if len(heads) + assigned < 0.5 * said:
        return []
    found = []
    for first, end in zip(heads, [*heads[1:], len(lines)], strict=True):
        named = _NAMING.match(lines[first + 1]) if first + 1 < end else None
        value = lines[first + 1][named.end() :].strip().strip("\"'")[:_LONGEST_NAME] if named else ""
        name = f"{lines[first].strip()} {value}".strip()
        found.append(Definition(first, first + 2 if named else first + 1, end, 0, name, first))
    return found


# Nodes that wrap a definition and contain its first line: decorators, export, template.
_WRAPPERS = frozenset(["decorated_definition", "export_statement", "template_declaration", "type_declaration"])


@dataclass(frozen=True, slots=True)
class _Visit:
    """A node whose children haven't been visited yet; `first` and `described` come from a wrapper."""

    node: Node
    depth: int = 0
    level: int = 0
    first: int = -1
    described: int = -1


def _parsed(lines: Sequence[str], language: str) -> Outline | None:
    source = "\n".join(lines).encode("utf-8", "replace")
    tree = grammars.tree(source, language) if len(source) <= _LONGEST else None
    if tree is None:
        return None
    definitions: list[Definition] = []
    imports: list[int] = []
    waiting = [_Visit(tree.root_node)]
    while waiting:
        at = waiting.pop()
        node, depth, comment = at.node, at.depth, at.described
        for child in node.named_children:
            row = child.start_point[0]
            if _COMMENT.match(child.type):
                comment = row if comment < 0 else comment
                continue
            described = comment
            comment = -1
            if depth == 0 and _IMPORTS.match(child.type):
                imports.extend(range(row, child.end_point[0] + 1))
            if at.level > _DEEPEST:
                continue
            first = at.first if at.first >= 0 else row
            defined = _definition(child, lines, first, depth, described)
            if defined:
                definitions.append(defined)
                waiting.append(_Visit(child, depth + 1, at.level + 1))
            elif child.end_point[0] <= row and child.type not in _WRAPPERS:
                continue
            elif child.type in _WRAPPERS:
                waiting.append(_Visit(child, depth, at.level + 1, first, described))
            else:
                waiting.append(_Visit(child, depth, at.level + 1))
    definitions.sort(key=lambda one: (one.first, -one.end))
    return Outline(definitions, imports, parsed=True)


def _definition(node: Node, lines: Sequence[str], first: int, depth: int, described: int) -> Definition | None:
    if not _DEFINES.match(node.type) or _NOT.match(node.type):
        return None
    name = _name_of(node)
    if not name:
        return None
    body = node.child_by_field_name("body") or node.child_by_field_name("members")
    at, end = node.start_point[0], node.end_point[0] + 1
    if body is None:
        # In `struct point p;` the type is only mentioned; it is defined elsewhere.
        return None if node.type.endswith("_specifier") else Definition(first, min(at + 1, end), end, depth, name, at)
    row, column = body.start_point[0], body.start_point[1]
    # If the body opens on the signature's line ("{"), that line belongs to the signature.
    opens_late = not lines[row].encode("utf-8", "replace")[:column].strip()
    start = row if opens_late and row > at else row + 1
    doc = _docstring(body)
    if not doc[1] and 0 <= described < first and first - described < 60:
        doc = described, first
    return Definition(first, min(start, end), end, depth, name, at, doc)


def _name_of(node: Node) -> str:
    """The name of a definition, or the name that an anonymous one is assigned to; "" if there is neither."""
    holder: Node | None = node
    if _NAMELESS.match(node.type) and node.child_by_field_name("name") is None:
        holder = node.parent
        if holder is None or not _HOLDERS.match(holder.type):
            return ""
    for _ in range(6):  # a C function's name is inside its declarators
        inner = next((found for key in _NAMES if holder and (found := holder.child_by_field_name(key))), None)
        if inner is None or inner == holder:
            break
        holder = inner
        if not holder.named_child_count:
            break
    if holder is None or holder == node:
        return ""
    text = (holder.text or b"")[: 4 * _LONGEST_NAME].decode("utf-8", "replace")
    match = _NAME.search(text)
    return match[0][:_LONGEST_NAME] if match else ""


def _docstring(body: Node) -> tuple[int, int]:
    """The lines of a string that opens the body, as in Python."""
    opening = next(iter(body.named_children), None)
    if opening is not None and opening.type == "expression_statement":  # older grammars wrap the string
        opening = next(iter(opening.named_children), None)
    if opening is None or opening.type not in ("string", "concatenated_string"):
        return 0, 0
    return opening.start_point[0], opening.end_point[0] + 1


def _by_declaration(lines: Sequence[str]) -> Outline | None:
    """The declarations, each up to the next one at its depth; None if there are fewer than two."""
    heads = [(row, found) for row, line in enumerate(lines) if (found := _DECLARES.match(line[:240]))]
    if len(heads) < 2:
        return None
    indents = [len(found[0]) - len(found[0].lstrip()) for _, found in heads]
    ends = [len(lines)] * len(heads)
    waiting: list[int] = []
    for number, (row, _) in enumerate(heads):
        while waiting and indents[waiting[-1]] >= indents[number]:
            ends[waiting.pop()] = row
        waiting.append(number)
    depths = {indent: depth for depth, indent in enumerate(sorted(set(indents)))}
    return Outline(
        [
            Definition(row, row + 1, end, depths[indent], found[0].strip()[:_LONGEST_NAME], row)
            for (row, found), indent, end in zip(heads, indents, ends, strict=True)
        ],
        [],
    )


def _by_indentation(lines: Sequence[str]) -> Outline:
    """Lines that look like definitions or open a deeper block, each with the indented lines below it."""
    definitions: list[Definition] = []
    imports: list[int] = []
    indents = [len(line) - len(line.lstrip()) if line.strip() else -1 for line in lines]
    ends = _block_ends(indents)
    open_ends: list[int] = []
    for index, line in enumerate(lines):
        if indents[index] < 0:
            continue
        while open_ends and open_ends[-1] <= index:
            open_ends.pop()
        if not open_ends and re.match(r"\s*(?:import|from|use|using|#\s*include|package|require)\b", line):
            imports.append(index)
        end = ends[index]
        if end <= index + 1 or _REMARK.match(line):
            continue
        firm = bool(line_patterns.CODE_FIRM.match(line[:240]))
        if not firm and (indents[index] > 0 or len(open_ends) > 1):
            continue
        if end < len(lines) and lines[end].strip()[:1] in ("}", ")", "]") and indents[end] == indents[index]:
            end += 1
        definitions.append(Definition(index, index + 1, end, len(open_ends), _named(line), index))
        open_ends.append(end)
    return Outline(_with_what_they_say_first(definitions, lines), imports)


def _with_what_they_say_first(found: list[Definition], lines: Sequence[str]) -> list[Definition]:
    """Add the first value to block names if the blocks share its key. Example: "lodash@^4:" -> "lodash@^4 4.17.21" """
    first = {one: match for one in found if one.depth == 0 and (match := _SAID_FIRST.match(lines[one.first + 1][:300]))}
    keys = Counter(match[1] for match in first.values())
    key, times = keys.most_common(1)[0] if keys else ("", 0)
    if times < max(5, 0.8 * sum(one.depth == 0 for one in found)):
        return found
    named = {
        one: f"{lines[one.first].strip(' :')[:_LONGEST_NAME]} {match[2]}"
        for one, match in first.items()
        if match[1] == key
    }
    return [one._replace(name=named[one], body=one.first + 2) if one in named else one for one in found]


_CALLED = re.compile(r"([A-Za-z_$][\w$.:]*[?!]?)\s*(?:<[^<>()]*>)?\(")
_OPENING = re.compile(r"[A-Za-z_$][\w$.]*(?=\s*(?:[:={(<]|$|\bextends\b|\bimplements\b|\bfor\b))")


def _named(line: str) -> str:
    """The name in a line that opens a block. Example: "procedure doA(x)" -> "doA"; "class Store:" -> "Store" """
    found = _CALLED.search(line[:240]) or _OPENING.search(line[:240])
    return (found[1] if found.re is _CALLED else found[0])[:_LONGEST_NAME] if found else line.strip()[:_LONGEST_NAME]


def _block_ends(indents: Sequence[int]) -> list[int]:
    """For each line, the end of the deeper-indented block below it."""
    ends = [0] * len(indents)
    stack: list[int] = []
    last = 0  # the line after the last one that is not blank
    for index, indent in enumerate(indents):
        if indent < 0:
            continue
        while stack and indents[stack[-1]] >= indent:
            ends[stack.pop()] = last
        stack.append(index)
        last = index + 1
    for index in stack:
        ends[index] = last
    return ends
