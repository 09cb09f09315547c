"""The plain-Python half of brim.tokens.claude: the same count as _claude.c.

No piece joins a word to what is beside it, but for contractions, and none joins blanks to anything. So a text
is cut at its blanks into fields; a field's cost depends on whether a space stands before and after it, and is
looked up by its spelling; a field that is not known yet is cut into runs of one kind, and only words and
stretches of signs that are new are tiled.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Any, NamedTuple, TypeVar

BOW, EOW, SHIFT, CAPS = "\ue000\ue001\ue002\ue003"

IDEOGRAPH, WORD, STRAY, BLANK, NUMBER, SIGN, SYMBOL, DECIMAL, NUMERAL, SELECTOR = range(10)
CONTROL, PRIVATE, SPACELIKE, HALF = range(10, 14)
UPPER, LOWER, CASELESS, BORDER = 0x10, 0x20, 0x40, 0x80

CONTRACTIONS = frozenset({"s", "t", "d", "m", "ll", "re", "ve"})
QUOTES = str.maketrans("‘’“”", "''\"\"")
THAI_AM_PARTS, THAI_AM = "\u0e4d\u0e32", "\u0e33"

KEPT = 100_000  # entries after which a cache is cleared
SHORT = 64  # longer spellings rarely repeat and are not kept
LONG = 4_096  # from here on it pays to shorten runs of one character before tiling
REPEATED = re.compile(r"(.)\1{15,}", re.DOTALL)

Value = TypeVar("Value")
PieceNode = dict[str, Any]  # the nodes one character on; under "" whether a piece ends here


class Alphabet:
    """The character classes of a vocabulary, as the sets and patterns that the counter uses."""

    def __init__(self, kinds: bytes, lower: dict[int, int]) -> None:
        self.lower = lower
        members: list[list[str]] = [[] for _ in range(16)]
        for point, kind in enumerate(kinds):
            members[kind & 15].append(chr(point))
        of = [_ranges(group) for group in members]
        self.upper, self.small, self.caseless, self.border = (
            frozenset(chr(point) for point, kind in enumerate(kinds) if kind & flag)
            for flag in (UPPER, LOWER, CASELESS, BORDER)
        )
        self.signs = frozenset(members[SIGN])
        self.digits = frozenset(members[NUMBER])
        self.numbers = frozenset(members[DECIMAL] + members[NUMERAL])
        self.selectors = frozenset(members[SELECTOR])
        self.number_run = re.compile(f"[{of[DECIMAL]}{of[NUMERAL]}][{of[DECIMAL]}{of[NUMERAL]}{of[SELECTOR]}]*")
        self.number_of_one_kind = re.compile(f"[{of[DECIMAL]}]+|[{of[NUMERAL]}]+")
        self.runs = re.compile(f"([{of[WORD]}][{of[WORD]}{of[STRAY]}]*)|([{of[STRAY]}]+)|([^{of[WORD]}{of[STRAY]}]+)")
        self.blanks = re.compile(f"([{of[BLANK]}]+)")
        self.controls = re.compile(f"[{of[CONTROL]}]+")
        self.privates = re.compile(f"[{of[PRIVATE]}]+")
        self.spaces = re.compile(f"[{of[SPACELIKE]}]")
        self.halves = re.compile(f"[{of[HALF]}]")
        self.foldable = re.compile(f"[{of[CONTROL]}{of[PRIVATE]}{of[SPACELIKE]}{of[HALF]}]|{THAI_AM_PARTS}")

    def all_capital(self, word: str) -> bool:
        """Whether a word has capitals, and nothing small or without case."""
        return not self.upper.isdisjoint(word) and self.small.isdisjoint(word) and self.caseless.isdisjoint(word)

    def opens(self, signs: str) -> bool:
        """Whether text that starts with no word takes a marker towards a space before it.

        Example: "(1)" -> True, "1)" -> False, "½" -> True
        """
        first = signs[0]
        if first in self.numbers:
            run = self.number_run.match(signs)
            return run is not None and self.number_of_one_kind.fullmatch(run[0]) is not None
        return first in self.signs or first in self.border or (first in self.digits and not first.isascii())

    def closes(self, text: str, end: int) -> bool:
        """Whether the run of signs or numbers that ends at `end` takes a marker towards a space there."""
        last = text[end - 1]
        if last in self.numbers:
            start = end
            while start and (text[start - 1] in self.numbers or text[start - 1] in self.selectors):
                start -= 1
            run = self.number_run.search(text, start, end)
            return run is not None and self.number_of_one_kind.fullmatch(run[0]) is not None
        return last in self.signs or last in self.border or (last in self.digits and not last.isascii())

    def contracts(self, field: str, at: int) -> bool:
        """Whether a lone apostrophe before `at` ties what follows to the word or digits before it.

        Example: "it's", 3 -> True, "(it)'s", 5 -> False
        """
        return at > 0 and field[at - 1] == "'" and (at == 1 or not self.closes(field, at - 1))

    def folded(self, text: str) -> str:
        """Drop and replace the characters that Claude does not see as they are.

        Example: "a\\x07\\u00a0b" -> "a b"
        """
        if not self.foldable.search(text):
            return text
        text = self.controls.sub("", text).replace(THAI_AM_PARTS, THAI_AM)
        text = self.spaces.sub(" ", self.privates.sub("", text))
        return self.halves.sub("\ufffd", text)


A_WORD, MARKS, SIGNS = range(1, 4)  # groups of Alphabet.runs


class TableField(NamedTuple):
    """The text between two blanks: its tokens, and whether it has markers towards those blanks."""

    tokens: int
    opens: bool
    closes: bool


class CharacterCosts(dict[str, int]):
    """The cost of a character outside any longer piece: one token if it is a piece itself, otherwise by its bytes."""

    def __init__(self, trie: PieceNode, floors: bytes) -> None:
        super().__init__((character, 1) for character, node in trie.items() if node.get(""))
        self.floors = floors

    def __missing__(self, character: str) -> int:
        tokens = self[character] = self.floors[ord(character) >> 6]
        return tokens


class PlainVocabulary:
    """Counts the tokens of one vocabulary."""

    def __init__(self, alphabet: Alphabet, floors: bytes, pieces: str, fold_quotes: bool, caps_from: int) -> None:
        self.alphabet = alphabet
        self.fold_quotes = fold_quotes
        self.caps_from = caps_from
        spelled = pieces.split("\0")
        self.trie = _trie(spelled)
        self.longest = max(map(len, spelled))
        self.costs = CharacterCosts(self.trie, floors)
        self.forget()

    def forget(self) -> None:
        """Empty the caches of measured spellings."""
        self.fields: list[list[dict[str, TableField]]] = [[{}, {}], [{}, {}]]  # by space before and after
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

    def _new_field(self, field: str, before: bool, after: bool) -> TableField:
        found = self._field(field, before, after)
        if len(field) <= SHORT:
            _keep(self.fields[before][after], field, found)
        return found

    def _field(self, field: str, before: bool, after: bool, frame: bool = False) -> TableField:
        """Measure a field; `frame`: it opens the message and takes the marker that the frame ends in."""
        tokens, stretch = 0, ""  # what is counted, and the marked text that is still to be
        opens = closes = False
        previous = 0
        for run in self.alphabet.runs.finditer(field):
            kind, body, start = run.lastindex or 0, run[0], run.start()
            opens, closes = opens or start == 0, True
            if kind == A_WORD:
                if previous == MARKS or (body in CONTRACTIONS and self.alphabet.contracts(field, start)):
                    stretch += body + EOW
                else:
                    tokens += self._stretch(stretch) + self._word(body)
                    stretch = ""
            elif kind == MARKS:
                tokens += self._stretch(stretch)
                stretch = BOW + body
            else:
                if previous == MARKS:
                    stretch += EOW
                if start == 0:
                    quote = body == "'" != field  # it opens the word behind it and takes no marker
                    tokens += quote and frame
                    opens = not quote and (frame or (before and self.alphabet.opens(body)))
                    stretch = BOW * opens
                closes = after and run.end() == len(field) and self.alphabet.closes(body, len(body))
                stretch += body + EOW * closes
            previous = kind
        if previous == MARKS:
            stretch += EOW
        return TableField(tokens + self._stretch(stretch), opens, closes)

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
        marked, taken = self._shortened(marked) if len(marked) > LONG else (marked, 0)
        size, at = len(marked), 0
        best = [0, *[4 * size] * size]
        for run in REPEATED.finditer(marked):
            self._step(marked, best, at, run.start())
            self._step_through(marked, best, run.start(), run.end())
            at = run.end()
        self._step(marked, best, at, size)
        return best[size] + taken

    def _step(self, marked: str, best: list[int], start: int, stop: int) -> None:
        """Try every piece that begins at `start` or later and before `stop`."""
        trie, costs, size = self.trie, self.costs, len(marked)
        for at in range(start, stop):
            character = marked[at]
            tokens = best[at] + costs[character]
            end = at + 1
            if tokens < best[end]:
                best[end] = tokens
            node = trie.get(character)
            tokens = best[at] + 1
            while node and end < size:
                node = node.get(marked[end])
                end += 1
                if node and "" in node and tokens < best[end]:
                    best[end] = tokens

    def _step_through(self, marked: str, best: list[int], start: int, stop: int) -> None:
        """Do the same for a run of one character, without spelling out each of its pieces again."""
        character = marked[start]
        lengths, nodes = self._repeats(character)
        for at in range(start, stop):
            best[at + 1] = min(best[at + 1], best[at] + self.costs[character])
            tokens, left = best[at] + 1, stop - at
            for length in lengths:
                if length > left:
                    break
                if tokens < best[at + length]:
                    best[at + length] = tokens
            node, end = nodes[left] if left < len(nodes) else None, stop
            while node and end < len(marked):
                node = node.get(marked[end])
                end += 1
                if node and "" in node and tokens < best[end]:
                    best[end] = tokens

    def _shortened(self, marked: str) -> tuple[str, int]:
        """Take longest pieces out of runs of one character; return what is left, and how many were taken.

        Among n pieces of a run there are always some whose lengths add up to a multiple of n, and if n is the
        longest length, the longest piece does their work with no more tokens. So some best tiling has fewer
        than n other pieces: n * n characters and the two ends decide, and the rest is longest pieces.
        """
        taken = 0

        def shorten(run: re.Match[str]) -> str:
            nonlocal taken
            lengths, _ = self._repeats(run[1])
            longest = lengths[-1] if lengths else 1
            spare = (len(run[0]) - longest * longest - 2 * self.longest) // longest
            if spare <= 0 or run[1] not in self.trie or "" not in self.trie[run[1]]:
                return run[0]
            taken += spare
            return run[1] * (len(run[0]) - spare * longest)

        return REPEATED.sub(shorten, marked), taken

    def _repeats(self, character: str) -> tuple[list[int], list[PieceNode]]:
        """The lengths of the pieces that only repeat a character, and the trie's way along it."""
        nodes = [self.trie]
        while node := nodes[-1].get(character):
            nodes.append(node)
        return [length for length, node in enumerate(nodes) if length > 1 and "" in node], nodes


def _trie(pieces: Iterable[str]) -> PieceNode:
    root: PieceNode = {}
    for piece in pieces:
        node = root
        for character in piece:
            node = node.setdefault(character, {})
        node[""] = True
    return root


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
