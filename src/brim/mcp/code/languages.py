"""Definitions in source files, found with tree-sitter."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from brim.content.code import grammars
from brim.errors import MissingExtra

if TYPE_CHECKING:
    from tree_sitter import Node, Parser

_EXTENSIONS = {
    **dict.fromkeys(("py", "pyi"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    "go": "go",
    "rs": "rust",
    "java": "java",
    **dict.fromkeys(("c", "h"), "c"),
    **dict.fromkeys(("cc", "cpp", "cxx", "hpp", "hh"), "cpp"),
    "rb": "ruby",
    "php": "php",
    "cs": "csharp",
    **dict.fromkeys(("kt", "kts"), "kotlin"),
    "swift": "swift",
    "scala": "scala",
    "lua": "lua",
    **dict.fromkeys(("sh", "bash"), "bash"),
}
_KINDS = {
    **dict.fromkeys(("function_definition", "function_declaration", "function_item"), "function"),
    **dict.fromkeys(("method_definition", "method_declaration", "singleton_method", "method"), "method"),
    "constructor_declaration": "method",
    **dict.fromkeys(("class_definition", "class_declaration", "class_specifier", "class"), "class"),
    **dict.fromkeys(("object_definition", "object_declaration"), "class"),
    **dict.fromkeys(("struct_item", "struct_specifier", "struct_declaration"), "struct"),
    **dict.fromkeys(("enum_item", "enum_declaration", "enum_specifier"), "enum"),
    **dict.fromkeys(("interface_declaration", "trait_item", "trait_definition", "protocol_declaration"), "interface"),
    **dict.fromkeys(("type_alias_declaration", "type_spec", "type_item", "type_definition"), "type"),
    **dict.fromkeys(("namespace_definition", "namespace_declaration", "mod_item", "module"), "module"),
    **dict.fromkeys(("preproc_def", "preproc_function_def", "macro_definition"), "macro"),
}
_VALUES = frozenset(("arrow_function", "function_expression", "function", "generator_function"))
_NAMES = frozenset(("identifier", "type_identifier", "simple_identifier", "field_identifier", "property_identifier"))
_OWNERS = frozenset(("class", "struct", "interface", "enum"))
_BODIES = ("body", "value")
_NOT_CODE = ("comment", "string", "template", "heredoc", "char_literal", "regex")
# Nodes that give a module-level value its name, and their parents.
_VALUE_NODES = frozenset(("assignment", "variable_declarator", "const_spec", "var_spec", "const_item", "static_item"))
_AROUND_VALUES = frozenset(
    (
        *("expression_statement", "export_statement", "lexical_declaration", "variable_declaration"),
        *("const_declaration", "var_declaration", "var_spec_list"),
    )
)
_LONGEST_PREVIEW = 160


@dataclass(frozen=True, slots=True)
class Symbol:
    """A definition. Lines count from 1; `signature` is the text before its body."""

    kind: str
    name: str
    qualified: str
    start_line: int
    start_col: int
    end_line: int
    end_col: int
    signature: str
    digest: str

    @property
    def preview(self) -> str:
        text = self.signature
        return text if len(text) <= _LONGEST_PREVIEW else text[: _LONGEST_PREVIEW - 1] + "…"


def language_of(path: str) -> str:
    """The grammar for a file, "" when there is none. Example: "src/app.py" -> "python" """
    language = _EXTENSIONS.get(path.rpartition(".")[2].lower(), "") if "." in path else ""
    return "" if grammars.lacking(language) else language


def _parser(language: str) -> Parser:
    found = grammars.parser(language)
    if found is None:
        raise MissingExtra("reading code", "code")
    return found


def definitions(source: bytes, language: str) -> list[Symbol]:
    """The definitions of a source file, in its order.

    Example: b"class A:\\n  def f(self): pass\\n", "python" -> [class A, method A.f]
    """
    tree = _parser(language).parse(source)
    found: list[Symbol] = []
    stack: list[tuple[Node, str, str]] = [(tree.root_node, "", "")]
    while stack:
        node, owner, owner_kind = stack.pop()
        kind = _kind(node)
        name = _name(node) if kind else ""
        if kind and name:
            if kind == "function" and owner_kind in _OWNERS:
                kind = "method"
            qualified = f"{owner}.{name}" if owner else name
            found.append(_symbol(node, kind, name, qualified, source))
            owner, owner_kind = qualified, kind
        elif node.type == "impl_item" and (target := node.child_by_field_name("type")) is not None:
            owner, owner_kind = _text(target), "struct"
        stack += [(child, owner, owner_kind) for child in reversed(node.named_children)]
    return found


def constants(source: bytes, language: str) -> list[Symbol]:
    """The module-level constants of a file, in order. Example: b"RATE = 3\\n", "python" -> [constant RATE]"""
    found: list[Symbol] = []
    stack: list[Node] = list(reversed(_parser(language).parse(source).root_node.named_children))
    while stack:
        node = stack.pop()
        if node.type in _AROUND_VALUES:
            stack += reversed(node.named_children)
        elif node.type in _VALUE_NODES and not _kind(node):
            name = node.child_by_field_name("name") or node.child_by_field_name("left")
            if name is not None and not name.named_children:
                symbol = _symbol(node, "constant", _text(name), _text(name), source)
                found.append(replace(symbol, signature=_text(name)))
    return found


def _kind(node: Node) -> str:
    if node.type == "variable_declarator":
        value = node.child_by_field_name("value")
        return "function" if value is not None and value.type in _VALUES else ""
    kind = _KINDS.get(node.type, "")
    # `struct s *p` names a type without defining it.
    if node.type.endswith("_specifier") and node.child_by_field_name("body") is None:
        return ""
    return kind


def _name(node: Node) -> str:
    name = node.child_by_field_name("name")
    if name is None:
        name = node.child_by_field_name("declarator")
        while name is not None and (inner := name.child_by_field_name("declarator")) is not None:
            name = inner
    if name is None:
        name = next((child for child in node.named_children if child.type in _NAMES), None)
    return _text(name).rpartition("::")[2] if name is not None else ""


def _text(node: Node) -> str:
    return (node.text or b"").decode("utf-8", "replace")


def _symbol(node: Node, kind: str, name: str, qualified: str, source: bytes) -> Symbol:
    body = next((found for field in _BODIES if (found := node.child_by_field_name(field)) is not None), None)
    end = body.start_byte if body is not None and body.start_byte > node.start_byte else node.end_byte
    signature = source[node.start_byte : end].decode("utf-8", "replace").rstrip(" \n\t{:=")
    digest = hashlib.sha256(b" ".join(source[node.start_byte : node.end_byte].split())).hexdigest()[:16]
    (start_line, start_col), (end_line, end_col) = node.start_point, node.end_point
    return Symbol(
        kind, name, qualified, start_line + 1, start_col, end_line + 1, end_col, " ".join(signature.split()), digest
    )


def mentions(source: bytes, language: str, spots: Iterator[int]) -> list[int]:
    """The byte offsets that are in code rather than in a comment or string."""
    tree = _parser(language).parse(source)
    found = []
    for spot in spots:
        node: Node | None = tree.root_node.descendant_for_byte_range(spot, spot + 1)
        while node is not None and not any(word in node.type for word in _NOT_CODE):
            # An f-string's `{name}` is code again.
            node = None if node.type in ("interpolation", "template_substitution") else node.parent
        if node is None:
            found.append(spot)
    return found
