"""The wrapper around one server."""

from __future__ import annotations

import json

import pytest

import brim
from brim.errors import BadSetting
from brim.mcp.options import WrapperOptions
from brim.mcp.results.compacting import count_tokens

from .conftest import MODERN_META, connected, run, text_of

OFF = {"compact": False, "shrink": False, "grouping": "off", "repeat_seconds": 0.0}


def test_with_every_rule_off_answers_pass_byte_for_byte() -> None:
    async def scene() -> None:
        async with connected(**OFF) as client:
            await client.call("rows", n=50)
            # The fake server writes JSON with blanks after commas, which no re-encoding would give.
            assert b'"id": "row-1", "status"' in client.lines[-1].replace(b'\\"', b'"')
            assert b', "result": {' in client.lines[-1]
            listed = await client.result("tools/list")
            assert len(listed["tools"]) == 5
            assert listed["nextCursor"] == "5"

    run(scene())


def test_a_small_result_passes_byte_for_byte_with_every_rule_on() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.call("structured", n=2)
            assert b', "result": {"content": [' in client.lines[-1]
            assert json.loads(client.lines[-1])["result"]["structuredContent"]["rows"][1]["id"] == "row-1"

    run(scene())


def test_a_large_text_comes_within_its_budget_and_can_be_recalled() -> None:
    async def scene() -> None:
        async with connected(level="compact") as client:
            assert "brim_recall" in await client.names()
            result = await client.call("lines", n=5_000)
            text = result["content"][0]["text"]
            assert count_tokens(text) <= 2_000
            note = result["_meta"]["dev.brim/result"]
            assert note["fidelity"] == "recoverable"
            handle = note["handles"][0]
            assert handle in text
            assert len(handle) >= len("brim:") + 32
            found = await client.call("brim_recall", handle=handle, query="line 3456 of")
            assert "line 3456 of the output" in text_of(found)
            asked = await client.call("brim_query", handle=handle, expression="/line 34[56]0 of/")
            assert text_of(asked).startswith("[2 matching lines of ")
            wrong = await client.call("brim_query", handle=handle, expression="lines 9-3")
            assert wrong["isError"]
            page = await client.call("brim_recall", handle=handle, offset=100_000)
            assert "next offset" in text_of(page)
            assert count_tokens(text_of(page)) <= 4_000

    run(scene())


def test_recall_pages_give_the_whole_text_back() -> None:
    async def scene() -> None:
        async with connected(level="minimal") as client:
            await client.names()
            result = await client.call("lines", n=1_500)
            handle = result["_meta"]["dev.brim/result"]["handles"][0]
            whole, offset = "", 0
            while offset is not None:
                page = text_of(await client.call("brim_recall", handle=handle, offset=offset))
                body, _, mark = page.rpartition("\n[… characters ")
                whole += body
                offset = int(mark.split("next offset ")[1].rstrip("]")) if "next offset" in mark else None
            assert whole == "\n".join(f"line {i} of the output, value {i * 37 % 1000}" for i in range(1_500))

    run(scene())


def test_the_original_is_a_resource_too() -> None:
    async def scene() -> None:
        async with connected("--no-resources", level="minimal") as client:
            result = await client.call("structured", n=400)
            link = result["content"][-1]
            assert link["type"] == "resource_link"
            read = await client.result("resources/read", {"uri": link["uri"]})
            assert "row-399" in read["contents"][0]["text"]
            assert await client.result("resources/list") == {"resources": []}
            lost = await client.ask("resources/read", {"uri": "brim:" + "0" * 32})
            assert lost["error"]["code"] == -32602

    run(scene())


def test_clients_older_than_resource_links_get_none() -> None:
    async def scene() -> None:
        async with connected(level="minimal", version="2025-03-26") as client:
            result = await client.call("structured", n=400)
            assert [block["type"] for block in result["content"]] == ["text"]

    run(scene())


def test_a_compacted_structured_result_has_no_structured_content_and_its_tool_promises_none() -> None:
    async def scene() -> None:
        async with connected(level="minimal") as client:
            tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
            assert "outputSchema" not in tools["structured"]
            result = await client.call("structured", n=400)
            assert "structuredContent" not in result
            assert count_tokens(text_of(result)) <= 850
            handle = result["_meta"]["dev.brim/result"]["handles"][0]
            read = await client.result("resources/read", {"uri": handle})
            assert len(json.loads(read["contents"][0]["text"])["rows"]) == 400

    run(scene())


def test_round_trip_tools_are_left_alone() -> None:
    async def scene() -> None:
        async with connected(level="minimal", exempt=("lin*",)) as client:
            tools = {tool["name"]: tool for tool in (await client.result("tools/list"))["tools"]}
            assert tools["read_back"]["outputSchema"] == {"type": "object"}
            assert len((await client.call("read_back", n=400))["structuredContent"]["rows"]) == 400
            assert text_of(await client.call("lines", n=3_000)).endswith("line 2999 of the output, value 963")

    run(scene())


def test_other_blocks_stay_and_embedded_resources_are_compacted() -> None:
    async def scene() -> None:
        async with connected(level="minimal") as client:
            content = (await client.call("mixed", n=5_000))["content"]
            assert content[0] == {"type": "image", "data": "aGVsbG8=", "mimeType": "image/png"}
            assert content[1]["resource"]["uri"] == "file:///a.txt"
            assert count_tokens(content[1]["resource"]["text"]) <= 800
            assert content[2] == {"type": "text", "text": "short"}

    run(scene())


def test_a_list_that_comes_as_one_block_an_item_is_compacted_as_a_list() -> None:
    async def scene() -> None:
        async with connected(level="minimal") as client:
            items = [{"id": i, "name": f"user{i}", "active": True} for i in range(600)]
            blocks = [{"type": "text", "text": json.dumps(item)} for item in items]
            result = await client.call("raw", result={"content": blocks, "structuredContent": {"result": items}})
            assert [block["type"] for block in result["content"]] == ["text", "resource_link"]
            text = result["content"][0]["text"]
            assert count_tokens(text) <= 800
            assert "599" in text
            few = {"content": blocks[:4]}
            assert await client.call("raw", result=few) == few

    run(scene())


def test_a_budget_in_meta_is_obeyed_per_call() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.names()
            for tokens in (60, 300, 1_000):
                result = await client.call("lines", meta={"dev.brim/tokenBudget": tokens}, n=2_000)
                assert count_tokens(result["content"][0]["text"]) <= tokens
            result = await client.call("lines", meta={"anthropic/maxResultSizeChars": 500}, n=2_000)
            assert len(result["content"][0]["text"]) <= 500
            large = await client.call("lines", meta={"dev.brim/tokenBudget": 100_000}, n=2_000)
            assert brim.decode(text_of(large)).endswith("line 1999 of the output, value 963")

    run(scene())


def test_verbosity_falls_as_the_session_fills_and_hints_are_rare() -> None:
    async def scene() -> None:
        async with connected(session_calls=20, hint_every=5, repeat_seconds=0.0) as client:
            await client.names()
            sizes, hints = [], 0
            for i in range(20):
                result = await client.call("lines", n=1_500 + i)
                sizes.append(count_tokens(result["content"][0]["text"]))
                hints += "[brim: this session is" in text_of(result)
            assert sizes[0] > 6_000
            assert sizes == sorted(sizes, reverse=True) or max(sizes[-4:]) <= 800
            assert max(sizes[-4:]) <= 800
            assert 1 <= hints <= 3

    run(scene())


def test_stateless_requests_share_nothing_unless_they_name_a_session() -> None:
    async def scene() -> None:
        async with connected(version="2026-07-28", session_calls=4, repeat_seconds=0.0) as client:
            assert (await client.result("server/discover", {"_meta": MODERN_META}))["supportedVersions"]
            for i in range(8):
                loose = await client.call("lines", meta=MODERN_META, n=1_000 + i)
            assert brim.decode(text_of(loose)).endswith("line 1006 of the output, value 222")
            named = {**MODERN_META, "dev.brim/session": "a"}
            for i in range(8):
                result = await client.call("lines", meta=named, n=1_000 + i)
            assert count_tokens(result["content"][0]["text"]) <= 800
            assert result["resultType"] == "complete"
            first = await client.result("tools/list", {"_meta": MODERN_META})
            assert first["ttlMs"] == 0
            assert first == await client.result("tools/list", {"_meta": MODERN_META})

    run(scene())


def test_the_cap_on_calls_says_so() -> None:
    async def scene() -> None:
        async with connected(max_calls=2) as client:
            for text in ("a", "b"):
                assert text_of(await client.call("echo", text=text)) == text
            last = await client.call("echo", text="c")
            assert last["isError"] is True
            assert "cap of 2 tool calls" in text_of(last)

    run(scene())


def test_identical_read_only_calls_are_answered_from_memory_once_and_marked() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.names()
            assert text_of(await client.call("counter")) == "call 1"
            again = text_of(await client.call("counter"))
            assert again.startswith("call 1\n[brim: same call")
            assert text_of(await client.call("counter")) == "call 2"  # who insists gets a new answer
            await client.call("write")
            assert text_of(await client.call("counter")) == "call 4"  # something may have changed
            assert text_of(await client.call("echo", text="x")) == text_of(await client.call("echo", text="x"))

    run(scene())


def test_the_same_call_again_says_what_changed_and_where_the_whole_result_is() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.names()
            whole = await client.call("orders", n=40)
            assert len(brim.decode(text_of(whole))) == 40
            again = await client.call("orders", n=40)
            told = text_of(again)
            assert '[id="row-3"].status: "seen 1" → "seen 2"' in told
            assert count_tokens(told) < 120
            handle = again["_meta"]["dev.brim/result"]["handles"][0]
            recalled = json.loads(text_of(await client.call("brim_recall", handle=handle)))
            assert [row["status"] for row in recalled[2:5]] == ["open", "seen 2", "open"]
            other = await client.call("orders", n=41)  # another call has no result before it
            assert "since the same call" not in text_of(other)
        async with connected(changes=False) as client:
            await client.names()
            for _ in range(2):
                assert "since the same call" not in text_of(await client.call("orders", n=40))

    run(scene())


def test_calls_that_belong_to_no_session_have_no_call_before_them() -> None:
    async def scene() -> None:
        async with connected(version="2026-07-28") as client:
            await client.result("server/discover", {"_meta": MODERN_META})
            for _ in range(2):
                assert "since the same call" not in text_of(await client.call("orders", meta=MODERN_META, n=40))

    run(scene())


def test_a_changed_tool_list_reaches_the_client() -> None:
    async def scene() -> None:
        async with connected() as client:
            assert "late" not in await client.names()
            await client.call("extend")
            assert any(m.get("method") == "notifications/tools/list_changed" for m in client.messages)
            assert "late" in await client.names()

    run(scene())


def test_progress_sampling_and_prompts_pass_through() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.call("progress", meta={"progressToken": "p1"})
            seen = [m["params"] for m in client.messages if m.get("method") == "notifications/progress"]
            assert [one["progress"] for one in seen] == [0, 1, 2]
            assert {one["progressToken"] for one in seen} == {"p1"}
            assert json.loads(text_of(await client.call("sample"))) == {"answered": "sampling/createMessage"}
            assert (await client.result("prompts/list"))["prompts"] == [{"name": "greet"}]
            assert (await client.ask("nonsense/method"))["error"]["code"] == -32601

    run(scene())


def test_error_results_and_tasks_keep_their_shape() -> None:
    async def scene() -> None:
        async with connected(level="minimal") as client:
            task = {"task": {"taskId": "t1", "status": "working"}, "_meta": {"a": "b" * 900}}
            assert await client.call("raw", result=task) == task
            interim = {"resultType": "input_required", "inputRequests": {}, "requestState": "s" * 900}
            assert await client.call("raw", result=interim) == interim
            error = {"content": [{"type": "text", "text": "no " * 4_000}], "isError": True}
            failed = await client.call("raw", result=error)
            assert failed["isError"] is True
            assert count_tokens(failed["content"][0]["text"]) <= 800

    run(scene())


def test_settings_that_cannot_be_are_refused_by_name() -> None:
    with pytest.raises(BadSetting, match=r"mcp\.level"):
        WrapperOptions(level="loud")  # type: ignore[arg-type]
    with pytest.raises(BadSetting, match="standard_at"):
        WrapperOptions(rises=(0.9, 0.5, 0.1))
    with pytest.raises(BadSetting, match=r"mcp\.result_tokens"):
        WrapperOptions(result_tokens={"full": 10})  # type: ignore[dict-item]
