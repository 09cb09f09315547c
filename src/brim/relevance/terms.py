"""Turns text into comparable terms: words, parts of identifiers, stems.

English words are stemmed. Words in other alphabets, and words of a text that is clearly in another language, are also
represented by their first five letters, which works for most inflected languages like a stemmer for English. Scripts
without spaces between words become pairs of characters.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections.abc import Iterable
from itertools import chain
from typing import cast

import Stemmer


class _Stemmer(threading.local):
    """One stemmer per thread, because stemmers aren't thread-safe."""

    def __init__(self) -> None:
        self.stem = Stemmer.Stemmer("english", 0).stemWord  # no cache of its own, because results are cached here


_own = _Stemmer()


def stem(word: str) -> str:
    """The stem of a lower-case English word. Example: "adoptions" -> "adopt", "cities" -> "citi" """
    return cast(str, _own.stem(word))


# English function words, and the remains of contractions split at the apostrophe.
STOP = frozenset(
    """a about above after again against all also am an and any are aren as at be because been before being
    below between both but by can could couldn d did didn do does doesn doing don down during each few for
    from further had hadn has hasn have haven having he her here hers herself him himself his how i if in
    into is isn it its itself just ll m me more most my myself no nor not now o of off on once only or other
    our ours ourselves out over own re s same she should shouldn so some such t than that the their theirs
    them themselves then there these they this those through to too under until up ve very was wasn we were
    weren what when where which while who whom why will with won would wouldn you your yours yourself
    yourselves""".split()
)

# Words that occur in nearly every longer text of their language, but not in English.
_FOREIGN = frozenset(
    """der das und ist nicht ein eine ich sie mit auf wir für von zu im sich auch wie wird haben es sind war
    el los las una por para con que del se lo como pero más está muy le les des est une pas pour dans sur qui
    nous vous avec sont ce il di che sono della gli het een niet dat ik je zijn voor och att som inte jag det
    não uma em é de la og jeg ikke på ja nie się jest bir bu için yang itu tidak saya dengan untuk""".split()
)
_FOREIGN_SEEN = _FOREIGN | frozenset(word.capitalize() for word in _FOREIGN)

# Irregular verbs and plurals of everyday English, base form first, which a stemmer can't know.
_IRREGULAR = {
    form: forms.split()[0]
    for forms in """begin began begun;bend bent;bite bit bitten;blow blew blown;break broke broken;bring brought;
    build built;burn burnt;buy bought;catch caught;choose chose chosen;come came;deal dealt;dig dug;
    draw drew drawn;dream dreamt;drink drank drunk;drive drove driven;eat ate eaten;fall fell fallen;feed fed;
    feel felt;fight fought;find found;fly flew flown;forget forgot forgotten;forgive forgave forgiven;
    freeze froze frozen;get got gotten;give gave given;go went gone;grow grew grown;hang hung;hear heard;
    hide hid hidden;hold held;keep kept;know knew known;lay laid;lead led;learn learnt;leave left;lend lent;
    lose lost;make made;mean meant;meet met;pay paid;prove proven;ride rode ridden;ring rang rung;
    rise rose risen;run ran;say said;see saw seen;seek sought;sell sold;send sent;shake shook shaken;
    shine shone;shoot shot;show shown;shrink shrank shrunk;sing sang sung;sink sank sunk;sit sat;sleep slept;
    slide slid;speak spoke spoken;spend spent;stand stood;steal stole stolen;stick stuck;strike struck;
    swear swore sworn;sweep swept;swim swam swum;take took taken;teach taught;tear tore torn;tell told;
    think thought;throw threw thrown;understand understood;wake woke woken;wear wore worn;win won;
    write wrote written;child children;man men;woman women;person people;foot feet;tooth teeth;mouse mice;
    goose geese;life lives;wife wives;knife knives;leaf leaves;half halves;shelf shelves;wolf wolves;
    loaf loaves;thief thieves;index indices;matrix matrices;vertex vertices;criterion criteria;
    analysis analyses;good better best;bad worse worst""".split(";")
    for form in forms.split()[1:]
}

_FORMS: dict[str, tuple[str, ...]] = {}
for _form, _base in _IRREGULAR.items():
    _FORMS[stem(_base)] = (*_FORMS.get(stem(_base), ()), _form)

_WORD = re.compile(r"\w+")
_PARTS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
# Thai, Lao, Burmese, Khmer, kana and Han have no spaces between words; Korean attaches its endings.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff]+"
)
_LONGEST = 64  # longer words are data (base64, digests), represented by their first characters
_PREFIX = 5
_MEMO_LIMIT = 200_000


def words(text: str) -> list[str]:
    """The terms of `text` in order, including repeats.

    Example: "The adopted children ran getUserName()" -> ["adopt", "child", "run", "getusernam", "get", "user", "name"]
    Example: "東京タワー" -> ["東京", "京タ", "タワ", "ワー"]
    """
    return terms(split(text))


def split(text: str) -> list[str]:
    """The words of `text` as written: letters, digits and underscores."""
    return _WORD.findall(text)


def terms(found: list[str]) -> list[str]:
    """The terms of words from `split`."""
    if len(_KNOWN) > _MEMO_LIMIT:
        _KNOWN.clear()
    if not _FOREIGN_SEEN.isdisjoint(found) and _is_foreign(found):
        found = [word for word in found if word.lower() not in _FOREIGN]
        return [*_terms_of_all(found), *_prefixes(found)]
    return _terms_of_all(found)


def _terms_of_all(found: list[str]) -> list[str]:
    return list(chain.from_iterable(map(_KNOWN.__getitem__, found)))


def terms_given(word: str) -> tuple[str, ...]:
    """The terms of one word from `split`, in a text of any language."""
    if len(_KNOWN) > _MEMO_LIMIT:
        _KNOWN.clear()
    known = _KNOWN[word]
    return (*known, *[prefix for prefix in _prefixes((word,)) if prefix not in known])


def could_give(word: str, begin: tuple[str, ...]) -> bool:
    """Whether a word can yield a term whose `starts` are among these beginnings; only such words need stemming."""
    return word.lower().startswith(begin) or not (word.isascii() and word.isalpha() and _is_simple(word))


def _is_simple(word: str) -> bool:
    """Whether a word of letters has no parts: no capital letters except the first."""
    return word.islower() or word.istitle()


def starts(term: str) -> tuple[str, ...]:
    """Lower-case beginnings; every simple word that yields the term has one of them.

    Stemming rules rewrite at most the last two letters of a stem, and never the first two, except in words like
    "dying".
    Example: "run" -> ("ru", "ran"), "die" -> ("di", "dying")
    """
    unruly = (f"{term[0]}ying",) if len(term) == 3 and term.endswith("ie") else ()
    return (term[: max(2, len(term) - 2)], *_FORMS.get(term, ()), *unruly)


def spellings(term: str) -> tuple[str, ...]:
    """Lower-case strings; nearly every text with `term` contains one of them.

    Example: "citi" -> ("cit",), "run" -> ("run", "ran"), "haus~" -> ("haus",)
    """
    start = term.removesuffix("~")
    if len(start) > 3 and start[-1] in "eiy":
        start = start[:-1]
    return (start, *_FORMS.get(term, ()))


class _Known(dict[str, tuple[str, ...]]):
    """A cache, because a text has few different words and stemming is expensive."""

    def __missing__(self, word: str) -> tuple[str, ...]:
        found = tuple(_terms(word))
        if len(word) <= _LONGEST:
            self[word] = found
        return found


_KNOWN = _Known()


def _terms(word: str) -> list[str]:
    if not word.isascii():
        return _terms_of_other_script(word)
    whole = word.lower()[:_LONGEST]
    if whole in STOP:
        return []
    out = [_stemmed(whole)]
    if len(word) <= _LONGEST:
        parts = [part.lower() for part in _PARTS.findall(word)]
        if len(parts) > 1:
            out += [_stemmed(part) for part in parts if len(part) > 1 and part not in STOP]
    return out


def _stemmed(word: str) -> str:
    return stem(_IRREGULAR.get(word, word))


def _terms_of_other_script(word: str) -> list[str]:
    out: list[str] = []
    end = 0
    for run in _UNSPACED.finditer(word):
        out += _terms_of_spaced(word[end : run.start()])
        characters = run.group()
        out += [characters[i : i + 2] for i in range(max(1, len(characters) - 1))]
        end = run.end()
    return out + _terms_of_spaced(word[end:])


def _terms_of_spaced(word: str) -> list[str]:
    """The terms of a word with letters beyond ASCII: without accents, and its prefix if it is long."""
    plain = unicodedata.normalize("NFKD", word[:_LONGEST]).lower()
    plain = "".join(letter for letter in plain if not unicodedata.combining(letter))
    if not plain:
        return []
    if plain.isascii():
        return [_stemmed(plain), *_prefixes([plain])]
    return [plain, *_prefixes([plain])]


def _prefixes(found: Iterable[str]) -> list[str]:
    # The mark keeps a prefix from matching a whole word with the same spelling.
    return [
        word[:_PREFIX].lower() + "~"
        for word in found
        if len(word) > _PREFIX and word.isalpha() and (word.isascii() or not _UNSPACED.match(word))
    ]


def _is_foreign(found: list[str]) -> bool:
    """Whether function words of other languages outnumber those of English."""
    lower = [word.lower() for word in found[:200]]
    return sum(map(_FOREIGN.__contains__, lower)) > sum(map(STOP.__contains__, lower))
