"""`POST /v1/compress` and `GET /v1/retrieve/HASH`: returns the messages it is given, shortened where necessary.

This is the contract of LiteLLM's `headroom` guardrail, which leaves out instructions, assistant messages and the newest
turn, and matches the result by position. So each message is shortened by itself; there are no steps to plan.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Final

import msgspec

from brim import content, models
from brim.errors import BadInput, NotFound, UnknownModel
from brim.sized_lru import SizedLru
from brim.stores.protocol import Store
from brim.tokens import text_counter

# The guardrail accepts 12 to 24 hex digits; 96 bits can't be guessed.
DIGITS: Final = 24
# Half of the room is left for what isn't sent here: instructions, answers and the newest turn.
SHARE: Final = 0.5
# The share of the room to compact to, as in a session, so that the next requests only append.
COMPACT_TO: Final = 0.6
# Messages are never cut below this many tokens: a shorter extract says next to nothing, and its mark takes about 20.
LEAST: Final = 60
# Tokens of an original that a model asks for with a query: a page of it. Without one it comes back whole.
ASKED: Final = 2_000
# Bytes of shortened forms to remember, so that a message is sent the same way again.
REMEMBERED_BYTES: Final = 32 << 20
STAND_IN: Final = "gpt-4o"
_OWNER: Final = b"brim.compress\0"


class CompressBody(msgspec.Struct):
    """The fields that the guardrail sends, and Brim's own `budget`. Other fields are ignored."""

    messages: list[dict[str, Any]]
    model: str = ""
    budget: int | None = None


@dataclass(frozen=True, slots=True)
class Text:
    """A message that may be shortened: its position, text and tokens."""

    place: int
    said: str
    tokens: int


class Compressor:
    """Shortens lists of messages for one store. Thread-safe."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._forms: SizedLru[tuple[str, str, str], content.Compacted] = SizedLru(REMEMBERED_BYTES)
        self._lock = threading.Lock()

    def compress(self, body: CompressBody, tenant: str, model: str, room: int | None) -> dict[str, Any]:
        """The answer to a request, shortened to `room` tokens (None: no limit). What fits is unchanged."""
        count = text_counter(model)
        texts = [
            Text(place, message["content"], count(message["content"]))
            for place, message in enumerate(body.messages)
            if isinstance(message.get("content"), str)
        ]
        before = sum(text.tokens for text in texts)
        with self._lock:
            forms = self._known(texts, tenant, model)
            if room is not None and _size(texts, forms) > room:
                forms = self._compact(body.messages, texts, tenant, model, int(room * COMPACT_TO))
        messages = [
            {**message, "content": forms[place].text} if place in forms else message
            for place, message in enumerate(body.messages)
        ]
        after = _size(texts, forms)
        return {
            "messages": messages,
            "tokens_before": before,
            "tokens_after": after,
            "tokens_saved": before - after,
            "compression_ratio": round(after / before, 4) if before else 1.0,
            "transforms_applied": sorted({f"brim:{form.kind}" for form in forms.values()}),
            "ccr_hashes": sorted({form.handle for form in forms.values()}),
        }

    def retrieve(self, hash: str, tenant: str, query: str = "") -> dict[str, Any]:
        """The original behind a hash, or what it says on a query, for the tenant who sent it only. Raises NotFound."""
        owner = _owner(tenant)
        digits = hash.lower()
        good = len(digits) == DIGITS and all(digit in "0123456789abcdef" for digit in digits)
        found = self._store.find_blob(digits) if good else None
        if found is None or not found.startswith(owner):
            raise NotFound(f"nothing is kept under {hash[:64]!r}")
        original = found[len(owner) :].decode("utf-8", "surrogatepass")
        if query:  # LiteLLM reads this field alone, and sends it on as it is
            original = content.compact(original, ASKED, model=STAND_IN, query=query).text
        return {"hash": digits, "original_content": original}

    def _known(self, texts: list[Text], tenant: str, model: str) -> dict[int, content.Compacted]:
        """The forms in which messages were sent before."""
        found = ((text.place, self._forms.get((tenant, model, text.said))) for text in texts)
        return {place: form for place, form in found if form is not None}

    def _compact(
        self, messages: list[dict[str, Any]], texts: list[Text], tenant: str, model: str, room: int
    ) -> dict[int, content.Compacted]:
        """Shorten the largest messages, tool results before user messages, until all fit the room."""
        forms: dict[int, content.Compacted] = {}
        users = [text for text in texts if messages[text.place].get("role") == "user"]
        others = [text for text in texts if messages[text.place].get("role") in ("tool", "function")]
        for part in (others, users):
            rest = _size(texts, forms) - sum(text.tokens for text in part)
            cap = max(LEAST, _cap([text.tokens for text in part], room - rest))
            for text in part:
                if text.tokens > cap:
                    forms[text.place] = self._shortened(text, cap, tenant, model)
            if _size(texts, forms) <= room:
                break
        return forms

    def _shortened(self, text: Text, cap: int, tenant: str, model: str) -> content.Compacted:
        original = _owner(tenant) + text.said.encode("utf-8", "surrogatepass")
        hash = sha256(original).hexdigest()[:DIGITS]
        mark = f"\n[shortened from {text.tokens:,} tokens, hash={hash}]"
        count = text_counter(model)
        short = content.compact(text.said, max(0, cap - count(mark)), model=model)
        self._store.put_blobs([original])
        whole = short.text + mark
        form = content.Compacted(whole, count(whole), "recoverable", short.kind, hash, count(whole) / text.tokens)
        return self._forms.put((tenant, model, text.said), form, len(text.said) + len(whole))


def room_of(body: CompressBody, window: int | None) -> int | None:
    """How many tokens may remain; None if neither a budget nor a window is known."""
    if body.budget is not None and not 0 < body.budget <= 100_000_000:
        raise BadInput("budget", f"{body.budget} is not a number of tokens")
    if body.budget is not None:
        return body.budget
    return int(window * SHARE) if window else None


def counted_as(model: str) -> str:
    """The model whose tokenizer counts: the named one, or a stand-in for unknown models."""
    try:
        return models.find(model).name
    except UnknownModel:
        return STAND_IN


def _owner(tenant: str) -> bytes:
    return _OWNER + tenant.encode() + b"\0"


def _size(texts: list[Text], forms: dict[int, content.Compacted]) -> int:
    return sum(forms[text.place].tokens if text.place in forms else text.tokens for text in texts)


def _cap(sizes: list[int], room: int) -> int:
    """The largest size per message at which all of them fit the room. Example: ([10, 100, 200], 130) -> 60"""
    left = room
    for number, size in enumerate(sorted(sizes)):
        share = left // (len(sizes) - number)
        if size > share:
            return max(0, share)
        left -= size
    return max(sizes, default=0)
