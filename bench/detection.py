"""How often `brim.compact(text).kind` is right without any hint: logs, test output, and what commands print.

    python bench/detection.py --data FOLDER --captured FOLDER

`--captured` is what scripts/capture-commands wrote. A rule may be tuned on the odd files and systems; the even ones
are only reported. Leave-one-format-out is the mean over formats, so that a format with many files counts once.
"""

# ruff: noqa: E501

from __future__ import annotations

import argparse
import json
from collections.abc import Iterator
from pathlib import Path
from statistics import mean

import brim

# The kinds whose compactor serves a format well. Where two are named, both read it as what it is.
WANTED: dict[str, str] = {
    "git-log": "history", "git-log-stat": "history", "git-log-oneline": "history", "git-log-patch": "history diff",
    "git-status": "text", "git-status-short": "tree table text", "git-diff": "diff", "git-diff-stat": "table tree",
    "git-show": "diff history", "git-blame": "code matches table", "git-branch": "table tree text",
    "ls-long": "tree table", "ls-recursive": "tree", "ls-long-recursive": "tree", "ls": "tree", "find": "tree",
    "find-ls": "tree table", "tree": "tree", "du": "tree table csv", "ps": "table", "df": "table", "env": "code",
    "grep": "matches tree", "grep-context": "matches", "rg": "matches", "pip-list": "table", "pip-freeze": "code tree text",
    "pip-install": "build log", "pip-show": "code text tree", "npm-ls": "tree", "npm-install": "build log",
    "npm-view": "text code table", "cargo-build": "build", "cargo-test": "test", "make": "build", "gcc": "build",
    "javac": "build", "maven": "build", "tsc": "build", "eslint": "build", "webpack": "build", "mypy": "build",
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
    "c-source": "code", "python-source": "code", "shell-source": "code", "markdown": "markdown", "csv": "csv table",
    "xml": "xml html", "json": "json",
}  # fmt: skip
LOG_SLICES = ((0, 2_000), (100, 50), (500, 10), (700, 500))


def logs(data: Path) -> Iterator[tuple[str, str, str]]:
    for line in (data / "loghub_2k.jsonl").read_text().splitlines():
        system = json.loads(line)
        for start, size in LOG_SLICES:
            yield system["id"], "log", "\n".join(system["lines"][start : start + size])


def runs(data: Path) -> Iterator[tuple[str, str, str]]:
    for line in (data / "test_output_logs.jsonl").read_text().splitlines():
        run = json.loads(line)
        yield run["id"].split("_")[0], "test", run["text"]


def printed(captured: Path) -> Iterator[tuple[str, str, str]]:
    for path in sorted(captured.glob("*/*.txt")):
        yield path.parent.name, WANTED[path.parent.name], path.read_text(errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--data", type=Path)
    parser.add_argument("--captured", type=Path)
    parser.add_argument("--wrong", action="store_true", help="name the odd files that are told wrong")
    args = parser.parse_args()
    if args.data:
        report("logs", list(logs(args.data)), ">= .97", args.wrong)
        report("test output", list(runs(args.data)), ">= .97", args.wrong)
    if args.captured:
        report("command outputs", list(printed(args.captured)), ">= .95", args.wrong)


def report(name: str, texts: list[tuple[str, str, str]], bar: str, wrong: bool) -> None:
    told: dict[bool, list[bool]] = {True: [], False: []}
    by_format: dict[str, list[bool]] = {}
    for number, (form, wanted, text) in enumerate(texts):
        kind = brim.compact(text).kind
        right = kind in wanted.split()
        odd = bool(number % 2)
        told[odd].append(right)
        by_format.setdefault(form, []).append(right)
        if wrong and odd and not right:
            print(f"  {form} #{number}: {kind}, not {wanted}")
    formats = mean(mean(found) for found in by_format.values())
    print(f"{name}, {len(texts)} texts of {len(by_format)} formats, bar {bar}:")
    print(f"  odd {mean(told[True]):.3f}  even {mean(told[False]):.3f}  mean over formats {formats:.3f}")


if __name__ == "__main__":
    main()
