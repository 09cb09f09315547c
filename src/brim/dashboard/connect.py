"""How to point a client at this gateway: copyable commands for its address."""

from __future__ import annotations

from brim.dashboard.html import Html, el
from brim.dashboard.page import NavigationPlace


def commands(place: NavigationPlace) -> dict[str, str]:
    """A command for each kind of client."""
    own = place.origin or "http://127.0.0.1:8787"
    local = own in ("http://127.0.0.1:8787", "http://localhost:8787")
    url = "" if local else f" --url {own}"
    return {
        "Any OpenAI client": f"export OPENAI_BASE_URL={own}/v1",
        "Any Anthropic client": f"export ANTHROPIC_BASE_URL={own}",
        "Claude Code": f"ANTHROPIC_BASE_URL={own} claude",
        "One request": (
            f"curl {own}/v1/chat/completions -H 'authorization: Bearer '$OPENAI_API_KEY "
            "-H 'content-type: application/json' "
            """-d '{"model":"gpt-4o-mini","messages":[{"role":"user","content":"hi"}]}'"""
        ),
        "In a terminal": f"brim top{url}",
    }


def render(place: NavigationPlace, *, opened: bool) -> Html:
    """The commands, collapsed once requests have arrived."""
    rows = [
        el(
            "div",
            el("dt", name),
            el("dd", el("code", command), el("button", "Copy", type="button", data_copy=command, hidden=True)),
        )
        for name, command in commands(place).items()
    ]
    return el(
        "details",
        el("summary", "Connect a client"),
        el("dl", rows, class_="commands"),
        class_="panel connect",
        open=opened,
        id="connect",
    )
