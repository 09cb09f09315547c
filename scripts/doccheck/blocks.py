"""Code in pages: examples are files that run, outputs are what they print, commands and settings are real.

<!-- example: count.py -->          the Python block below is docs/examples/count.py
<!-- output: count.py -->           the block below is what it prints
<!-- output: $ brim models o3 -->   the block below is what this command prints
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path

from brim import settings
from brim.cli import COMMANDS, parsed
from brim.errors import BrimError

BLOCK = re.compile(r"^<!-- (example|output): (.+?) -->\n(```[a-z]*\n)(.*?)^```[ \t]*$", re.M | re.S)
# What an example prints must not depend on how busy the machine is: planning has all the time it wants. Python runs a
# module of this name when it starts.
PATIENT = ("sitecustomize.py", "import brim.fallback\n\nbrim.fallback.FIT_TIMEOUT = 3_600.0\n")
MARK = re.compile(r"^<!-- (?:example|output): .+? -->$", re.M)
FENCE = re.compile(r"^(?:```)(\w*)[ \t]*\n(.*?)^```[ \t]*$", re.M | re.S)
SHOWN = re.compile(r"<!-- example: .+? -->\n\Z")
CALL = re.compile(r"(?:^|[|;&(] *)brim +(?=[a-z])")
MAIN = "import sys; from brim.cli import main; sys.exit(main())"
# Placeholders for people, which no parser takes for a number.
NUMBER = re.compile(r"^N$|^TOKENS$|^SECONDS$")


@cache
def printed(root: Path, what: str) -> str:
    """What an example or a command prints, in a folder of its own with the sample in it."""
    if what.startswith("$ "):
        command = [sys.executable, "-c", MAIN, *shlex.split(what[2:])[1:]]
    else:
        command = [sys.executable, str(root / "docs/examples" / what)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("BRIM_")}
    environment |= {"COLUMNS": "100", "NO_COLOR": "1", "PYTHONPATH": str(root / "src")}
    with tempfile.TemporaryDirectory() as folder:
        sample = (root / "src/brim/testing/data/sample.json").read_bytes()
        (Path(folder) / "sample.json").write_bytes(sample)
        environment["XDG_CONFIG_HOME"] = folder
        patient = Path(folder) / "patient"  # not among the files that an example sees in its folder
        patient.mkdir()
        (patient / PATIENT[0]).write_text(PATIENT[1])
        environment["PYTHONPATH"] += os.pathsep + str(patient)
        done = subprocess.run(command, capture_output=True, text=True, cwd=folder, env=environment, check=False)
    if done.returncode:
        raise RuntimeError((done.stderr.strip().splitlines() or ["it failed and said nothing"])[-1])
    return "\n".join(line.rstrip() for line in done.stdout.rstrip().splitlines()) + "\n"


def expected(root: Path, kind: str, what: str) -> str:
    return (root / "docs/examples" / what).read_text(encoding="utf-8") if kind == "example" else printed(root, what)


def refreshed(root: Path, text: str, failed: Callable[[str], None]) -> str:
    """A page's text with its marked blocks as they should be; what cannot be made is told and left."""

    def block(found: re.Match[str]) -> str:
        kind, what, opening, now = found.groups()
        try:
            wanted = expected(root, kind, what)
        except FileNotFoundError:
            failed(f"there is no docs/examples/{what}")
            return found[0]
        except RuntimeError as problem:
            failed(f"{what}: {problem}")
            return found[0]
        return found[0] if wanted == now else f"<!-- {kind}: {what} -->\n{opening}{wanted}```"

    if len(BLOCK.findall(text)) != len(MARK.findall(text)):
        failed("an example or output mark has no block below it")
    return BLOCK.sub(block, text)


def failing_examples(root: Path, shown: set[str]) -> Iterator[str]:
    """Every example runs, and is on some page."""
    for path in sorted(root.glob("docs/examples/*.py")):
        try:
            printed(root, path.name)
        except RuntimeError as problem:
            yield f"docs/examples/{path.name}: {problem}"
        if path.name not in shown:
            yield f"docs/examples/{path.name}: no page shows it"


def wrong_code(page: str, text: str) -> Iterator[str]:
    """Python that does not parse or that nobody runs, settings that do not load, commands that do not exist."""
    for found in FENCE.finditer(text):
        language, code = found.groups()
        if language == "python" and page.startswith("docs/") and not SHOWN.search(text[: found.start()]):
            yield f"{page}: Python that no test runs: make it a file in docs/examples ({code.strip()[:50]!r}…)"
        elif language == "python":
            try:
                ast.parse(code)
            except SyntaxError as problem:
                yield f"{page}: Python that does not parse: {problem.msg} ({(problem.text or '').strip()})"
        elif language == "toml":
            yield from (f"{page}: {problem}" for problem in _bad_settings(code))
        elif language == "json":
            try:
                json.loads(code)
            except ValueError as problem:
                yield f"{page}: JSON that does not parse: {problem}"
        elif not language and CALL.search(code):
            yield f"{page}: a block with a command of brim says no language: make it sh or console"
        elif language in ("console", "sh", "bash"):
            yield from (f"{page}: {problem}" for problem in _bad_commands(code))


def _bad_settings(code: str) -> Iterator[str]:
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / settings.FILE
        file.write_text(code, encoding="utf-8")
        try:
            settings.load(file, env={})
        except BrimError as problem:
            yield f"settings that do not load: {problem}"


def _bad_commands(code: str) -> Iterator[str]:
    prompts = "$ " in code
    for line in re.sub(r"\\\n\s*", " ", code).splitlines():
        if prompts and not line.startswith("$ "):
            continue  # output
        line = line.removeprefix("$ ")
        for found in CALL.finditer(line):
            rest = re.split(r" [|<>&;#]|  +", line[found.end() :])[0]
            problem = command_problem(shlex.split(rest))
            if problem:
                yield f"`brim {rest}`: {problem}"


def command_problem(words: list[str]) -> str:
    """What is wrong with a command line of brim; empty if it would be taken."""
    if words[0] not in COMMANDS:
        return f"there is no command {words[0]}"
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try:
            parsed([NUMBER.sub("1", word) for word in words])
        except SystemExit as end:
            return said.getvalue().strip().splitlines()[-1] if end.code else ""
    return ""
