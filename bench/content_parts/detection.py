"""How often `brim.compact(text).kind` is right without any hint: logs, test output, and what commands print.

What scripts/capture-commands wrote is split by file; what `--unseen` wrote by format, so that no rule was written with
any file of an even format in sight. The mean over formats counts a format with many files once.
"""

# ruff: noqa: E501

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

from content_parts import left_out
from content_parts.halves import Row

import brim

# The kinds whose compactor serves a format well. Where two are named, both read it as what it is.
WANTED: dict[str, str] = {
    "git-log": "history", "git-log-stat": "history", "git-log-oneline": "history", "git-log-patch": "history diff",
    "git-status": "text", "git-status-short": "tree table text", "git-diff": "diff", "git-diff-stat": "table tree",
    "git-show": "diff history", "git-blame": "blame", "git-branch": "table tree text",
    "ls-long": "tree table", "ls-recursive": "tree", "ls-long-recursive": "tree", "ls": "tree", "find": "tree",
    "find-ls": "tree table", "tree": "tree", "du": "tree table csv", "ps": "table", "df": "table", "env": "code",
    "grep": "matches tree", "grep-context": "matches", "rg": "matches", "pip-list": "table", "pip-freeze": "code tree text",
    "pip-install": "build log", "pip-show": "code text tree records", "npm-ls": "tree", "npm-install": "build log",
    "npm-view": "text code table", "cargo-build": "build", "cargo-test": "test", "make": "build", "gcc": "build",
    "javac": "build", "maven": "build log", "tsc": "build", "eslint": "build", "webpack": "build", "mypy": "build", "pyright": "build",
    "ruff": "build", "pylint": "build", "pytest": "test", "unittest": "test", "jest": "test", "mocha": "test",
    "node-test": "test", "prove": "test", "curl-verbose": "log text html", "sqlite-table": "table markdown",
    "sqlite-list": "csv table code", "sqlite-schema": "code", "explain": "table tree text", "psql-table": "table",
    "psql-expanded": "table code", "dmesg": "log", "var-log": "log", "strace": "log", "strace-count": "table",
    "top": "table", "free-vmstat": "table code", "lscpu": "table code text", "lsof": "table", "ss": "table",
    "mount": "table log", "dpkg": "table tree code text", "apt-cache": "code text prose table", "man": "manual",
    "help": "manual", "readelf": "table text code", "hexdump": "binary", "openssl": "text binary table code",
    "wc": "table tree", "valgrind": "log", "gdb": "trace table text", "python-trace": "trace", "terraform": "code diff manual text",
    "kubectl": "manual code", "docker": "manual code text", "systemctl": "manual table", "yaml": "code", "toml": "code",
    "ini": "code", "dotenv": "code", "sql": "code", "graphql": "code", "protobuf": "code", "dockerfile": "code",
    "notebook": "json", "lock-json": "json", "lock-toml": "code", "requirements": "code tree text", "svg": "xml html",
    "c-source": "code", "python-source": "code", "shell-source": "code", "markdown": "markdown records", "csv": "csv table",
    "xml": "xml html", "json": "json",
}  # fmt: skip
# Formats of the unseen set whose name does not say all kinds that serve them.
ALSO: dict[str, str] = {
    "pip-verbose.log": "log build", "apt-history.log": "log build code records", "apt-debug.log": "log build table",
    "mvn-debug.log": "log build", "curl-trace.log": "log binary", "node-debug.log": "log code", "nose.test": "test",
    "layout-candump.log": "log table", "layout-gauge.log": "log table", "layout-tabs.log": "log csv table",
    "layout-semicolon.log": "log csv", "layout-caret.log": "log csv", "layout-cef.log": "log csv", "layout-iis.log": "log table",
    "layout-sequence.log": "log csv", "apt-sim.log": "log build", "dpkg-debug.log": "log build",
}  # fmt: skip
LOG_SLICES = ((0, 2_000), (100, 50), (500, 10), (700, 500))
Text = tuple[str, str, str]


def rows(
    data: Path | None, captured: Path | None, unseen: Path | None, fresh: Path | None = None, told: bool = False
) -> list[Row]:
    """Shares of texts that are told right, on halves by system, by file, and by format."""
    found = []
    if data is not None:
        found.append(_row("detection of published logs", list(_logs(data)), ">= .97", told))
        found.append(_row("detection of published test output", list(_runs(data)), ">= .97", told))
    for name, folder in (("unseen", unseen), ("fresh", fresh)):
        texts = list(_named(folder)) if folder is not None else []
        for end, bar in (("log", ">= .97"), ("test", ">= .97"), ("build", ">= .95")):
            kind = [text for text in texts if text[0].endswith("." + end)]
            if kind:
                found.append(_row(f"detection of {name} {end} formats", kind, bar, told))
    if captured is not None:
        printed = list(_printed(captured))
        found.append(_row("detection of command outputs", printed, ">= .95", told))
        others = [text for folder in (unseen, fresh) if folder is not None for text in _named(folder)]
        found.append(left_out.row([*printed, *others], ">= .9"))
    return found


def _logs(data: Path) -> Iterator[Text]:
    for line in (data / "loghub_2k.jsonl").read_text().splitlines():
        system = json.loads(line)
        for start, size in LOG_SLICES:
            yield system["id"], "log", "\n".join(system["lines"][start : start + size])


def _runs(data: Path) -> Iterator[Text]:
    for line in (data / "test_output_logs.jsonl").read_text().splitlines():
        run = json.loads(line)
        yield run["id"], "test", run["text"]


def _printed(captured: Path) -> Iterator[Text]:
    for path in sorted(captured.glob("*/*.txt")):
        yield path.parent.name, WANTED[path.parent.name], path.read_text(errors="replace")


def _named(folder: Path) -> Iterator[Text]:
    for path in sorted(folder.glob("*/*.txt")):
        form = path.parent.name
        yield form, ALSO.get(form, form.rsplit(".", 1)[-1]), path.read_text(errors="replace")


def _row(metric: str, texts: list[Text], bar: str, told: bool) -> Row:
    """Odd and even files of each format; of many formats with few files, odd and even formats."""
    formats = list(dict.fromkeys(form for form, _, _ in texts))
    by_format: dict[str, list[bool]] = {}
    right: dict[bool, list[bool]] = {True: [], False: []}
    by_file = len(texts) >= 3 * len(formats) and not any("." in form for form in formats)
    for form, wanted, text in texts:
        seen = by_format.setdefault(form, [])
        odd = bool((len(seen) if by_file else formats.index(form)) % 2)
        kind = brim.compact(text).kind
        seen.append(kind in wanted.split())
        right[odd].append(seen[-1])
        if told and odd and not seen[-1]:
            print(f"    {form} #{len(seen) - 1}: {kind}, not {wanted}")
    over_formats = mean(mean(found) for found in by_format.values())
    shown = f"{metric}, {len(texts)} of {len(formats)} formats (mean over formats {over_formats:.3f})"
    return Row(shown, f"{mean(right[True]):.3f}", f"{mean(right[False]):.3f}", "–", bar)
