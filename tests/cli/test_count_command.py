"""`brim count`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import brim
from tests.cli.conftest import Run


def test_a_text_from_standard_input_is_counted(run: Run) -> None:
    done = run("count", "--model", "gpt-4o", stdin="hello world")
    assert done.code == 0
    assert done.out == "2 tokens (exact)\n"


def test_a_text_file_is_counted_as_json(run: Run, tmp_path: Path) -> None:
    (tmp_path / "note.txt").write_text("hello world")
    assert run("count", "note.txt", "-m", "gpt-4o", "--json").json == {
        "tokens": 2,
        "upper": brim.count("hello world", model="gpt-4o").upper,
        "source": "exact",
    }


def test_a_messages_file_is_counted_by_message_and_by_layer(
    run: Run, tmp_path: Path, chat: list[dict[str, Any]]
) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(chat))
    found = run("count", "chat.json", "--model", "gpt-4o", "--json").json
    assert found["tokens"] == brim.count(chat, model="gpt-4o").tokens
    assert [one["role"] for one in found["messages"]] == [one["role"] for one in chat]
    assert sum(found["layers"].values()) == found["tokens"]
    assert found["layers"]["current message"] == found["messages"][-1]["tokens"]
    assert found["max_input"] > 100_000


def test_the_table_shows_every_message_the_layers_and_the_share_of_the_window(
    run: Run, tmp_path: Path, chat: list[dict[str, Any]]
) -> None:
    (tmp_path / "chat.json").write_text(json.dumps(chat[-3:]))
    done = run("count", "chat.json", "--model", "gpt-4o")
    assert "How many are left in Oslo?" in done.out
    assert "L5 current message:" in done.out
    assert "that gpt-4o takes (ok)" in done.out


def test_a_body_names_its_own_model(run: Run) -> None:
    body = {
        "model": "claude-sonnet-4-5",
        "max_tokens": 9,
        "system": "Be brief.",
        "messages": [{"role": "user", "content": "hi"}],
    }
    found = run("count", "-", "--json", stdin=json.dumps(body)).json
    assert found["tokens"] == brim.count(body).tokens
    assert found["source"] == "reconstructed"


def test_one_message_a_line_is_a_conversation_too(run: Run, chat: list[dict[str, Any]]) -> None:
    lines = "\n".join(map(json.dumps, chat))
    found = run("count", "--model", "gpt-4o", "--json", stdin=lines).json
    assert found["tokens"] == brim.count(chat, model="gpt-4o").tokens


def test_json_that_is_no_request_is_counted_as_text(run: Run) -> None:
    for text in ('[{"name": "Ada", "role": "admin"}]', '{"a": [1, 2]}', "[" * 5_000, '[{"role": ["user"]}]'):
        found = run("count", "--model", "gpt-4o", "--json", stdin=text)
        assert (found.code, set(found.json)) == (0, {"tokens", "upper", "source"})


def test_a_folder_is_counted_file_by_file_without_hidden_and_binary_ones(run: Run, tmp_path: Path) -> None:
    tree = {"src/a.py": "print(1)", "src/b/c.md": "hello world", "src/.git/x": "secret", "src/node_modules/y.js": "z"}
    for name, text in tree.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    (tmp_path / "src/picture.bin").write_bytes(b"\x00\x01")
    found = run("count", "src", "--model", "gpt-4o", "--json").json
    assert found["files"] == {"a.py": 4, "b/c.md": 2}
    assert found["tokens"] == 6
    assert "6 tokens in 2 text files" in run("count", "src", "--model", "gpt-4o").out


def test_what_is_missing_or_unknown_is_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "bad.json").write_text('[{"role": "user", "content": "a"}, {"role": "user", "content": 7}]')
    for args, words in {
        ("count", "-"): "--model: is missing",
        ("count", "nowhere.txt", "-m", "gpt-4o"): "there is no file 'nowhere.txt'",
        ("count", "-", "-m", "gpt4o"): "did you mean gpt-4o",
        ("count", "bad.json", "-m", "gpt-4o"): "messages[1].content: must be text",
    }.items():
        done = run(*args, stdin="hello")
        assert (done.code, done.out) == (2, "")
        assert words in done.err


def test_a_model_that_nobody_knows_is_estimated_and_that_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "hello"}]')
    for args in (("count", "-"), ("count", "chat.json")):
        done = run(*args, "-m", "my-model", stdin="hello")
        assert done.code == 0
        assert "'my-model' is not a known model, so its tokens are estimated" in done.err
        assert "estimate" in done.out
    found = run("count", "chat.json", "-m", "my-model", "--json").json
    assert (found["source"], "max_input" in found) == ("estimated", False)
    # Its name says which vocabulary it may have; that makes its count no more than an estimate.
    assert run("count", "-", "-m", "claude", stdin="hello").out.startswith("2 tokens (estimated, at most")


def test_what_begins_like_json_and_is_none_is_counted_as_text_and_that_is_said(run: Run, tmp_path: Path) -> None:
    (tmp_path / "chat.json").write_text('[{"role": "user", "content": "hi"}')
    done = run("count", "chat.json", "--model", "gpt-4o")
    assert done.code == 0
    assert "chat.json is not JSON" in done.err
    assert "counted as plain text" in done.err
    assert run("count", "--model", "gpt-4o", stdin="[a note] about {braces}\n").out


def test_bytes_that_are_no_text_are_counted_with_a_word_on_that(run: Run) -> None:
    done = run("count", "--model", "gpt-4o", stdin=b"abc\xff\xfe")
    assert done.code == 0
    assert "standard input is not UTF-8 text (byte 3)" in done.err
