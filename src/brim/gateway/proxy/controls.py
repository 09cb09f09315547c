"""What a client tells Brim: the `x-brim-…` headers of a request, and the session it belongs to."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Final
from urllib.parse import unquote

from brim import pins
from brim.errors import BadSetting
from brim.gateway.proxy.faults import Refused
from brim.gateway.proxy.headers import one
from brim.planning.policies.policy import Policy

_TRUE: Final = frozenset({"1", "true", "yes", "on"})
_FALSE: Final = frozenset({"", "0", "false", "no", "off"})
_NAMES: Final = frozenset(
    b"x-brim-bypass x-brim-budget x-brim-policy x-brim-dry-run x-brim-session x-brim-token x-brim-pin".split()
)
# Headers in which clients put a conversation's id, the most specific first.
_SESSION: Final = (
    b"x-brim-session",
    b"x-claude-code-session-id",
    b"thread-id",
    b"session-id",
    b"thread_id",
    b"session_id",
    b"x-session-id",
    b"x-conversation-id",
)
_SESSIONS: Final = frozenset(_SESSION)
_ID: Final = re.compile(r"^[A-Za-z0-9][\w.:-]{0,127}$")
_PRODUCT: Final = re.compile(r"^[A-Za-z][\w.+-]{0,40}(?:/Python|/JS|/Go)?")


@dataclass(frozen=True, slots=True)
class Controls:
    """Controls of one request. Example: x-brim-budget: 8000 -> Controls(budget=8000)"""

    bypass: bool = False
    dry_run: bool = False
    budget: int | None = None
    policy: Policy | None = None
    pins: tuple[str, ...] = ()
    """Texts; the messages that say one of them stay verbatim, in this request and later ones of its session."""
    session: str = ""
    client: str = ""
    tenant: str = ""
    """Whose request it is (`Tenants.of`): nothing of one tenant is looked up for another."""
    plain: bool = False
    """Nothing is asked of Brim but what it always does."""


def controls_of(headers: Mapping[bytes, bytes], policy: Policy, tenant: str = "") -> Controls:
    """Read the control headers; Refused (400) names an invalid one."""
    session = "" if _SESSIONS.isdisjoint(headers) else next(filter(None, (one(headers, name) for name in _SESSION)), "")
    agent = headers.get(b"user-agent", b"")
    if _NAMES.isdisjoint(headers):
        return _plain(session, agent, tenant)
    return Controls(
        bypass=_flag(headers, b"x-brim-bypass"),
        dry_run=_flag(headers, b"x-brim-dry-run"),
        budget=_budget(one(headers, b"x-brim-budget")),
        policy=_policy(one(headers, b"x-brim-policy"), policy),
        pins=_pins(one(headers, b"x-brim-pin"), _policy(one(headers, b"x-brim-policy"), policy) or policy),
        session=_id(session),
        client=_client(agent),
        tenant=tenant,
    )


@lru_cache(1_024)
def _plain(session: str, agent: bytes, tenant: str) -> Controls:
    return Controls(session=_id(session), client=_client(agent), tenant=tenant, plain=True)


def _flag(headers: Mapping[bytes, bytes], name: bytes) -> bool:
    text = one(headers, name).lower()
    if text not in _TRUE and text not in _FALSE:
        raise Refused(400, f"{name.decode()}: {text[:40]!r} is neither true nor false", "bad_header")
    return text in _TRUE


def _budget(text: str) -> int | None:
    if not text:
        return None
    if not text.isascii() or not text.isdigit() or not 0 < int(text[:12]) <= 100_000_000 or len(text) > 12:
        raise Refused(400, f"x-brim-budget: {text[:40]!r} is not a number of tokens", "bad_header")
    return int(text)


def _policy(text: str, current: Policy) -> Policy | None:
    if not text or text == current.name:
        return None
    try:
        return Policy.named(text)
    except BadSetting as problem:
        raise Refused(400, f"x-brim-policy: {problem.problem}", "bad_header") from None


def _pins(text: str, policy: Policy) -> tuple[str, ...]:
    """Example: "never edit*migrations; reply in German" -> ("never edit*migrations", "reply in German")"""
    found = tuple(unquote(piece.strip()) for piece in text.split(";") if piece.strip())
    wrong = pins.problem(found)
    if found and not policy.appends:
        wrong = f"the policy {policy.name} decides by itself what stays: agent keeps what is pinned"
    if wrong:
        raise Refused(400, f"x-brim-pin: {wrong}", "bad_header")
    return found


def _id(text: str) -> str:
    """An id that is safe in URLs and logs: as given if it is plain, otherwise its digest."""
    if not text or _ID.match(text):
        return text
    return hashlib.sha256(text.encode("latin-1", "replace")).hexdigest()[:32]


@lru_cache(256)
def _client(agent: bytes) -> str:
    """The product in a user agent. Example: b"claude-cli/2.0.14 (external, cli)" -> "claude-cli" """
    found = _PRODUCT.match(agent.decode("latin-1").strip())
    return found.group() if found else ""
