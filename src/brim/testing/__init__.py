"""A fake provider for tests: scripted, with real providers' wording, streams, faults and honest token counts.

Example:
    with FakeProvider(window=16_000) as fake:
        fake.script(Say("hello"), Call("search", {"q": "x"}), Overflow(), Say("late", fault=Reset(after=2)))
        client = openai.OpenAI(base_url=fake.url + "/v1", api_key="any")
"""

from __future__ import annotations

from brim.testing.provider import FakeProvider
from brim.testing.replies import (
    Call,
    Calls,
    Fail,
    Hang,
    Overflow,
    Raw,
    Reply,
    Reset,
    Say,
    Seen,
)

__all__ = ["Call", "Calls", "Fail", "FakeProvider", "Hang", "Overflow", "Raw", "Reply", "Reset", "Say", "Seen"]
