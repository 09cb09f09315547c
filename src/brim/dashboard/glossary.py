"""The dashboard's glossary: a sentence for each term, shown as a tooltip and together on one page."""

from __future__ import annotations

from typing import Final

from brim.dashboard.html import Html, address, el
from brim.dashboard.page import NavigationPlace, page

WORDS: Final = {
    "archive": "Where Brim keeps the originals of what left the prompt. Each can be read again by its handle.",
    "budget": "The input tokens a request may take: the window less the reserve, or a smaller number that you set.",
    "cache hits": "The share of input tokens that the provider read from its prompt cache, at a fraction of the price.",
    "cache loss": "A turn for which the provider read little from its cache, although most of the request had "
    "been sent before.",
    "compaction": "The moment a session's history is shortened because it passed its budget. Between two compactions "
    "requests only grow, so the prompt cache holds.",
    "count error": "How far Brim's count of a request was from what the provider billed.",
    "fit": "Bring a request into its budget. A request that already fits is passed on byte for byte.",
    "form": "How an item is sent: full, dense (smaller without loss), outline, one line, or archived.",
    "handle": "The name of an archived original, such as brim:3f2a9c01.",
    "limit": "The largest a request may be: the smallest of the window, the budget, and what the provider "
    "has said it accepts.",
    "overflow avoided": "A request that arrived larger than its limit and was sent within it.",
    "plan": "The form chosen for every item of a request, and the reason.",
    "policy": "The rules that decide what to give up: agent, rolling, concise or layered.",
    "recall": "Archived content that comes back, because a question is about it or the model asks for it.",
    "refit": "A request sent again, smaller, because the provider said that it was too long.",
    "reserve": "The tokens kept free for the answer.",
    "saved, net": "What sending everything would have cost, minus what you paid. Cache effects are included; "
    "prices are list prices.",
    "session": "One conversation: requests that each continue the one before.",
    "step": "One message of the model, its tool calls and their results.",
    "summary": "The text that stands for archived messages: what was asked, done and decided.",
    "time added": "How long Brim worked on a request before it was sent on.",
    "turn": "One request of a session and its answer.",
    "window": "The most tokens a model can take at once, its answer included.",
}  # fmt: skip


def term(word: str, place: NavigationPlace, shown: str = "") -> Html:
    """A term with its tooltip. Example: term("recall", place, "Recalls")"""
    return el(
        "a",
        shown or word,
        href=f"{address(place.base, 'glossary')}#{slug(word)}",
        class_="term",
        data_tip=WORDS[word],
        aria_description=WORDS[word],
    )


def slug(word: str) -> str:
    """Example: "saved, net" -> "saved-net" """
    return word.replace(",", "").replace(" ", "-")


def render(place: NavigationPlace) -> str:
    rows = [el("div", el("dt", word), el("dd", meaning), id=slug(word)) for word, meaning in WORDS.items()]
    return page(place, "Glossary", el("h1", "Glossary"), el("dl", rows, class_="glossary"), section="glossary")
