"""Compaction is linear: twice the text takes about twice the CPU, whatever the text is made of."""

from __future__ import annotations

import json
from collections.abc import Callable
from time import process_time

import pytest
from rooms import count, room

from brim import content
from brim.content import arguments
from brim.content.code import source as code
from brim.content.detect import detect, line_patterns, parts
from brim.content.json import extract as shorten
from brim.errors import NotDecodable

SIZE = 4_000
# What takes less than this for the larger text cannot be super-linear enough to matter: a square would show.
QUICK_SECONDS = 0.04
MOST_TIMES = 2.6
UNITS = [
    "a", "A", "0", " ", "\n", "\t", "-", "=", ".", "!", "\\", '"', "[", "(", "{", "<", "#", "/", "漢", "_", "|", ":",
    ",", "`", "'", "@", "*", "a ", "a\n", "a.", "a/", "a-", "a_", "a,", "Ab ", "\\n", '"",', '\\"', "(,", "[]", "{}",
    "<a>",
    "<a ", "</", "<!--", "<a b='", "```\n", "- a\n", "# \n", "@@ ", "+\n", " \n", "\r\n", "1,2\n", '"a,', "a: b\n",
    "data:a", "http://", 'File "', "│   ", "├── ", "aA0+/", "::", "__ ", "..", "。", "! ", "A. ", '"a" ', '{"a":',
    "[1,", '[{"a":1},', '{"a":1}\n', '"""', "\x00", "\x1b[", "ERROR ", "2024-01-01 ", "|-", "---\n", "x=1;", "1.5, ",
]  # fmt: skip


def seconds(work: Callable[[str], object], text: str) -> float:
    begun = process_time()
    work(text)
    return process_time() - begun


def is_linear(work: Callable[[str], object], once: str, twice: str) -> bool:
    """Whether the larger text takes at most 2.6 times the CPU of the smaller, best of several, measured in turn."""
    if seconds(work, twice) < QUICK_SECONDS:
        return True
    pairs = [(seconds(work, once), seconds(work, twice)) for _ in range(3)]
    return min(pair[1] for pair in pairs) <= max(QUICK_SECONDS, MOST_TIMES * min(pair[0] for pair in pairs))


def compactors(kind: str) -> list[Callable[[str], object]]:
    module = content.module_of(kind)
    found: list[Callable[[str], object]] = [getattr(module, "dense", len)]
    for share in (150, 12):
        found.append(lambda text, share=share: module.extract(text, room(len(text) // share, "error in a file")))  # type: ignore[misc]
    for head in (" ", "\n%[](a,b)\n", "\n%=(") if hasattr(module, "decode") else ():
        found.append(lambda text, head=head: decoded(f"#brim {kind}{head}{text}"))  # type: ignore[misc]
    return found


def decoded(text: str) -> object:
    try:
        return content.decode(text)
    except NotDecodable:
        return None


@pytest.mark.parametrize("kind", content.KINDS)
def test_a_unit_repeated_takes_time_in_proportion_to_its_length(kind: str) -> None:
    slow = []
    for unit in UNITS:
        once, twice = unit * (SIZE // len(unit)), unit * (2 * SIZE // len(unit))
        slow += [(kind, unit, at) for at, work in enumerate(compactors(kind)) if not is_linear(work, once, twice)]
    assert not slow


@pytest.mark.parametrize("work", [detect, parts])
def test_telling_what_a_unit_repeated_is_takes_time_in_proportion_to_its_length(work: Callable[[str], object]) -> None:
    texts = [(unit * (SIZE // len(unit)), unit * (2 * SIZE // len(unit))) for unit in UNITS]
    assert [once[:9] for once, twice in texts if not is_linear(work, once, twice)] == []


def sparse(number: int) -> str:
    return json.dumps({f"key{at}": {f"k{at % 150}": "x", "n": at} for at in range(number)})


def quoted_in_lists(number: int) -> str:
    said = 'He said "go", then (after a while) "stop" ' * number
    return json.dumps([[{"a": said, "b": [1, said]}, {"a": "x", "b": [2]}], {"c": [said, {"d": said}]}])


def wide(number: int) -> str:
    return json.dumps([{f"key {at}": "value" for at in range(number)}] * 2)


def deep(number: int) -> str:
    return '{"x":1,"y":' * 60 + json.dumps(["(a, b)", {"c": 1}] * number) + "}" * 60


@pytest.mark.parametrize("make", [sparse, quoted_in_lists, wide, deep])
def test_odd_json_takes_time_in_proportion_to_its_length(make: Callable[[int], str]) -> None:
    for work in compactors("json")[:3]:
        assert is_linear(work, make(150), make(300))


def test_rows_with_fields_of_their_own_take_time_in_proportion_to_their_number() -> None:
    def rows(number: int) -> str:
        return json.dumps([{f"w{at}": "abc", "n": at} for at in range(number)])

    for tokens in (200, 3_000):
        assert is_linear(lambda text, tokens=tokens: shorten(text, room(tokens)), rows(1_500), rows(3_000))  # type: ignore[misc]


def test_many_fields_by_themselves_take_time_in_proportion_to_their_number() -> None:
    def fields(number: int) -> str:
        return json.dumps({f"key{at}": {f"k{at}": {f"v{at}": ["a", "b"]}} for at in range(number)})

    assert is_linear(lambda text: shorten(text, room(len(text) // 8)), fields(1_000), fields(2_000))


def test_fields_that_few_of_many_rows_have_stand_with_their_keys() -> None:
    rows = [{"id": at, f"w{at}": f"value-{at}"} for at in range(600)]
    shown = shorten(json.dumps(rows), room(2_000))
    assert "599, w599: value-599" in shown


def test_a_map_of_entries_with_their_own_keys_makes_no_table_of_blanks() -> None:
    text = sparse(600)
    form = content.module_of("json").dense(text)
    assert form is None or form.count(",") < 8 * 600
    assert form is None or content.decode(form) == json.loads(text)


def test_a_sentence_of_many_clauses_is_cut_in_a_few_tries() -> None:
    tries = []

    def counting(text: str) -> int:
        tries.append(len(text))
        return count(text)

    text = "We met. " + "239.28, " * 3_000 + "and so on. It ended."
    small = room(count(text) // 2)
    shown = content.module_of("prose").extract(text, content.Room(small.tokens, counting))
    assert count(shown) <= small.tokens
    assert sum(tries) < 40 * len(text)


def test_json_nested_deeper_than_a_table_is_good_for_still_fits_its_room() -> None:
    for depth in (60, 100, 150, 400, 3_000):
        for opening, closing in (("[", "]"), ('{"a":', "}"), ('{"x":1,"b":[', "]}")):
            text = opening * depth + '"' + "word " * 400 + '"' + closing * depth
            content.module_of("json").dense(text)
            for tokens in (20, 200):
                assert count(content.module_of("json").extract(text, room(tokens))) <= tokens


@pytest.mark.parametrize(("kind", "unit"), [("matches", "."), ("matches", "/"), ("html", "\\")])
def test_a_line_of_one_sign_that_ends_otherwise_takes_time_in_proportion_to_its_length(kind: str, unit: str) -> None:
    def work(text: str) -> object:
        return content.module_of(kind).extract(text, room(60))

    assert is_linear(work, unit * 20_000 + " !", unit * 40_000 + " !")
    assert is_linear(detect, f"{unit * 20_000} !\n" * 3, f"{unit * 40_000} !\n" * 3)


@pytest.mark.parametrize(
    ("path", "unit"),
    [("a.lua", "function(\n"), ("a.rs", 'r#"x\n')],
)
def test_a_text_that_is_not_of_its_language_takes_time_in_proportion_to_its_length(path: str, unit: str) -> None:
    def work(text: str) -> object:
        return code.extract(text, room(400), path)

    assert is_linear(work, unit * 1_000, unit * 2_000)


def test_arguments_that_are_nested_deeply_and_never_closed_take_time_in_proportion_to_their_length() -> None:
    def work(text: str) -> object:
        return arguments.extract(text, room(400))

    assert is_linear(work, "[" * 2_000 + '\\"' * 3_000, "[" * 2_000 + '\\"' * 6_000)


def test_one_endless_word_in_what_looks_like_a_script_takes_time_in_proportion_to_its_length() -> None:
    words = ["9" * size for size in (1_500, 3_000)]
    assert is_linear(lambda word: [line_patterns.SCRIPT.findall(word) for _ in range(20)], *words)
