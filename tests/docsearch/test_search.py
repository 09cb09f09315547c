"""The search over a folder of feature specifications."""

from __future__ import annotations

import argparse
import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from brim.cli import search as cli
from brim.docsearch import (
    LEARNINGS,
    Folder,
    anthropic_tool,
    instructions,
    mcp_tool,
    openai_tool,
    search,
)
from brim.docsearch.sections import sections
from brim.docsearch.sizes import count_tokens
from brim.errors import BadSetting


def write(root: Path, files: dict[str, str]) -> Path:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return root


@pytest.fixture
def features(tmp_path: Path) -> Path:
    return write(
        tmp_path,
        {
            "2026-01-chat-history.md": "# Chat history\nKeep the chat. Chat again.\n",
            "login.md": "# Login\nA chat is not needed here.\n",
            "deep/down/export.md": "# Export\nExport to CSV.\n",
            "removed-features/chat-old.md": "chat chat chat chat chat chat\n",
            "bugs/chat-bug.md": "chat chat chat chat chat\n",
            "notes.txt": "chat chat chat\n",
        },
    )


def test_a_keyword_in_the_name_counts_three_and_each_occurrence_one(features: Path) -> None:
    found = search(features, ["chat"])
    assert [(hit.path, hit.score) for hit in found.hits] == [("2026-01-chat-history.md", 6), ("login.md", 1)]


def test_the_text_has_the_note_then_the_files_in_full(features: Path) -> None:
    assert search(features, ["chat"]).text == (
        "2 feature files match: chat\n\n"
        "**CRITICAL: These feature specifications apply to this task: follow their requirements and "
        "acceptance criteria.**\n\n"
        "### 2026-01-chat-history.md\n# Chat history\nKeep the chat. Chat again.\n\n\n"
        "### login.md\n# Login\nA chat is not needed here.\n\n\n"
    )


def test_keywords_are_trimmed_and_case_does_not_matter(features: Path) -> None:
    assert search(features, ["  CSV "]).hits == search(features, ["csv"]).hits != ()


def test_no_keywords_list_the_files(features: Path) -> None:
    text = search(features, ["", "  "]).text
    listed = ["- 2026-01-chat-history.md", "- deep/down/export.md", "- login.md"]
    assert [line for line in text.splitlines() if line.startswith("- ")] == listed


def test_no_match_lists_the_files_and_says_what_was_asked(features: Path) -> None:
    found = search(features, ["Zebra"])
    assert found.text.startswith("No feature file matches: zebra\n")
    assert "- login.md" in found.text
    assert found.hits == ()


def test_a_missing_folder_says_that_there_are_none(tmp_path: Path) -> None:
    assert search(tmp_path / "nowhere", ["chat"]).text == "No feature files found"


def test_five_files_are_shown_and_the_rest_is_counted(tmp_path: Path) -> None:
    write(tmp_path, {f"f{i}.md": "token " * (i + 1) for i in range(8)})
    found = search(tmp_path, ["token"])
    assert [hit.path for hit in found.hits] == ["f7.md", "f6.md", "f5.md", "f4.md", "f3.md"]
    assert found.text.endswith("(3 more match and are not shown)")


def test_equal_scores_stand_in_the_order_of_their_paths(tmp_path: Path) -> None:
    write(tmp_path, dict.fromkeys(("b.md", "a/z.md", "c.md", "a.md"), "x1 once\n"))
    assert [hit.path for hit in search(tmp_path, ["x1"]).hits] == ["a.md", "a/z.md", "b.md", "c.md"]


def test_keywords_are_plain_text_and_not_patterns(tmp_path: Path) -> None:
    write(tmp_path, {"a.md": "f(x) costs $1.50 [really]\n", "b.md": "fx costs 1950\n"})
    assert [hit.path for hit in search(tmp_path, ["f(x)", "1.50", "[really]"]).hits] == ["a.md"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_an_unreadable_file_is_skipped(features: Path) -> None:
    (features / "login.md").chmod(0)
    assert [hit.path for hit in search(features, ["chat"]).hits] == ["2026-01-chat-history.md"]


def test_a_folder_or_a_pipe_that_is_named_like_a_document_is_skipped(features: Path) -> None:
    (features / "trap.md").mkdir()
    os.mkfifo(features / "pipe.md")
    os.symlink(features / "nowhere", features / "dangling.md")
    assert search(features, ["csv"]).matched == 1


def test_a_changed_file_is_read_again(features: Path) -> None:
    assert search(features, ["zebra"]).matched == 0
    (features / "login.md").write_text("A zebra.\n")
    assert search(features, ["zebra"]).matched == 1
    (features / "login.md").unlink()
    assert search(features, ["zebra"]).matched == 0


def test_bytes_that_are_not_utf8_are_searched_too(tmp_path: Path) -> None:
    (tmp_path / "latin.md").write_bytes("caf\xe9 menu".encode("latin-1"))
    assert search(tmp_path, ["menu"]).matched == 1


@settings(max_examples=25, deadline=None)
@given(
    st.dictionaries(
        st.sampled_from(["a.md", "chat.md", "deep/b.md", "chat-log.md", "z.md"]),
        st.text("chatlog \n", max_size=60),
        min_size=1,
    ),
    st.lists(st.text("chatlog ", max_size=5), max_size=3),
)
def test_the_order_is_that_of_the_formula(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, str], keywords: list[str]
) -> None:
    root = write(tmp_path_factory.mktemp("docs"), files)
    asked = [word.strip().lower() for word in keywords if word.strip()]
    expected = []
    for path in sorted(files):
        name, text = path.split("/")[-1], files[path].lower()
        worth = sum(3 * (word in name) + len(text.split(word)) - 1 for word in asked)
        if worth:
            expected.append((-worth, path))
    expected.sort()
    assert [(-hit.score, hit.path) for hit in search(root, keywords).hits] == expected[:5]


def test_bm25_gives_the_best_sections_within_the_budget(tmp_path: Path) -> None:
    filler = "\n".join(f"## Part {i}\nNothing of interest, line {i}.\n" for i in range(200))
    write(tmp_path, {f"doc{i}.md": f"# Doc {i}\n{filler}\n" for i in range(5)})
    write(tmp_path, {"db.md": f"# Database\n{filler}\n## Locking\nSQLite locks the file while it writes.\n"})
    found = search(tmp_path, ["sqlite", "locking"], rank="bm25", budget=300, count=len)
    assert found.hits[0].path == "db.md"
    assert found.hits[0].trail == ("Database", "Locking")
    assert "SQLite locks the file" in found.text
    assert len(found.text) <= 300


def test_a_large_folder_is_ranked_by_bm25(tmp_path: Path) -> None:
    write(tmp_path, {f"n{i}.md": f"# Note {i}\nword{i} common\n" for i in range(1_001)})
    found = search(tmp_path, ["word77"])
    assert found.hits[0].trail == ("Note 77",)


@given(st.text(max_size=300))
def test_sections_hold_every_line_of_the_document(text: str) -> None:
    joined = "\n".join(part.text for part in sections(text))
    assert [line for line in joined.splitlines() if line.strip()] == [
        line for line in text.splitlines() if line.strip()
    ]


def test_a_heading_inside_a_code_fence_is_not_a_section() -> None:
    found = sections("# A\ntext\n```sh\n# not a heading\n```\n## B\nmore\n")
    assert [part.trail for part in found] == [("A",), ("A", "B")]


def test_an_unknown_rank_is_refused_with_the_known_ones(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="bm25"):
        search(tmp_path, ["x"], rank="best")  # type: ignore[arg-type]


def test_a_thousand_warm_files_are_searched_fast(tmp_path: Path) -> None:
    body = "Lorem ipsum dolor sit amet. " * 100
    write(tmp_path, {f"{i // 100}/f{i}.md": f"# F {i}\n{body} key{i % 7}\n" for i in range(1_000)})
    search(tmp_path, ["key3"])
    times = []
    for _ in range(5):
        began = time.perf_counter()
        found = search(tmp_path, ["key3", "ipsum"])
        times.append(time.perf_counter() - began)
    assert found.matched == 1_000
    assert min(times) < 0.5  # the bar is 50 ms; a loaded machine gets some slack here, the benchmark none


def test_learnings_have_their_own_words(tmp_path: Path) -> None:
    write(tmp_path, {"build.md": "The build times out without a cache.\n"})
    text = search(tmp_path, ["build"], collection=LEARNINGS).text
    assert text.startswith("1 learning file matches: build\n\n**CRITICAL: Apply these learnings")


def test_tool_definitions_have_the_shape_of_their_api() -> None:
    schema = mcp_tool()["inputSchema"]
    assert openai_tool()["function"]["parameters"] == schema
    assert anthropic_tool()["input_schema"] == schema
    assert schema["required"] == ["keywords"]
    assert schema["properties"]["keywords"]["items"] == {"type": "string"}
    assert openai_tool(name="find")["function"]["name"] == "find"


def test_the_instructions_are_those_of_the_specification() -> None:
    assert instructions(name="naide_searchFeatures") == (
        "FEATURE SPECIFICATIONS INSTRUCTIONS:\n"
        "You have access to the naide_searchFeatures tool to retrieve relevant feature specifications.\n"
        "\n"
        "WHEN TO USE:\n"
        "- At the START of each new task, search for relevant features using keywords from the user's request\n"
        "- When working on a topic that may have an existing feature spec\n"
        "- When you need to check acceptance criteria or implementation details for a feature\n"
        "\n"
        "HOW TO USE:\n"
        "- Call naide_searchFeatures with an array of keywords relevant to the current task\n"
        '- Example: naide_searchFeatures({ keywords: ["chat", "history"] }) for chat history work\n'
        '- Example: naide_searchFeatures({ keywords: ["token", "limit", "memory"] }) for token management\n'
        "\n"
        "IMPORTANT:\n"
        "- Feature specs contain requirements and acceptance criteria — always check before implementing\n"
        "- If a relevant feature spec exists, follow its requirements\n"
        "- If no features are found, proceed based on the user's request"
    )
    assert instructions(LEARNINGS).startswith("LEARNINGS INSTRUCTIONS:\nYou have access to the search_learnings tool")


def test_a_list_of_very_many_files_stays_within_a_budget(tmp_path: Path) -> None:
    write(tmp_path, {f"area/feature-{number:04}.md": "text" for number in range(600)})
    for keywords in ([], ["zebra"]):
        found = search(tmp_path, keywords, budget=300)
        assert count_tokens(found.text) <= 300
        assert found.text.endswith("[… cut]")
        assert len(found.files) == 600


def test_the_command_prints_the_text_and_tells_by_its_status_whether_it_found(
    features: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    parser = argparse.ArgumentParser()
    cli.add(parser.add_subparsers())
    args = parser.parse_args(["search", str(features), "csv", "--json"])
    assert args.run(args) == 0
    assert json.loads(capsys.readouterr().out)["hits"][0]["path"] == "deep/down/export.md"
    args = parser.parse_args(["search", str(features), "zebra"])
    assert args.run(args) == 1


def test_a_folder_keeps_the_same_tuple_until_something_changes(features: Path) -> None:
    folder = Folder(features)
    assert folder.documents() is folder.documents()
    assert folder.size() > 0


def test_a_search_leaves_a_line_in_the_log(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "chat.md").write_text("# Chat\n")
    (tmp_path / "other.md").write_text("# Other\n")
    with caplog.at_level("INFO", "brim.docsearch"):
        search(tmp_path, ["Chat"])
    assert caplog.messages == ["searched search_features for ['chat']: 1 of 2 files match"]


def test_a_section_that_uses_another_form_of_a_word_is_found_and_one_that_has_none_of_them_is_not(
    tmp_path: Path,
) -> None:
    (tmp_path / "pets.md").write_text("# Children\nThe kids adopted a puppy.\n\n# Weather\nIt rained on the hills.\n")
    found = search(tmp_path, ["adoption"], rank="bm25")
    assert [hit.trail for hit in found.hits] == [("Children",)]
