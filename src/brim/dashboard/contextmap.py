"""The context map of a request: what fills its window, by category and by message, before and after."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from brim.dashboard import diff, words
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Html, el, number, numbers, table

# Cells for the limit, cells per row, and their size; a request of up to twice the limit is drawn.
CELLS, ACROSS, SIZE = 200, 25, 14
MOST_CELLS = 2 * CELLS
# Tools with their own colour; the others share the last.
TOOLS = 4
FIXED = {
    "instructions": "Instructions",
    "tools": "Tools and framing",
    "user": "User",
    "assistant": "Assistant",
    "call": "Tool calls",
    "summary": "Summary",
    "recalled": "Recalled",
    "free": "Free",
}


@dataclass(frozen=True, slots=True)
class Block:
    """A message before or after: its category, tokens, and a link to its details."""

    key: str
    category: str
    before: int
    after: int
    pair: diff.Pair


@dataclass(frozen=True, slots=True)
class Map:
    """All blocks in order, the tokens around the messages, and the categories' names by CSS class."""

    blocks: Sequence[Block]
    names: Mapping[str, str]
    before: int
    after: int
    limit: int

    def sums(self, side: str) -> dict[str, int]:
        """Tokens by category; those outside messages are tools and framing."""
        found = dict.fromkeys(self.names, 0)
        for block in self.blocks:
            found[block.category] += getattr(block, side)
        total = int(getattr(self, side))
        found["tools"] = max(0, total - sum(found.values()))
        found["free"] = max(0, self.limit - total)
        return found


def build(turn: ViewValues, after: Sequence[ViewValues], total: int) -> Map | None:
    """The map of a turn and what was or would be sent; None if its messages or sizes are no longer in memory."""
    before = turn.get("before")
    if before is None or any(message.get("tokens") is None for message in (*before, *after)):
        return None
    named = {call: name for message in before for call, name in message["tools"].items()}
    used: list[str] = []
    for message in before:
        for call in message["answers"]:
            name = named.get(call, "tool")
            if name not in used:
                used.append(name)
    classes = {name: f"t{min(place, TOOLS - 1)}" for place, name in enumerate(used)}
    names = {
        **{key: FIXED[key] for key in ("instructions", "tools", "user", "assistant", "call")},
        **_tool_names(used),
        **{key: FIXED[key] for key in ("summary", "recalled", "free")},
    }
    blocks = [
        Block(
            f"item-{place}",
            _category(pair, named, classes),
            int(pair.before["tokens"]) if pair.before else 0,
            int(pair.after["tokens"]) if pair.after else 0,
            pair,
        )
        for place, pair in enumerate(diff.pairs(before, after))
    ]
    return Map(blocks, names, turn["tokens_before"], total, turn["limit"])


def _tool_names(used: Sequence[str]) -> dict[str, str]:
    shown = {f"t{place}": f"Results of {name}" for place, name in enumerate(used[:TOOLS])}
    if len(used) > TOOLS:
        shown[f"t{TOOLS - 1}"] = f"Results of {len(used) - TOOLS + 1:,} other tools"
    return shown


def _category(pair: diff.Pair, named: Mapping[str, str], classes: Mapping[str, str]) -> str:
    message = pair.before or pair.after or {}
    if pair.before is None and message.get("brim"):
        return "recalled" if message["brim"] == "recall" else "summary"
    if message["answers"]:
        return classes.get(named.get(message["answers"][0], "tool"), f"t{TOOLS - 1}")
    if message["role"] in ("system", "developer"):
        return "instructions"
    if message["role"] == "assistant":
        return "call" if message["calls"] else "assistant"
    return "user"


def render(found: Map, label: str) -> Html:
    """Both sides, with a legend as a table."""
    sides = [_side(found, "before", "As it came")]
    if found.before != found.after or any(block.pair.status != "same" for block in found.blocks):
        sides.append(_side(found, "after", label))
    return el("div", el("div", sides, class_="maps"), _legend(found, label))


def _side(found: Map, side: str, label: str) -> Html:
    total = int(getattr(found, side))
    over = total - found.limit
    told = f"{words.plural(over, 'token')} over the limit" if over > 0 else f"{words.tokens(-over)} free"
    title = el("figcaption", el("b", label), el("span", f"{total:,} of {found.limit:,} tokens, {told}", class_="label"))
    return el("figure", title, _cells(found, side, label), _strip(found, side, label), class_="panel")


def _cells(found: Map, side: str, label: str) -> Html:
    """The window as cells of half a percent of the limit; what exceeds the limit is below a line."""
    sums = found.sums(side)
    scale = CELLS / max(1, found.limit)
    kinds: list[str] = []
    reached = 0.0
    for kind, size in sums.items():
        if kind != "free":
            reached += size * scale
            kinds += [kind] * (min(MOST_CELLS, round(reached)) - len(kinds))
    kinds += ["free"] * (CELLS - len(kinds))
    cells = [
        el(
            "rect",
            x=place % ACROSS * SIZE,
            y=place // ACROSS * SIZE + (6 if place >= CELLS else 0),
            width=SIZE - 2,
            height=SIZE - 2,
            rx=2,
            class_=f"k-{kind}{' over' if place >= CELLS else ''}",
        )
        for place, kind in enumerate(kinds)
    ]
    rows = -(-len(kinds) // ACROSS)
    tall = rows * SIZE + (6 if len(kinds) > CELLS else 0)
    if len(kinds) > CELLS:
        edge = CELLS // ACROSS * SIZE + 2
        cells.append(el("line", x1=0, x2=ACROSS * SIZE, y1=edge, y2=edge, class_="critical"))
    told = ", ".join(f"{found.names[kind]} {size:,}" for kind, size in sums.items() if size)
    box = f"0 0 {ACROSS * SIZE} {tall}"
    return el(
        "svg", cells, class_="cells", role="img", aria_label=f"{label}: {told}", viewBox=box, width=ACROSS * SIZE * 1.4
    )


def _strip(found: Map, side: str, label: str) -> Html:
    """One block per message, in order, sized by its tokens and linked to its place in the list."""
    sums, width = found.sums(side), max(found.before, found.after, found.limit, 1)
    parts, at = [_block(0.0, sums["tools"], width, "tools", "Tools and framing", "")], sums["tools"]
    for block in found.blocks:
        size = int(getattr(block, side))
        if size:
            parts.append(_block(at, size, width, block.category, f"{name_of(block)}: {size:,} tokens", block.key))
            at += size
    mark = f"{min(100 * found.limit / width, 99.8):.3f}%"
    parts.append(el("line", x1=mark, x2=mark, y1=0, y2=30, class_="limit"))
    told = f"{label}, message by message; the list below has the same"
    return el("svg", parts, class_="strip", role="group", aria_label=told, width="100%", height=30)


def _block(at: float, size: int, width: int, category: str, title: str, key: str) -> Html:
    wide = 100 * size / width
    drawn = el(
        "rect",
        x=f"{100 * at / width:.3f}%",
        y=0,
        width=f"{max(wide - 0.06, 0.05):.3f}%",
        height=30,
        class_=f"k-{category}",
    )
    inside = [el("title", title), drawn]
    # Keyboard users have the list; a strip with a hundred tab stops would be in their way.
    return el("a", inside, href=f"#{key}", tabindex="-1") if key else el("g", inside)


def name_of(block: Block) -> str:
    """Example: "Message 7, tool"; "Put in before message 7, summary" """
    message = block.pair.before or block.pair.after or {}
    if block.pair.before is None:
        return f"Put in before message {block.pair.at + 1}, {FIXED.get(block.category, message.get('role', ''))}"
    tools = ", ".join(message["tools"].values())
    return f"Message {block.pair.at + 1}, {message['role']}{f' calls {tools}' if tools else ''}"


def _legend(found: Map, label: str) -> Html:
    before, after = found.sums("before"), found.sums("after")
    rows = [
        el(
            "tr",
            el("th", el("span", class_=f"swatch k-{kind}"), name, scope="row"),
            number(words.tokens(before[kind])),
            number(words.tokens(after[kind])),
            number(words.share(after[kind] / found.limit if found.limit else None)),
        )
        for kind, name in found.names.items()
        if before[kind] or after[kind]
    ]
    heads = ["What it is", *numbers("As it came", label, "Of the limit")]
    return table(f"Tokens by category; the limit is {found.limit:,}", heads, rows, class_="narrow")


def quality(found: Map) -> dict[str, str]:
    """Quality figures of a plan. Example: {"Your words": "100%", "Newest result": "whole", …}"""
    said = [block for block in found.blocks if block.category == "user" and block.before]
    results = [block for block in found.blocks if block.category.startswith("t") and block.category != "tools"]
    results = [block for block in results if block.before]
    shown = [block for block in found.blocks if block.before]
    whole = sum(block.pair.status == "same" for block in results)
    kept = sum(min(block.after, block.before) for block in said) / max(1, sum(block.before for block in said))
    made = {"User's words kept": words.share(kept) if said else words.UNKNOWN}
    if results:
        newest = results[-1]
        left = min(1.0, newest.after / max(1, newest.before))
        made["Newest result"] = "whole" if newest.pair.status == "same" else f"{words.share(left)} of it"
        made["Results whole"] = f"{whole:,} of {len(results):,}"
    made["Messages sent"] = f"{sum(bool(block.after) for block in shown):,} of {len(shown):,}"
    return made
