"""How shares of the budget fall with its size.

What has to be remembered of a conversation hardly grows with the window. Of a small one most goes to what was; in a
large one that would be sent again with every turn, so more of it is left to what is new, and to recalls.
"""

from __future__ import annotations

# Up to the first number of tokens a budget is small, from the second on it is large.
SMALL, LARGE = 4_000, 16_000


def falling(share: float, large: float, tokens: int) -> int:
    """So many tokens of a budget: `share` of a small one, `large` of a large one, in between something between.

    Example: falling(0.8, 0.2, 4_000) -> 3200; falling(0.8, 0.2, 10_000) -> 5000; falling(0.8, 0.2, 20_000) -> 4000
    """
    if share <= large or tokens <= SMALL:
        return int(share * tokens)
    fallen = min(1.0, (tokens - SMALL) / (LARGE - SMALL))
    return int((share + (large - share) * fallen) * tokens)
