"""Recognises, block by block, bytes that were received before: clients send their whole history with every turn."""

from __future__ import annotations

from typing import Final

from brim.sized_lru import SizedLru

BLOCK: Final = 1 << 14
# Blocks to remember: 4 MB of hashes for 640 MB of bodies.
MOST_BLOCKS: Final = 40_000


class Blocks:
    """The blocks of all bodies read so far. Thread-safe."""

    def __init__(self) -> None:
        self._seen: SizedLru[int, bool] = SizedLru(MOST_BLOCKS)

    def unseen(self, body: bytes) -> int:
        """About how many bytes of a body are new."""
        return BLOCK * sum(self._seen.get(block) is None for block in _hashes(body))

    def add(self, body: bytes) -> None:
        for block in _hashes(body):
            self._seen.put(block, True)


def _hashes(body: bytes) -> list[int]:
    """A hash for each block, from its bytes and position; meaningless outside this process."""
    return [hash((begin, body[begin : begin + BLOCK])) for begin in range(0, len(body), BLOCK)]
