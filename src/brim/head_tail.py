"""The beginning and the end of a text, for when no compactor that knows its content is available."""

from __future__ import annotations

from brim.count_text import CountText

# The beginning of a text says more about it than its end, more often than not.
HEAD_SHARE = 0.6
# Initial estimate of characters per token; English prose has about four in all available vocabularies.
USUAL_CHARS = 4
# Each try at least halves the distance; this share of the room is close enough.
TRIES, NEAR = 10, 0.95


def head_and_tail(text: str, tokens: int, count: CountText, handle: str = "") -> str:
    """The text in at most `tokens`: its two ends around a line that says what is missing and where to find it.

    Empty if not even "…" fits.

    Example: 9,000 characters in 40 tokens -> "Dear all, …\\n[… 8,870 characters left out, brim:3f2a]\\n… yours, Ann"
    """
    if len(text) <= tokens * USUAL_CHARS and count(text) <= tokens:
        return text
    best = next((sign for sign in (_ends(text, 0, handle), "[…]", "…") if count(sign) <= tokens), "")
    low, high = 0, len(text)
    keep = min(high - 1, tokens * USUAL_CHARS)
    for _ in range(TRIES):
        if not low < keep < high:
            break
        made = _ends(text, keep, handle)
        size = count(made)
        if size > tokens:
            high = keep
        else:
            best, low = made, keep
            if size >= NEAR * tokens:
                break
        guess = int(keep * tokens / max(1, size))
        keep = guess if low < guess < high else (low + high) // 2
    return best


def _ends(text: str, keep: int, handle: str) -> str:
    head = int(keep * HEAD_SHARE)
    tail = keep - head
    named = f", {handle}" if handle else ""
    note = f"[… {len(text) - keep:,} characters left out{named}]"
    before, after = text[:head], text[len(text) - tail :]
    return "\n".join(piece for piece in (before.rstrip("\n"), note, after.lstrip("\n")) if piece)
