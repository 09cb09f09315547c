"""Detects the kind of a content, by its text first, with the tool, path and MIME type as hints.

The kinds are those of `brim.content.KINDS`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from brim.content.detect.by_content import Told, told


@dataclass(frozen=True, slots=True)
class Hint:
    """Information about a content from its context. Example: Hint(tool="read_file", path="src/app.py")"""

    tool: str = ""
    mime: str = ""
    path: str = ""


# Confidence in a kind that a hint decided.
_HINTED = 0.95
_BY_EXTENSION = {
    **dict.fromkeys(("json", "geojson", "ipynb", "har", "webmanifest", "jsonc"), "json"),
    **dict.fromkeys(("jsonl", "ndjson"), "jsonl"),
    **dict.fromkeys(("csv", "tsv", "tab"), "csv"),
    **dict.fromkeys(("log", "out", "err"), "log"),
    **dict.fromkeys(("htm", "html", "xhtml"), "html"),
    **dict.fromkeys(("diff", "patch"), "diff"),
    **dict.fromkeys(("md", "markdown", "mdx", "rst", "adoc"), "markdown"),
    **dict.fromkeys(("xml", "svg", "rss", "atom", "xsd", "xsl", "plist", "csproj", "pom"), "xml"),
    **dict.fromkeys(("png", "jpg", "jpeg", "gif", "webp", "pdf", "zip", "gz", "wasm", "so", "exe", "ico"), "binary"),
    **dict.fromkeys(
        (
            "py pyi js mjs cjs jsx ts mts cts tsx java kt kts scala go rs c h cc cpp cxx hpp hh cs rb php swift m mm "
            "lua pl pm r jl dart ex exs erl hs ml mli clj cljs fs vb sh bash zsh fish ps1 sql proto graphql gql tf hcl "
            "vue svelte css scss sass less yaml yml toml ini cfg conf gradle groovy zig nim sol v sv vhd asm s cmake mk"
        ).split(" "),
        "code",
    ),
}
_BY_MIME = {
    "application/json": "json",
    "application/x-ndjson": "jsonl",
    "application/jsonl": "jsonl",
    "text/csv": "csv",
    "text/tab-separated-values": "csv",
    "text/html": "html",
    "application/xhtml+xml": "html",
    "text/markdown": "markdown",
    "text/x-diff": "diff",
    "text/x-patch": "diff",
    "text/xml": "xml",
    "application/xml": "xml",
    "image/svg+xml": "xml",
    "text/css": "code",
    "text/javascript": "code",
    "application/javascript": "code",
    "application/yaml": "code",
    "application/toml": "code",
    "application/sql": "code",
}
_BY_TOOL = (
    ("snapshot", re.compile(r"snapshot|accessibility|a11y", re.I)),
    ("diff", re.compile(r"diff|patch", re.I)),
    ("test", re.compile(r"(?:^|[_.-])(?:run_)?(?:tests?|pytest|jest|build|lint|compile)(?:$|[_.-])", re.I)),
    ("log", re.compile(r"(?:^|[_.-])(?:logs?|tail|journal\w*)(?:$|[_.-])", re.I)),
    (
        "tree",
        re.compile(
            r"list_?(?:dir|files|folder|allowed)|director|(?:^|[_.-])(?:ls|tree|glob|find_files)(?:$|[_.-])", re.I
        ),
    ),
)
# The kinds that each hinted kind may be mistaken for. If detection finds one of these, the hint decides; otherwise, the
# content does.
_YIELDS = {
    "json": ("json",),
    "jsonl": ("json", "jsonl"),
    "csv": ("csv", "table", "text", "prose", "tree", "code", "log"),
    "log": ("log", "table", "build", "text", "prose", "csv", "markdown", "code"),
    "html": ("html", "xml", "text", "prose", "markdown"),
    "diff": ("diff",),
    "markdown": ("markdown", "manual", "table", "build", "prose", "text", "code", "csv", "tree", "html"),
    "xml": ("xml", "html"),
    "binary": ("binary",),
    "snapshot": ("snapshot", "text", "markdown", "code"),
    "test": ("test", "build", "log", "text", "prose", "trace"),
    "tree": ("tree", "text", "csv", "table"),
    "code": (
        "code",
        "text",
        "prose",
        "markdown",
        "csv",
        "tree",
        "test",
        "log",
        "trace",
        "xml",
        "html",
        "snapshot",
        "build",
        "matches",
        "table",
        "manual",
        "history",
    ),
}


def detect(text: str, hint: Hint | None = None) -> str:
    """The kind name of a text.

    A hint decides between plausible kinds; it never turns text that isn't JSON into JSON.

    Example: detect("diff --git a/x b/x\\n…") -> "diff"; detect("x = 1", Hint(path="a.py")) -> "code"
    """
    return told_with(text, hint).kind


def told_with(text: str, hint: Hint | None = None) -> Told:
    """The kind of a text, and the confidence in it, which is higher if a hint decides."""
    found = told(text)
    named = _hinted(hint) if hint is not None else ""
    if not named or found.kind not in _YIELDS.get(named, ()) or not text.strip():
        return found
    return Told(named, max(found.confidence, _HINTED))


def _hinted(hint: Hint) -> str:
    name = hint.path.replace("\\", "/").rsplit("/", 1)[-1].lower()
    if "." in name:
        extension = name.rsplit(".", 1)[1]
        if extension in _BY_EXTENSION:
            return _BY_EXTENSION[extension]
    elif name in ("makefile", "dockerfile", "rakefile", "gemfile", "jenkinsfile"):
        return "code"
    mime = hint.mime.split(";", 1)[0].strip().lower()
    if mime in _BY_MIME:
        return _BY_MIME[mime]
    if mime.endswith("+json"):
        return "json"
    if mime.endswith("+xml"):
        return "xml"
    if mime.startswith(("image/", "audio/", "video/", "application/octet-stream", "application/pdf")):
        return "binary"
    if mime.startswith("text/x-"):
        return "code"
    return next((kind for kind, names in _BY_TOOL if names.search(hint.tool)), "") if hint.tool else ""
