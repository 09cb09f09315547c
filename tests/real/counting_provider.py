"""A fake provider that counts what it refuses."""

from __future__ import annotations

from brim.gateway.proxy import overflow
from brim.testing import FakeProvider
from brim.testing.http import Answer
from brim.testing.replies import Seen


class CountingProvider(FakeProvider):
    """Knows how often it said that a prompt is too long."""

    overflows = 0

    def _chat(self, seen: Seen, api: str, name: str, action: str) -> Answer:
        answer = super()._chat(seen, api, name, action)
        self.overflows += overflow.read(answer.status, b"".join(answer.pieces)) is not None and answer.status == 400
        return answer
