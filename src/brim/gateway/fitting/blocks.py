"""Which bytes were here before, told by blocks of them: clients send their whole history with every turn."""

from __future__ import annotations

from typing import Final

from brim.sized_lru import SizedLru

BLOCK: Final = 1 << 14
# So many blocks are remembered, in 4 MB: they are those of 640 MB of bodies.
MOST_BLOCKS: Final = 40_000


class Blocks:
    """The blocks of the bodies that were read here. May be used from several threads."""

    def __init__(self) -> None:
        self._seen: SizedLru[int, bool] = SizedLru(MOST_BLOCKS)

    def unseen(self, body: bytes) -> int:
        """About how many bytes of a body were in none before."""
        return BLOCK * sum(self._seen.get(block) is None for block in _hashes(body))

    def add(self, body: bytes) -> None:
        for block in _hashes(body):
            self._seen.put(block, True)


def _hashes(body: bytes) -> list[int]:
    """A number for each block, by its bytes and its place; it means nothing outside this process."""
    return [hash((begin, body[begin : begin + BLOCK])) for begin in range(0, len(body), BLOCK)]
