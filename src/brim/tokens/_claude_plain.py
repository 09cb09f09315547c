"""The plain-Python half of brim.tokens.claude: the same count as _claude.c.

No piece joins a word to what is beside it, but for contractions, and none joins blanks to anything. So a text
is cut at its blanks into fields; a field's cost depends on whether a space stands before and after it, and is
looked up by its spelling; a field that is not known yet is cut into runs of one kind, and only words and
stretches of signs that are new are tiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple, TypeVar

BOW, EOW, SHIFT, CAPS = "\ue000\ue001\ue002\ue003"

IDEOGRAPH, WORD, STRAY, BLANK, NUMBER, SIGN, SYMBOL, DECIMAL, NUMERAL, SELECTOR = range(10)
CONTROL, PRIVATE, SPACELIKE, HALF = range(10, 14)
UPPER, LOWER, CASELESS, BORDER = 0x10, 0x20, 0x40, 0x80

Value = TypeVar("Value")

CONTRACTIONS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
QUOTES = str.maketrans("‘’“”", "''\"\"")
THAI_AM_PARTS, THAI_AM = "\u0e4d\u0e32", "\u0e33"

KEPT = 100_000  # entries of a cache before it starts anew
SHORT = 64  # longer spellings seldom come back and are not kept
LONG = 1_024  # from here on runs of one character are worth a look before tiling
REPEATED = re.compile(r"(.)\1{63,}", re.DOTALL)


class Alphabet:
    """What the characters are, as the sets and patterns that the counter works with."""

    def __init__(self, kinds: bytes, lower: dict[int, int]) -> None:
        self.lower = lower
        members: list[list[str]] = [[] for _ in range(16)]
        for point, kind in enumerate(kinds):
            members[kind & 15].append(chr(point))
        of = [_ranges(group) for group in members]
        above = "\U00010000-\U0010ffff"
        ideographs = of[IDEOGRAPH] + above
        self.upper, self.small, self.caseless, self.border = (
            frozenset(chr(point) for point, kind in enumerate(kinds) if kind & flag)
            for flag in (UPPER, LOWER, CASELESS, BORDER)
        )
        self.one_number = re.compile(f"[{of[DECIMAL]}]+|[{of[NUMERAL]}]+")
        numbers = of[DECIMAL] + of[NUMERAL]
        # One group a kind, in the order of the names below this class.
        self.runs = re.compile(
            f"([{of[WORD]}][{of[WORD]}{of[STRAY]}]*)|([{of[SIGN]}]+)|([{of[NUMBER]}]+)"
            f"|([{ideographs}{of[SELECTOR]}]+)|([{of[SYMBOL]}][{of[SYMBOL]}{of[SELECTOR]}]*)"
            f"|([{numbers}][{numbers}{of[SELECTOR]}]*)|([{of[STRAY]}]+)"
        )
        self.blanks = re.compile(f"([{of[BLANK]}]+)")
        self.controls = re.compile(f"[{of[CONTROL]}]+")
        self.privates = re.compile(f"[{of[PRIVATE]}]+")
        self.spaces = re.compile(f"[{of[SPACELIKE]}]")
        self.halves = re.compile(f"[{of[HALF]}]")
        self.foldable = re.compile(f"[{of[CONTROL]}{of[PRIVATE]}{of[SPACELIKE]}{of[HALF]}]|{THAI_AM_PARTS}")

    def uniform(self, numbers: str) -> bool:
        """Whether a run is all decimal digits or all other numbers."""
        return self.one_number.fullmatch(numbers) is not None

    def all_capital(self, word: str) -> bool:
        """Whether a word has capitals, and nothing small or without case."""
        return not self.upper.isdisjoint(word) and self.small.isdisjoint(word) and self.caseless.isdisjoint(word)

    def folded(self, text: str) -> str:
        """Drop and replace the characters that Claude does not see as they are.

        Example: "a\\x07\\u00a0b" -> "a b"
        """
        if not self.foldable.search(text):
            return text
        text = self.controls.sub("", text).replace(THAI_AM_PARTS, THAI_AM)
        text = self.spaces.sub(" ", self.privates.sub("", text))
        return self.halves.sub("\ufffd", text)


A_WORD, SIGNS, DIGITS, IDEOGRAPHS, SYMBOLS, NUMERALS, MARKS = range(1, 8)  # groups of Alphabet.runs


class Field(NamedTuple):
    """What stands between two blanks: its tokens, and whether markers face the blanks beside it."""

    tokens: int
    opens: bool
    closes: bool


class CharacterCosts(dict[str, int]):
    """What a character costs that is in no longer piece: one if it is a piece, else part of its bytes."""

    def __init__(self, pieces: frozenset[str], floors: bytes) -> None:
        super().__init__((piece, 1) for piece in pieces if len(piece) == 1)
        self.floors = floors

    def __missing__(self, character: str) -> int:
        return self.floors[ord(character) >> 6]


class Vocabulary:
    """Counts the tokens of one vocabulary."""

    def __init__(self, alphabet: Alphabet, floors: bytes, pieces: str, fold_quotes: bool, caps_from: int) -> None:
        self.alphabet = alphabet
        self.fold_quotes = fold_quotes
        self.caps_from = caps_from
        self.pieces = frozenset(pieces.split("\0"))
        self.costs = CharacterCosts(self.pieces, floors)
        self.longest = max(map(len, self.pieces))
        self.lengths = _lengths(self.pieces)
        self.longest_run = _longest_runs(self.pieces)
        self.fields: list[list[dict[str, Field]]] = [[{}, {}], [{}, {}]]  # by space before and after
        self.words: dict[str, int] = {}
        self.stretches: dict[str, int] = {}

    def count(self, text: str, frame_bow: bool, head_space: bool, /) -> int:
        """Return the tokens of NFC `text` as the content of one message.

        `frame_bow`: the frame before it ends in an opening marker, which stands for one leading space if
        `head_space` says that the space was there from the start.
        """
        text = self.alphabet.folded(text)
        if self.fold_quotes and not text.isascii():
            text = text.translate(QUOTES)
        body = text.rstrip("\n")
        tokens = self._tail(len(text) - len(body))
        if frame_bow and head_space and body[:1] == " " and body[1:2] != " ":
            body = body[1:]
        return tokens + (self._body(body, frame_bow) if body else int(frame_bow))

    def _tail(self, newlines: int) -> int:
        """The frame adds two newlines and pays for the last token of the run that they close."""
        return self._stretch("\n" * (newlines + 2)) - 1 if newlines else 0

    def _body(self, body: str, frame_bow: bool) -> int:
        """Add up fields and blanks; a lone space between two markers is free."""
        parts = self.alphabet.blanks.split(body)
        parts.append("")  # fields and blanks come in pairs
        tokens, before, facing = 0, False, False
        if frame_bow:
            head, blank = parts[0], parts[1]
            first = self._field(head, True, _is_single_space(blank), frame=True)
            if not head and body[0] != " ":
                tokens += 1  # no space is there to be the marker that the frame ends in
            tokens += first.tokens + self._stretch(blank)
            before, facing = blank[-1:] == " ", first.closes and blank == " "
            del parts[:2]
        for field, blank in zip(parts[::2], parts[1::2], strict=True):
            after = blank == " " or _is_single_space(blank)
            found = self.fields[before][after].get(field) or self._new_field(field, before, after)
            tokens += found[0]
            if facing and found[1]:
                tokens -= 1
            if blank == " ":
                tokens += 1
                before, facing = True, found[2]
            else:
                tokens += self._stretch(blank)
                before, facing = blank[-1:] == " ", False
        return tokens

    # ---- fields -----------------------------------------------------------------------------------

    def _new_field(self, field: str, before: bool, after: bool) -> Field:
        found = self._field(field, before, after)
        if len(field) <= SHORT:
            _keep(self.fields[before][after], field, found)
        return found

    def _field(self, field: str, before: bool, after: bool, frame: bool = False) -> Field:
        """Measure a field; `frame`: it opens the message and takes the marker that the frame ends in."""
        runs = [(run.lastindex, run[0]) for run in self.alphabet.runs.finditer(field)]
        runs.append((None, ""))
        tokens, stretch = 0, ""  # what is counted, and the marked text that is still to be
        opens = closes = quote = border = border_before = False
        previous = None
        for at, (kind, body) in enumerate(runs[:-1]):
            first, last, following = at == 0, at == len(runs) - 2, runs[at + 1][0]
            closing = body[-1] in self.alphabet.border
            if kind == A_WORD:
                closes = True
                if previous == MARKS or (quote and not border_before and body in CONTRACTIONS):
                    stretch += body + EOW
                else:
                    tokens += self._stretch(stretch) + self._word(body)
                    stretch, opens = "", opens or first
            elif kind == MARKS:
                tokens += self._stretch(stretch)
                stretch = BOW + body + ("" if following == A_WORD else EOW)
                opens, closes = opens or first, True
            else:
                opener = body == "'" and following in (A_WORD, MARKS)
                opening, closing = self._borders(kind, body)
                closes = closing and last and after
                if first and before and opening and not opener:
                    opens, stretch = True, BOW
                elif first and frame:
                    tokens, stretch = (tokens + 1, "") if opener else (tokens, BOW)
                if kind == IDEOGRAPHS:
                    tokens += self._stretch(stretch) + sum(map(self.costs.__getitem__, body)) + closes
                    stretch = ""
                else:
                    stretch += body + EOW * closes
            quote, border_before, border, previous = body == "'", border, closing, kind
        return Field(tokens + self._stretch(stretch), opens, closes)

    def _borders(self, kind: int | None, body: str) -> tuple[bool, bool]:
        """Whether a run that is no word takes a marker towards a space before it and after it."""
        if kind == SIGNS:
            return True, True
        border = self.alphabet.border
        opening, closing = body[0] in border, body[-1] in border
        if not opening and not closing and (kind == DIGITS or (kind == NUMERALS and self.alphabet.uniform(body))):
            return not body[0].isascii(), not body[-1].isascii()
        return opening, closing

    # ---- words and tiles --------------------------------------------------------------------------

    def _word(self, word: str) -> int:
        tokens = self.words.get(word)
        if tokens is None:
            tokens = self._tile(self._marked(word))
            if len(word) <= SHORT:
                _keep(self.words, word, tokens)
        return tokens

    def _marked(self, word: str) -> str:
        """Write a word between its markers, capitals as a marker where the whole word has one case.

        Example: "Paris" -> SHIFT BOW "paris" EOW
        """
        small = word.translate(self.alphabet.lower)
        if small == word or "ẞ" in word:
            return BOW + word + EOW
        dotless = word.replace("İ", "")  # this capital stays as it is and hides from the tests
        upper = self.alphabet.upper
        if self.caps_from and len(dotless) == len(word) >= self.caps_from and self.alphabet.all_capital(word):
            return CAPS + BOW + small + EOW
        if word[0] in upper and word[0] != "İ" and upper.isdisjoint(dotless[1:]):
            return SHIFT + BOW + small + EOW
        return BOW + word + EOW

    def _stretch(self, marked: str) -> int:
        if not marked:
            return 0
        tokens = self.stretches.get(marked)
        if tokens is None:
            tokens = self._tile(marked)
            if len(marked) <= SHORT:
                _keep(self.stretches, marked, tokens)
        return tokens

    def _tile(self, marked: str) -> int:
        """Return the fewest pieces and bytes that make up `marked`."""
        saved = 0
        if len(marked) > LONG:
            marked, saved = self._shortened(marked)
        pieces, lengths, costs, size = self.pieces, self.lengths, self.costs, len(marked)
        best = [0, *[4 * size] * size]
        for at, character in enumerate(marked):
            tokens = best[at]
            alone = tokens + costs[character]
            if alone < best[at + 1]:
                best[at + 1] = alone
            tokens += 1
            for length in lengths.get(marked[at : at + 2], ()):
                end = at + length
                if end > size:
                    break
                if tokens < best[end] and marked[at:end] in pieces:
                    best[end] = tokens
        return best[size] + saved

    def _shortened(self, marked: str) -> tuple[str, int]:
        """Take whole longest pieces out of runs of one character; return the rest and their number.

        Of n pieces of one character, some have a length that sums to a multiple of n: the longest pieces would
        do it with no more tokens. So a best tiling has fewer than n pieces that are not the longest (n long),
        and the rest of a run can be counted without looking.
        """
        taken = 0

        def shorten(run: re.Match[str]) -> str:
            nonlocal taken
            longest = self.longest_run.get(run[1], 0)
            spare = run.end() - run.start() - longest * longest - 2 * self.longest
            if not longest or spare < longest:
                return run[0]
            taken += spare // longest
            return run[1] * (run.end() - run.start() - spare // longest * longest)

        return REPEATED.sub(shorten, marked), taken


def _keep(cache: dict[str, Value], key: str, value: Value) -> None:
    if len(cache) >= KEPT:
        cache.clear()
    cache[key] = value


def _ranges(characters: Iterable[str]) -> str:
    """Spell characters, which come in order, for the inside of a regex class.

    Example: "abcx" -> "\\u0061-\\u0063\\u0078-\\u0078"
    """
    spans: list[list[int]] = []
    for point in map(ord, characters):
        if spans and spans[-1][1] == point - 1:
            spans[-1][1] = point
        else:
            spans.append([point, point])
    return "".join(f"\\u{low:04x}-\\u{high:04x}" for low, high in spans)


def _is_single_space(blank: str) -> bool:
    """Whether a blank starts with one space and not with two."""
    return blank[:1] == " " and blank[1:2] != " "


def _lengths(pieces: Iterable[str]) -> dict[str, tuple[int, ...]]:
    """How long the pieces are that start with two given characters, shortest first."""
    lengths: dict[str, set[int]] = {}
    for piece in pieces:
        if len(piece) > 1:
            lengths.setdefault(piece[:2], set()).add(len(piece))
    return {start: tuple(sorted(found)) for start, found in lengths.items()}


def _longest_runs(pieces: frozenset[str]) -> dict[str, int]:
    """The longest piece made of one character, for the characters that are pieces themselves."""
    longest: dict[str, int] = {}
    for piece in pieces:
        if piece[0] in pieces and piece == piece[0] * len(piece):
            longest[piece[0]] = max(len(piece), longest.get(piece[0], 0))
    return longest
