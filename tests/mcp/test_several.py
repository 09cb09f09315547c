"""Several servers behind one wrapper."""

from __future__ import annotations

import asyncio
import json

from brim.mcp.wrapper.server_merge import merge_base, merge_hello, split_name

from .conftest import MODERN_META, connected, run, text_of


def test_names_are_prefixed_and_calls_reach_their_server() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two")) as client:
            names = await client.names()
            assert "one__echo" in names
            assert "two__echo" in names
            assert text_of(await client.call("two__echo", text="x")) == "x"
            missing = await client.call("three__echo")
            assert "no server has a tool" in text_of(missing)

    run(scene())


def test_lists_are_merged_and_resources_found_where_they_are() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two")) as client:
            assert (await client.result("prompts/list"))["prompts"] == [{"name": "one__greet"}, {"name": "two__greet"}]
            prompt = await client.result("prompts/get", {"name": "two__greet"})
            assert prompt["messages"][0]["content"]["text"] == "greet"
            resources = (await client.result("resources/list"))["resources"]
            assert len(resources) == 2
            for resource in resources:
                read = await client.result("resources/read", {"uri": resource["uri"]})
                assert read["contents"][0]["text"] == resource["uri"].removeprefix("mem://")
            assert await client.result("ping") == {}

    run(scene())


def test_requests_of_both_servers_with_the_same_id_are_kept_apart() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two")) as client:
            client.on_request = lambda message: {"for": message["id"].split("/")[1]}
            for name in ("one", "two", "one"):
                result = await client.call(f"{name}__sample")
                assert json.loads(text_of(result)) == {"for": name}

    run(scene())


def test_one_dying_server_leaves_the_other_alone() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two")) as client:
            _, waiting = client.post("tools/call", {"name": "two__hang"})
            assert (await client.call("one__die"))["isError"] is True
            assert not waiting.done()
            assert text_of(await client.call("two__echo", text="x")) == "x"
            assert text_of(await client.call("one__echo", text="y")) == "y"

    run(scene())


def test_a_server_that_cannot_start_leaves_the_others_usable() -> None:
    async def scene() -> None:
        async with connected("--sick", "two", names=("one", "two", "three")) as client:
            names = await client.names()
            assert {name.split("__")[0] for name in names if "__" in name} == {"one", "three"}
            assert text_of(await client.call("three__echo", text="x")) == "x"
            assert len((await client.result("prompts/list"))["prompts"]) == 2
            await asyncio.sleep(0.05)
            assert "no database" in client.log.getvalue().decode()

    run(scene())


def test_a_server_that_stops_answering_keeps_the_tools_that_are_known_of_it() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two")) as client:
            before = await client.names()
            for _ in range(5):
                await client.call("two__die")
            assert await client.names() == before
            assert "does not start again" in text_of(await client.call("two__echo", text="x"))

    run(scene())


def test_lists_of_several_servers_are_as_fresh_and_as_private_as_the_least_of_them() -> None:
    bases = [{"ttlMs": 60, "cacheScope": "public"}, {}, {"ttlMs": 5, "cacheScope": "private", "x": 1}]
    assert merge_base(bases) == {"ttlMs": 5, "cacheScope": "private"}
    assert merge_base([{}, {}]) == {}


def test_the_merged_handshake_has_the_oldest_version_and_all_capabilities() -> None:
    one = {"protocolVersion": "2025-11-25", "capabilities": {"tools": {"listChanged": True}}, "instructions": "A."}
    two = {"protocolVersion": "2024-11-05", "capabilities": {"tools": {}, "logging": {}}, "serverInfo": {"name": "b"}}
    merged = merge_hello([("one", one), ("two", two)])
    assert merged["protocolVersion"] == "2024-11-05"
    assert merged["capabilities"] == {"tools": {"listChanged": True}, "logging": {}}
    assert merged["instructions"] == "one: A."


def test_the_longest_server_name_owns_a_tool() -> None:
    assert split_name("git__hub__list", ["git", "git__hub"]) == ("git__hub", "list")
    assert split_name("list", ["git"]) is None


def test_a_request_that_went_to_all_servers_is_cancelled_at_all_of_them() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two")) as client:
            id, waiting = client.post("test/hang")
            await asyncio.sleep(0.1)
            client.notify("notifications/cancelled", {"requestId": id})
            await client.call("one__echo", text="x")
            await asyncio.sleep(0.1)
            assert b"cancelled brim/" in client.log.getvalue()
            assert not waiting.done()
            assert not client.wrapper.pending

    run(scene())


def test_a_subscription_of_several_servers_is_one_for_the_client() -> None:
    async def scene() -> None:
        async with connected(names=("one", "two"), version="2026-07-28") as client:
            params = {"_meta": MODERN_META, "notifications": {"toolsListChanged": True}}
            id, waiting = client.post("subscriptions/listen", params)
            for _ in range(200):
                await asyncio.sleep(0.01)
                if sum("method" in message for message in client.messages) >= 3:
                    break
            told = [message for message in client.messages if "method" in message]
            key = "io.modelcontextprotocol/subscriptionId"
            assert {message["params"]["_meta"][key] for message in told} == {id}
            names = sorted(message["method"] for message in told)
            assert names == ["notifications/subscriptions/acknowledged"] + ["notifications/tools/list_changed"] * 2
            assert not waiting.done()

    run(scene())
