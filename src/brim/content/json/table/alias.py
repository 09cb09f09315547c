"""Aliases for texts worth writing only once: the beginnings of many URLs, and longer texts that repeat."""

from __future__ import annotations

from collections import Counter

from brim.content.json.identifiers import names_something
from brim.content.json.table.columns import Field
from brim.content.json.table.scalars import Aliases

_MOST = 24
_SHORTEST = 14
_MOST_URLS = 1000
_WORTH = 8


def choose_aliases(tables: list[list[Field]]) -> Aliases:
    """Return the aliases that save the most, best first: $A, $B, …"""
    urls: Counter[str] = Counter()
    repeats: Counter[str] = Counter()
    for fields in tables:
        for one in fields:
            _collect(one, urls, repeats)
    found = [(_saved(text, count), text) for text, count in repeats.items() if count > 1 and text.isprintable()]
    texts = [text for text in _starts(urls) if text.isprintable()]
    texts += [text for saved, text in sorted(found, key=lambda item: (-item[0], item[1])) if saved >= _WORTH]
    return Aliases({_letters(at): text for at, text in enumerate(texts[:_MOST])})


def _collect(one: Field, urls: Counter[str], repeats: Counter[str]) -> None:
    if one.fields is not None:
        return
    if one.template is not None and isinstance(one.template[0], str):
        if one.template[0].startswith("http"):
            urls[one.template[0]] += 1
    elif one.mark == ":":
        if type(one.values[0]) is str and one.values[0].startswith("http"):
            urls[one.values[0]] += 1
    elif str in one.kinds and one.mark != "=":
        texts = [value for value in one.values if type(value) is str and len(value) >= _SHORTEST]
        if not texts:
            return
        linked = [text for text in texts if text.startswith("http")]
        urls.update(linked)
        if not linked and not names_something(one.key):
            repeats.update(texts)


def _starts(urls: Counter[str]) -> list[str]:
    """Return the beginnings of URLs, up to a slash or whole, that save the most, each counted without earlier ones."""
    left = dict(urls.most_common(_MOST_URLS))
    chosen: list[str] = []
    while len(chosen) < _MOST // 4:
        starts: Counter[str] = Counter()
        for url, count in left.items():
            at = url.find("/", 8)
            while at > 0:
                starts[url[:at]] += count
                at = url.find("/", at + 1)
            if "{" not in url and url[-1:].isalnum():
                starts[url] += count
        best = max(starts, key=lambda start: (_saved(start, starts[start]), start), default="")
        if not best or _saved(best, starts[best]) < _WORTH:
            break
        chosen.append(best)
        left = {url: count for url, count in left.items() if not _begins(url, best)}
    return chosen


def _begins(url: str, start: str) -> bool:
    return url.startswith(start) and not url[len(start) : len(start) + 1].isalnum()


def _saved(text: str, count: int) -> int:
    """Roughly the tokens that an alias saves: each use costs two, its definition the text and three more."""
    return (count - 1) * (len(text) // 4) - 2 * count - 4


def _letters(number: int) -> str:
    """Example: 0 -> "A", 25 -> "Z", 26 -> "AA" """
    name = ""
    while True:
        name = chr(65 + number % 26) + name
        number = number // 26 - 1
        if number < 0:
            return name
