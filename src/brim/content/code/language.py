"""Detects the programming language of a text, by the file name if there is one, else by its lines."""

from __future__ import annotations

import re

_BY_EXTENSION = {
    "py": "python", "pyi": "python", "js": "javascript", "mjs": "javascript", "cjs": "javascript", "jsx": "javascript",
    "ts": "typescript", "mts": "typescript", "cts": "typescript", "tsx": "tsx", "go": "go", "rs": "rust",
    "java": "java", "c": "c", "h": "cpp", "cc": "cpp", "cpp": "cpp", "cxx": "cpp", "hpp": "cpp", "hh": "cpp",
    "cs": "csharp", "rb": "ruby", "php": "php", "kt": "kotlin", "kts": "kotlin", "swift": "swift", "scala": "scala",
    "sh": "bash", "bash": "bash", "zsh": "bash", "lua": "lua", "ex": "elixir", "exs": "elixir", "dart": "dart",
    "hs": "haskell", "ml": "ocaml", "r": "r", "jl": "julia", "zig": "zig", "sol": "solidity", "pl": "perl",
}  # fmt: skip

# Lines that are nearly unique to a language, and their weights.
_SIGNS: tuple[tuple[str, int, re.Pattern[str]], ...] = tuple(
    (language, worth, re.compile(pattern))
    for language, worth, pattern in (
        ("python", 3, r"\s*(?:async )?def \w+\(.*|\s*from [\w.]+ import |\s*(?:elif|except|with) .*:\s*$"),
        ("python", 1, r"\s*class \w+(?:\(.*\))?:\s*$|\s*(?:if|for|while|else|try)\b[^{;]*:\s*$|import \w+"
            r"|\s*self\.|\s*@\w+"),
        ("rust", 3, r"\s*(?:pub(?:\(\w+\))? )?(?:fn|impl|mod|trait)\b.*|\s*use (?:crate|super|std|\w+::)"
            r"|\s*#\[|\s*let mut "),
        ("go", 3, r"func (?:\(\w* ?\*?\w+\) )?\w+\(|package \w+\s*$|\s*\w+(?:, \w+)* := |type \w+ (?:struct"
            r"|interface) \{"),
        ("java", 3, r"\s*(?:public|private|protected) (?:static |final |abstract |class |interface "
            r"|\w+(?:<.*>)? \w+\()|import java"),
        ("java", 3, r"\s*@Override|package [\w.]+;|import (?:static )?[\w.]+;"),
        ("csharp", 4, r"using [\w.]+;|\s*namespace [\w.]+;?\s*$|\s*(?:public|private|internal) .*(?:\{ get;"
            r"|=>|async Task)"),
        ("kotlin", 4, r"\s*(?:(?:override|private|suspend|internal|open) )*fun (?:<.*> )?[\w.]+\("
            r"|\s*(?:data|sealed) class "),
        ("swift", 4, r"\s*(?:(?:public|private|override|static|mutating) )*func \w+\(.*(?:->|\{)"
            r"|\s*(?:guard|if) let |import (?:Foundation|UIKit|SwiftUI)"),
        ("typescript", 3, r"\s*(?:export )?(?:interface|type|enum) \w+.*[{=]|.*\): (?:Promise<|void|string"
            r"|number|boolean)|\s*import type "),
        ("typescript", 2, r"\s*(?:private|public|readonly) \w+(?:\?)?: |\s*(?:const|let) \w+: \w+"),
        ("graphql", 5, r"(?:type|input) \w+(?: implements [\w &]+)? ?\{|(?:extend type|scalar|union|fragment) \w"),
        ("javascript", 2, r"\s*(?:export )?(?:default )?(?:async )?function\b|\s*(?:const|let|var) \w+ = "
            r"|.*=> \{?\s*$|.*require\("),
        ("javascript", 2, r"\s*import .* from ['\"]|\s*module\.exports|\s*export (?:default|const|\{)"),
        ("cpp", 3, r"\s*#include <\w+>|\s*(?:template ?<|using namespace|namespace \w+ ?\{)|.*\bstd::"
            r"|\w[\w:<>*& ]*::\w+\(.*"),
        ("c", 3, r"\s*#include [<\"]\w[\w/.-]*\.h[>\"]|\s*(?:static |extern )?(?:struct|typedef|void|int"
            r"|char|size_t) \**\w+.*[;({]"),
        ("ruby", 3, r"\s*(?:def \w+[?!]?(?:\(.*\))?\s*$|end\s*$|require ['\"]|attr_\w+ :"
            r"|module [A-Z]\w*\s*$|.* do \|.*\|\s*$)"),
        ("php", 5, r"<\?php|\s*(?:public |private |protected |static )*function \w+\(.*\$|\s*\$\w+ ?(?:=|->)"),
        ("bash", 4, r"#!.*\b(?:ba|z|da)?sh\b|\s*(?:fi|done|esac)\s*$|\s*if \[\[? |\s*\w+\(\) \{"
            r"|\s*(?:export|local) \w+="),
        ("scala", 4, r"\s*(?:override )?def \w+.*=\s*\{?\s*$|\s*(?:case class|object|trait) \w+|import scala\."),
        ("lua", 4, r"\s*local (?:function )?\w+|.*\bthen\s*$|\s*function [\w.:]+\(.*\)\s*$"),
    )
)  # fmt: skip

_SPELLED = {"javascript": "JavaScript", "typescript": "TypeScript", "tsx": "TypeScript", "cpp": "C++", "csharp": "C#",
    "php": "PHP", "ocaml": "OCaml"}  # fmt: skip


def spelled(language: str) -> str:
    """A language as people write it. Example: "cpp" -> "C++"; "" -> "Source" """
    return _SPELLED.get(language, language.capitalize()) or "Source"


def by_path(path: str) -> str:
    """Example: "src/app.tsx" -> "tsx"; "notes.txt" -> "" """
    name = path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    return _BY_EXTENSION.get(name.rsplit(".", 1)[-1], "") if "." in name else ""


def by_content(lines: list[str]) -> str:
    """The language with the most characteristic lines; "" if there are none."""
    few = lines if len(lines) <= 1_000 else [*lines[:800], *lines[-200:]]
    seen = [line[:200] for line in few if line.strip()]
    sample = seen[:150] + seen[-50:] if len(seen) > 200 else seen
    found: dict[str, int] = {}
    for language, worth, pattern in _SIGNS:
        # A sign on many lines says no more than a sign on a few.
        number = min(6, sum(1 for line in sample if pattern.match(line)))
        if number:
            found[language] = found.get(language, 0) + worth * number
    if not found:
        return ""
    best = max(found, key=lambda language: (found[language], language))
    # TypeScript is a superset of JavaScript with few signs of its own.
    if best == "javascript" and found.get("typescript", 0) > 0.2 * found[best]:
        return "typescript"
    return "cpp" if best == "c" and found.get("cpp", 0) > 0.3 * found["c"] else best
