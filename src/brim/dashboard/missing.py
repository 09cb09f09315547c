"""Two questions about a request: why is this text not in it, and where did this answer come from."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping

from brim.dashboard import contextmap, items, words
from brim.dashboard.contextmap import Block, Map
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Child, Html, el, link
from brim.dashboard.page import NavigationPlace

LONGEST_QUESTION = 500
MOST_FOUND = 8
# Characters to quote around a match.
AROUND = 90
# Words of an answer that occur in more than this share of the messages don't identify a source.
COMMON = 0.25
_WORD = re.compile(r"[\w./-]*\d[\w./-]*|\w{5,}")


def search(turn: ViewValues, question: str) -> Html:
    """The form for the first question."""
    return el(
        "form",
        el("label", "Why is this missing? Any text of the conversation:", for_="why"),
        " ",
        el("input", type="search", id="why", name="why", value=question, maxlength=LONGEST_QUESTION),
        " ",
        el("button", "Find it", type="submit"),
        method="get",
        role="search",
        class_="controls",
    )


def answer(found: Map, report: ViewValues, question: str, place: NavigationPlace, session: str) -> Html:
    """Where a text occurs in the request, and what happened to it."""
    wanted = _folded(question)
    holding = [block for block in found.blocks if wanted in _said(block.pair.before)]
    sent = [block for block in found.blocks if wanted in _said(block.pair.after)]
    decisions = items.decided(report)
    told: list[Child]
    if not holding and not sent:
        verdict = "The client did not send this text with this turn."
        told = [
            el("p", "Nothing that came holds it, so Brim had nothing to leave out. Try fewer words, or another turn.")
        ]
    elif sent:
        verdict = "It is not missing: it was sent."
        told = [_row(block, "after", wanted, "It stands in", None, place, session) for block in sent[:MOST_FOUND]]
    else:
        verdict = "It came, and was not sent."
        told = []
    gone = [block for block in holding if wanted not in _said(block.pair.after)]
    for block in gone[:MOST_FOUND]:
        told.append(_row(block, "before", wanted, "Left out of", items.told(block, decisions), place, session))
    more = len(gone) - MOST_FOUND
    return el(
        "div",
        el("p", verdict, class_="verdict", role="status"),
        told,
        el("p", f"And {words.plural(more, 'more message')}.", class_="note") if more > 0 else None,
        class_="panel",
        id="missing",
    )


def _row(
    block: Block,
    side: str,
    wanted: str,
    how: str,
    told: tuple[str, str, str] | None,
    place: NavigationPlace,
    session: str,
) -> Html:
    message = block.pair.before if side == "before" else block.pair.after
    name = el("a", contextmap.name_of(block), href=f"#{block.key}")
    why: list[Child] = []
    if told is not None:
        form, reason, handle = told
        why = [f": {items.FORMS.get(form, form)}, {reason}"]
        if handle:
            shown = link(el("code", handle), place.base, "sessions", session, "archive", handle)
            why.append([". It can be recalled as ", shown])
    return el("div", el("p", f"{how} ", name, why, "."), el("p", el("bdi", _quote(message, wanted)), class_="quote"))


def sources(found: Map, said: str) -> Html | None:
    """The sent messages that contain what is specific to an answer."""
    terms = Counter(word.casefold().strip("./-") for word in _WORD.findall(said))
    sent = [block for block in found.blocks if block.after and block.category not in ("instructions",)]
    texts = {block.key: _said(block.pair.after) for block in sent}
    spread = {term: sum(term in text for text in texts.values()) for term in terms}
    bound = max(2.0, COMMON * len(sent))
    weights = {term: 1 / count for term, count in spread.items() if 0 < count <= bound and len(term) > 1}
    scored = [(sum(weight for term, weight in weights.items() if term in texts[block.key]), block) for block in sent]
    best = sorted((one for one in scored if one[0] > 0), key=lambda one: -one[0])[:3]
    if not best:
        return None
    return el("div", [_source(block, weights) for score, block in best if score >= best[0][0] / 2])


def _source(block: Block, weights: Mapping[str, float]) -> Html:
    text = str((block.pair.after or {}).get("text", ""))
    line = max(
        text.splitlines() or [""], key=lambda line: sum(w for term, w in weights.items() if term in _folded(line))
    )
    term = max((term for term in weights if term in _folded(line)), key=lambda term: weights[term], default="")
    name = el("a", contextmap.name_of(block), href=f"#{block.key}")
    return el(
        "div", el("p", name, f" ({_how(block)}):"), el("p", el("bdi", _quote({"text": line}, term)), class_="quote")
    )


def _how(block: Block) -> str:
    if block.category == "recalled":
        return "recalled from the archive"
    if block.category == "summary":
        return "the summary of archived messages"
    return "sent as it came" if block.pair.status == "same" else "sent shortened"


def _said(message: ViewValues | None) -> str:
    return _folded(str(message.get("text", ""))) if message else ""


def _folded(text: str) -> str:
    return " ".join(text.split()).casefold()


def _quote(message: ViewValues | None, wanted: str) -> str:
    """The passage around a match, quoted from the message."""
    text = " ".join(str((message or {}).get("text", "")).split())
    at = max(0, text.casefold().find(wanted))
    start, end = max(0, at - AROUND), at + len(wanted) + AROUND
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
