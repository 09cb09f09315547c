"""Runs one regular expression or jq program in a separate process with limited time, memory, output and permissions.

It is run by path, as `python -I child.py WAY MOST_BYTES SECONDS MEGABYTES`, with an empty environment, so a program
written by a model can read neither keys from the environment nor files. The first line of its input is the program as
JSON, the rest is the text. It prints the answer to standard output and errors to standard error.
"""

from __future__ import annotations

import contextlib
import json
import os
import re
import sys
from collections import Counter
from collections.abc import Iterator

try:
    import jq
except ImportError:  # the extra `query` is not installed
    jq = None

try:
    import resource
except ImportError:  # on Windows, the caller's timeout is the only limit
    resource = None  # type: ignore[assignment]

# Messages on standard error if there is no answer; any other text is an error in the program.
NO_JQ, NO_JSON = "no jq", "no json"
FAILED = 3
LONG, AROUND = 400, 120  # longest line to show whole, and characters around a match in a longer one


def bound(seconds: int, megabytes: int) -> None:
    """Apply the limits: no file can be opened, nothing written except to open files, and no process started."""
    if resource is None:
        return
    resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
    with contextlib.suppress(ValueError, OSError):  # macOS doesn't enforce this limit, but the timeout applies
        resource.setrlimit(resource.RLIMIT_AS, (megabytes << 20, megabytes << 20))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))


def matching(pattern: str, text: str) -> Iterator[str]:
    """The lines that match, with their numbers; a multi-line pattern is searched in the whole text."""
    found = re.compile(pattern)
    if "\\n" in pattern or found.flags & re.DOTALL:
        for match in found.finditer(text):
            yield f"{text.count(chr(10), 0, match.start()) + 1}: {match.group()}"
        return
    for number, line in enumerate(text.split("\n"), 1):
        if len(line) <= LONG:
            if found.search(line):
                yield f"{number}: {line}"
            continue
        at = -1
        for match in found.finditer(line):  # show only the surroundings of matches in a long line
            if match.start() >= at:
                at = match.end() + AROUND
                yield f"{number}:{match.start() + 1}: {line[max(0, match.start() - AROUND) : at]}"


def counted(pattern: str, text: str) -> Iterator[str]:
    """How often each match, or its first group, occurs; the most frequent first."""
    found = re.compile(pattern)
    times = Counter(match.group(1) if found.groups else match.group() for match in found.finditer(text))
    for said, number in sorted(times.items(), key=lambda item: (-item[1], str(item[0]))):
        yield f"{number}\t{said}"


def results(program: str, text: str) -> Iterator[str]:
    """The results of a jq program, one per line; JSON Lines are treated as a list."""
    for value in jq.compile(program).input_text(text, slurp=several(text)):
        yield value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def several(text: str) -> bool:
    """Whether a text has one JSON value per line."""
    first, _, rest = text.lstrip().partition("\n")
    if not rest.strip() or first[:1] not in "{[":
        return False
    try:
        json.loads(first)
    except ValueError:
        return False
    return True


def main() -> int:
    way, most, seconds, megabytes = sys.argv[1], *map(int, sys.argv[2:5])
    head, _, body = sys.stdin.buffer.read().partition(b"\n")
    program, text = json.loads(head), body.decode("utf-8", "replace")
    if way == "jq" and jq is None:
        return failed(NO_JQ)
    bound(seconds, megabytes)
    try:
        answers = {"jq": results, "regex": matching, "count matches": counted}[way](program, text)
        left = most
        for answer in answers:
            line = answer.encode("utf-8", "replace") + b"\n"
            os.write(1, line[:left])
            left -= len(line)
            if left <= 0:
                break
    except (ValueError, re.error, RecursionError, MemoryError) as problem:
        if str(problem).startswith("parse error"):  # in the text; the compiler reports errors in the program
            return failed(NO_JSON)
        return failed(str(problem)[:400] or type(problem).__name__)
    return 0


def failed(why: str) -> int:
    sys.stderr.write(why)
    return FAILED


if __name__ == "__main__":
    sys.exit(main())
