"""Scenarios of the plan that ends "Message exceeds token limit": instructions, documents and history kept apart."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest

import brim
from brim import Policy, prompt
from brim.docsearch import FEATURES, instructions, openai_tool, search
from brim.planning.policies.concise import INSTRUCTIONS
from brim.summaries.deterministic import HEADER

MODEL = "gpt-4o"
RULES = "You are the planning assistant.\n\nSpec: every change has a test."


def user(text: str) -> dict[str, Any]:
    return {"role": "user", "content": text}


def assistant(text: str) -> dict[str, Any]:
    return {"role": "assistant", "content": text}


def talk(turns: int, characters: int = 600) -> list[dict[str, Any]]:
    """So many turns in which something is asked and decided."""
    found: list[dict[str, Any]] = []
    for n in range(turns):
        detail = f"Detail {n} of the chat window and its history. " * (characters // 45)
        found += [
            user(f"Request {n}: change part {n}. {detail}"),
            assistant(f"- Decided: part {n} uses SQLite.\n{detail}"),
        ]
    return found


def concise(messages: list[dict[str, Any]], **settings: Any) -> brim.Fitted:
    return brim.fit(messages, model=MODEL, policy=Policy.concise(**settings))


@pytest.fixture
def features(tmp_path: Path) -> Path:
    """Forty specifications, two of them about what is asked, and folders that are left out."""
    root = tmp_path / ".prompts" / "features"
    for n in range(40):
        path = root / ("2026" if n % 2 else "2025") / f"feature-{n:02}.md"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"# Feature {n}\n\nButtons of page {n} are blue.\n" * 8)
    (root / "2026" / "chat-history.md").write_text("# Chat history\n\nThe history is kept for each chat.\n")
    (root / "memory.md").write_text("# Memory\n\nThe chat has a history. The history is short.\n")
    for left_out in ("removed-features", "bugs"):
        (root / left_out).mkdir()
        (root / left_out / "chat-history.md").write_text("chat history " * 50)
    return root


# Change 1: instructions as a message of their own


@pytest.mark.parametrize("turns", [0, 1, 8])
def test_instructions_are_a_dedicated_first_message_on_the_first_and_on_later_turns(turns: int) -> None:
    messages = [{"role": "system", "content": RULES}, *talk(turns), user("And now?")]
    fitted = concise(messages, system_role=False)
    assert fitted.messages[0] == user(f"[SYSTEM INSTRUCTIONS]\n\n{RULES}")
    assert all(RULES not in message["content"] for message in fitted.messages[1:])
    assert fitted.messages[-1] == user("And now?")
    assert INSTRUCTIONS == "[SYSTEM INSTRUCTIONS]\n\n"


def test_a_policy_over_http_takes_its_settings_with_each_call(gateway: Any) -> None:
    body = {"model": MODEL, "messages": [{"role": "system", "content": RULES}, user("And now?")]}
    asked = {"request": body, "policy": {"name": "concise", "system_role": False}}
    answer = gateway.ask("POST", "/brim/v1/fit", asked)
    assert answer.json["request"]["messages"] == [user(f"[SYSTEM INSTRUCTIONS]\n\n{RULES}"), user("And now?")]
    refused = gateway.ask("POST", "/brim/v1/fit", asked | {"policy": {"name": "concise", "compact_at": 0.5}})
    assert refused.status == 422
    assert "policy.compact_at" in refused.body.decode()


def test_a_prompt_of_sections_puts_its_instructions_first_where_there_is_no_system_role() -> None:
    sections = [brim.Section(RULES, role="system"), brim.Section("And now?", role="user")]
    made = prompt.render(sections, model=MODEL, system_role=False)
    assert made.messages == [user(f"[SYSTEM INSTRUCTIONS]\n\n{RULES}"), user("And now?")]


# Change 2: documents on demand


def test_search_scores_three_for_a_name_and_one_for_each_occurrence(features: Path) -> None:
    found = search(features, ["chat", "history"])
    scores = {hit.path: hit.score for hit in found.hits}
    # chat-history.md: 2 names x 3, "chat" twice and "history" twice in its text; memory.md: 1 + 2.
    assert scores == {"2026/chat-history.md": 6 + 4, "memory.md": 3}
    assert [hit.path for hit in found.hits] == ["2026/chat-history.md", "memory.md"]


def test_search_gives_the_top_five_in_full_under_a_critical_header(features: Path) -> None:
    found = search(features, ["buttons"])
    assert len(found.hits) == 5
    assert found.matched == 40
    assert "CRITICAL" in found.text.split("###")[0]
    for hit in found.hits:
        assert (features / hit.path).read_text() in found.text


def test_search_leaves_out_removed_features_and_bugs(features: Path) -> None:
    assert not [hit for hit in search(features, ["history"]).hits if hit.path.startswith(("removed", "bugs"))]


def test_search_without_keywords_or_without_a_match_lists_the_files(features: Path) -> None:
    for keywords in ([], ["  "], ["zebra"]):
        text = search(features, keywords).text
        assert "- 2026/chat-history.md" in text
        assert text.count("\n- ") + text.startswith("- ") == 42


def test_search_of_a_missing_folder_says_no_feature_files_found(tmp_path: Path) -> None:
    assert search(tmp_path / "nothing", ["chat"]).text == "No feature files found"


def test_search_skips_a_file_that_cannot_be_read(features: Path) -> None:
    (features / "chat.md").symlink_to(features / "gone.md")
    assert [hit.path for hit in search(features, ["chat", "history"]).hits] == ["2026/chat-history.md", "memory.md"]


def test_the_search_tool_takes_an_array_of_keywords() -> None:
    function = openai_tool(name="naide_searchFeatures")["function"]
    keywords = function["parameters"]["properties"]["keywords"]
    assert function["name"] == "naide_searchFeatures"
    assert function["parameters"]["required"] == ["keywords"]
    assert (keywords["type"], keywords["items"]) == ("array", {"type": "string"})
    assert keywords["description"] == "Keywords to search for in feature files (e.g., ['chat', 'history', 'token'])"


def test_the_search_tool_says_what_it_finds() -> None:
    assert openai_tool(name="naide_searchFeatures")["function"]["description"] == (
        "Search project feature specifications (`.prompts/features/`) for relevant context based on keywords. "
        "Returns matching feature specs that contain requirements, acceptance criteria, and implementation details."
    )


def test_search_reads_markdown_in_folders_in_folders_and_nothing_else(features: Path) -> None:
    (features / "2026" / "deep" / "deeper").mkdir(parents=True)
    (features / "2026" / "deep" / "deeper" / "quota.md").write_text("# Quota\n")
    (features / "quota.txt").write_text("quota " * 50)
    assert [hit.path for hit in search(features, ["quota"]).hits] == ["2026/deep/deeper/quota.md"]


def test_the_instructions_say_when_and_how_to_search() -> None:
    text = instructions(name="naide_searchFeatures")
    assert text.startswith("FEATURE SPECIFICATIONS INSTRUCTIONS:\nYou have access to the naide_searchFeatures tool")
    for title in ("WHEN TO USE:", "HOW TO USE:", "IMPORTANT:"):
        assert title in text
    assert text.count("Example: naide_searchFeatures(") == 2
    assert "At the START of each new task" in text


def test_five_matches_take_far_fewer_tokens_than_forty_files(features: Path) -> None:
    everything = "".join(path.read_text() for path in sorted(features.rglob("*.md")))
    found = search(features, ["chat", "history"], collection=FEATURES)
    assert brim.count(found.text, model=MODEL).tokens < 0.25 * brim.count(everything, model=MODEL).tokens


# Change 3: short history


def test_a_short_conversation_is_left_as_it_is() -> None:
    messages = [*talk(5), user("Go on.")]
    assert concise(messages).body is messages


def test_a_long_conversation_is_a_summary_and_the_last_two_turns_verbatim() -> None:
    messages = [*talk(20), user("Go on.")]
    fitted = concise(messages)
    assert fitted.messages[1:] == messages[-5:]
    summary = fitted.messages[0]["content"]
    assert summary.startswith("[CONVERSATION SUMMARY - Earlier messages summarized to save context space]")
    assert summary.startswith(HEADER)
    assert len(summary) <= 2_000
    places = [summary.index(title) for title in ("Topics discussed:", "Key decisions made:", "Important context:")]
    assert places == sorted(places)


def test_the_summary_has_the_first_80_characters_of_requests_and_the_decisions() -> None:
    messages = [*talk(20), user("Go on.")]
    summary = concise(messages).messages[0]["content"]
    assert any(f"- {messages[2 * n]['content'][:70]}" in summary for n in range(18))
    assert "uses SQLite" in summary
    assert all(
        len(line) <= 82 for line in summary.split("Key decisions")[0].splitlines() if line.startswith("- Request")
    )


def test_twenty_turns_with_forty_specifications_stay_under_8000_tokens(features: Path) -> None:
    found = search(features, ["chat", "history"])
    rules = f"{RULES}\n\n{instructions()}"
    call = {
        "id": "c1",
        "type": "function",
        "function": {"name": "search_features", "arguments": '{"keywords":["chat"]}'},
    }
    messages = [
        {"role": "system", "content": rules},
        *talk(24),
        user("Change the chat history."),
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": found.text},
    ]
    fitted = brim.fit(messages, model=MODEL, tools=[openai_tool()], policy=Policy.concise())
    assert fitted.tokens < 8_000
    assert fitted.messages[0]["content"] == rules
    assert fitted.messages[-1]["content"] == found.text


def test_when_nothing_can_be_summarised_the_last_four_messages_stay() -> None:
    silent = [message for _ in range(40) for message in (user(" " * 400), assistant(" " * 400))]
    fitted = concise([*silent, user("Go on.")])
    assert fitted.messages == [*silent[-4:], user("Go on.")]


def test_when_characters_cannot_be_counted_the_last_ten_messages_stay() -> None:
    picture = {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}}
    history = [
        message
        for n in range(20)
        for message in (
            user("") | {"content": [{"type": "text", "text": f"Picture {n}"}, picture]},
            assistant(f"Seen {n}."),
        )
    ]
    fitted = concise([*history, user("Go on.")])
    assert fitted.messages == [*history[-10:], user("Go on.")]


def test_truncation_is_in_the_log_and_in_the_report(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="brim"):
        fitted = concise([*talk(20), user("Go on.")])
    assert "history truncated: 36 messages archived, 4 kept" in caplog.text
    assert fitted.report.archived == 36


def test_no_request_of_a_conversation_of_forty_turns_exceeds_a_window_of_8000_tokens() -> None:
    talked = talk(40, 900)
    for end in range(0, len(talked), 2):
        fitted = brim.fit([*talked[:end], user("Go on.")], model=MODEL, budget=8_000, policy=Policy.concise())
        assert fitted.tokens <= 8_000
        assert json.dumps(fitted.messages)
