"""Iterates over the elements of a large JSON array without loading the whole array."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

OUTSIDE = re.compile(rb'["\[\]{},]')
INSIDE = re.compile(rb'["\\]')
OPENING, CLOSING = b"[{", b"]}"


class _Scan:
    """The state of a scan. `data` begins with the current element; `line` is the line of its first byte."""

    def __init__(self) -> None:
        self.data = bytearray()
        self.at = 0
        self.depth = 0
        self.quoted = False
        self.line = 1

    def take(self, end: int) -> tuple[int, bytes]:
        """Return the element up to here with its line; the next one begins after the comma."""
        raw = bytes(self.data[:end])
        first = self.line + raw[: len(raw) - len(raw.lstrip())].count(b"\n")
        self.line += self.data.count(b"\n", 0, end + 1)
        del self.data[: end + 1]
        self.at = 0
        return first, raw.strip()

    def step(self) -> Iterator[tuple[int, bytes]]:
        """Scan the available data; yields the elements that end in it."""
        while True:
            found = (INSIDE if self.quoted else OUTSIDE).search(self.data, self.at)
            if found is None:
                self.at = len(self.data)
                return
            mark, self.at = found[0], found.end()
            if self.quoted and mark == b"\\":
                if self.at == len(self.data):  # the escaped character comes with the next chunk
                    self.at -= 1
                    return
                self.at += 1
            elif mark == b'"':
                self.quoted = not self.quoted
            elif mark in OPENING:
                self.depth += 1
                if self.depth == 1:
                    self.take(found.start())  # the bracket of the array itself
            elif mark in CLOSING:
                self.depth -= 1
                if self.depth == 0:
                    yield self.take(found.start())
            elif self.depth == 1:
                yield self.take(found.start())


def elements(chunks: Iterable[bytes]) -> Iterator[tuple[int, bytes]]:
    """The elements of one or more JSON arrays as bytes, each with the number of its first line.

    It only looks at brackets and quotes, so an invalid element doesn't hide the others. The remainder of an array that
    is cut off comes last.

    Example: [b'[{"a": 1},', b'\\n 2]'] -> (1, b'{"a": 1}'), (2, b"2")
    """
    scan = _Scan()
    for chunk in chunks:
        scan.data += chunk
        for line, raw in scan.step():
            if raw:
                yield line, raw
    rest = scan.take(len(scan.data))
    if rest[1]:
        yield rest
