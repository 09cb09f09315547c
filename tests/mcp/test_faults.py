"""What a wrapper does when a server, or a client, does not behave."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from brim.mcp.results.compacting import count_tokens
from brim.mcp.transport.child_process import LineReader
from brim.mcp.wrapper import tool_calls
from brim.mcp.wrapper.proxy import Wrapper

from .conftest import FAKE, connected, run, text_of


def test_a_server_that_dies_mid_call_gives_an_error_for_that_call_and_is_started_again() -> None:
    async def scene() -> None:
        async with connected() as client:
            _, hanging = client.post("tools/call", {"name": "hang"})
            died = await client.call("die")
            assert died["isError"] is True
            assert "ended with status 7; it last said: out of luck" in text_of(died)
            assert (await asyncio.wait_for(hanging, 5))["result"]["isError"] is True
            assert text_of(await client.call("echo", text="again")) == "again"
            assert not client.wrapper.pending

    run(scene())


def test_a_server_that_dies_at_every_start_is_not_started_for_ever() -> None:
    async def scene() -> None:
        async with connected() as client:
            for _ in range(4):
                assert (await client.call("die"))["isError"] is True
            last = await client.call("echo", text="x")
            assert "does not start again" in text_of(last)
            failed = await client.ask("prompts/list")
            assert failed["error"]["code"] == -31001

    run(scene())


def test_a_server_that_hangs_is_given_up_and_told_so() -> None:
    async def scene() -> None:
        async with connected(call_timeout=0.2) as client:
            result = await client.call("hang")
            assert result["isError"] is True
            assert "no answer to tools/call in 0.2 s" in text_of(result)
            assert text_of(await client.call("echo", text="x")) == "x"
            await asyncio.sleep(0.05)
            assert b"cancelled" in client.log.getvalue()

    run(scene())


def test_lines_that_are_no_json_rpc_fail_the_call_that_they_belong_to_and_no_other() -> None:
    async def scene() -> None:
        async with connected() as client:
            result = await client.call("garbage")
            assert result["isError"] is True
            assert "no JSON-RPC" in text_of(result)
            result = await client.call("wrong")
            assert "not an object" in text_of(result)
            assert text_of(await client.call("echo", text="x")) == "x"

    run(scene())


def test_a_flood_on_stderr_does_not_stop_the_server() -> None:
    async def scene() -> None:
        async with connected() as client:
            assert text_of(await client.call("flood")) == "flood done"

    run(scene())


def test_a_server_that_is_slow_to_start_is_waited_for() -> None:
    async def scene() -> None:
        async with connected("--slow", "0.7", call_timeout=0.5) as client:  # a limit is for calls, not for starting
            assert text_of(await client.call("echo", text="x")) == "x"

    run(scene())


def test_a_client_can_cancel_and_a_late_answer_is_dropped() -> None:
    async def scene() -> None:
        async with connected() as client:
            id, waiting = client.post("tools/call", {"name": "hang"})
            client.notify("notifications/cancelled", {"requestId": id})  # at once, before the server has it
            await client.names()
            id, waiting = client.post("tools/call", {"name": "hang"})
            client.notify("notifications/cancelled", {"requestId": id, "reason": "no longer needed"})
            await client.call("echo", text="x")
            assert not waiting.done()
            assert not client.wrapper.pending
            await asyncio.sleep(0.05)
            assert f"cancelled {id}".encode() in client.log.getvalue()

    run(scene())


def test_a_call_before_the_list_is_read_obeys_what_the_list_says() -> None:
    async def scene() -> None:
        async with connected(level="minimal") as client:
            _, first = client.post("tools/call", {"name": "rows", "arguments": {"n": 400}})
            while not client.wrapper.pending:  # until the list is asked for
                await asyncio.sleep(0)
            second = await client.call("read_back", n=400)
            assert len(second["structuredContent"]["rows"]) == 400
            assert count_tokens(text_of((await first)["result"])) <= 850

    run(scene())


def test_a_tool_that_came_later_is_found_behind_meta_tools_without_a_new_list() -> None:
    async def scene() -> None:
        async with connected(grouping="meta") as client:
            assert "late(" not in text_of(await client.call("brim_find", query="late"))
            await client.use("brim_call", {"name": "extend"})
            assert text_of(await client.call("brim_find", query="late")).startswith("late(")
            assert text_of(await client.use("brim_call", {"name": "late"})) == "late done"

    run(scene())


def test_an_answer_above_the_limit_fails_its_call_only() -> None:
    async def scene() -> None:
        async with connected(largest_message=1 << 20) as client:
            result = await client.call("lines", n=60_000)
            assert result["isError"] is True
            assert "over the limit of 1,048,576" in text_of(result)
            assert text_of(await client.call("echo", text="x")) == "x"

    run(scene())


def test_a_result_of_many_megabytes_comes_within_its_budget() -> None:
    async def scene() -> None:
        async with connected() as client:
            await client.names()
            result = await client.call("lines", n=400_000)
            assert count_tokens(result["content"][0]["text"]) <= 8_000
            handle = result["_meta"]["dev.brim/result"]["handles"][0]
            found = await client.call("brim_recall", handle=handle, offset=12_000_000)
            assert "line 328304 of the output" in text_of(found)

    run(scene())


@pytest.mark.parametrize("n", [300, 30_000])
def test_a_result_that_cannot_be_compacted_is_within_its_budget_all_the_same(
    n: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> None:
        raise KeyError("a fault of a compactor")

    monkeypatch.setattr(tool_calls, "fit_result", broken)

    async def scene() -> None:
        async with connected() as client:
            result = await client.call("lines", n=n)
            assert f"line {n - 1} of" in text_of(result)
            assert count_tokens(text_of(result)) <= 8_000
            if n > 300:
                handle = result["_meta"]["dev.brim/result"]["handles"][0]
                assert f"line {n // 2} of" in client.wrapper.archive.get(handle)
            assert text_of(await client.call("echo", text="x")) == "x"
            await asyncio.sleep(0.05)
            said = client.log.getvalue().decode()
            assert "a result of lines: planning failed, KeyError at mcp/wrapper/tool_calls.py:" in said
            assert "a fault of a compactor" not in said  # it may hold content
            assert client.wrapper.faults["planning"] == 1

    run(scene())


def test_a_line_is_cut_out_of_any_pieces() -> None:
    whole, oversized = [], []
    lines = LineReader(whole.append, lambda: None, 100_000, lambda ends, size: oversized.append((len(ends), size)))
    data = b"one\n\n" + b"x" * 250_000 + b"\ntwo\nthr" + b"ee\nlast"
    for i in range(0, len(data), 7):
        lines.data_received(data[i : i + 7])
    lines.eof_received()
    assert whole == [b"one", b"two", b"three", b"last"]
    assert [size for _, size in oversized] == [250_000]


def test_nothing_is_left_behind_by_calls_that_went_wrong() -> None:
    async def scene() -> None:
        async with connected(call_timeout=0.5, names=("one", "two")) as client:
            await client.names()

            async def round_of_faults() -> None:
                id, _ = client.post("tools/call", {"name": "one__hang"})
                client.notify("notifications/cancelled", {"requestId": id})
                for name in ("hang", "garbage", "wrong", "flood"):
                    await client.call(f"one__{name}")
                await client.call("two__lines", n=30_000)
                assert (await client.ask("nonsense/method"))["error"]

            await round_of_faults()
            await asyncio.sleep(0.1)
            before = held(client.wrapper)
            for _ in range(4):
                await round_of_faults()
            await asyncio.sleep(0.1)
            assert held(client.wrapper) == before

    run(scene())


def held(wrapper: Wrapper) -> tuple[int, ...]:
    """What a wrapper keeps for calls that are under way, and the files that are open."""
    kept = (wrapper.pending, wrapper._tasks, wrapper._running, wrapper.renaming.asked, wrapper.renaming._by_token)
    return (*map(len, kept), len(asyncio.all_tasks()), len(os.listdir("/proc/self/fd")))


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "brim.cli.mcp", "wrap", *arguments, "--", sys.executable, str(FAKE)]


def asked(method: str, id: int, **params: object) -> str:
    return json.dumps({"jsonrpc": "2.0", "id": id, "method": method, "params": params}) + "\n"


HELLO = asked("initialize", 1, protocolVersion="2025-11-25", capabilities={}, clientInfo={"name": "t", "version": "1"})


def test_the_command_answers_what_was_asked_before_its_input_ended() -> None:
    requests = HELLO + asked("tools/list", 2) + asked("tools/call", 3, name="echo", arguments={"text": "hi"})
    done = subprocess.run(command(), input=requests.encode(), capture_output=True, timeout=30, check=True)
    answers = {message["id"]: message for message in map(json.loads, done.stdout.splitlines())}
    assert sorted(answers) == [1, 2, 3]
    assert answers[3]["result"]["content"][0]["text"] == "hi"


def test_a_command_that_cannot_be_started_ends_with_a_message() -> None:
    line = [sys.executable, "-m", "brim.cli.mcp", "wrap", "--", "/nowhere/server"]
    done = subprocess.run(line, input=b"", capture_output=True, timeout=30, check=False)
    assert done.returncode == 1
    assert b"cannot be started" in done.stderr


def test_a_client_that_leaves_while_a_call_hangs_is_not_kept_waiting_by_a_signal() -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen(command(), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO + asked("tools/call", 2, name="hang"))
    process.stdin.flush()
    process.stdout.readline()
    process.stdin.close()
    time.sleep(0.3)
    assert process.poll() is None  # the call might still be answered
    began = time.monotonic()
    process.terminate()
    process.wait(10)
    assert time.monotonic() - began < 5
    process.stdout.close()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL])
def test_the_server_never_outlives_the_wrapper(number: signal.Signals) -> None:
    pipe = subprocess.PIPE
    process = subprocess.Popen(command(), stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO + asked("test/pid", 2))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    pid = next(answer["result"]["pid"] for answer in answers if answer["id"] == 2)
    os.kill(process.pid, number)
    process.wait(10)
    deadline = time.monotonic() + 10
    while _alive(pid):
        assert time.monotonic() < deadline
        time.sleep(0.02)
    process.stdin.close()
    process.stdout.close()


def test_what_the_server_has_started_ends_with_the_wrapper(tmp_path: Path) -> None:
    shell = f"{sys.executable} {FAKE}; true"  # as npx does it: the server is a child of the command
    line = [sys.executable, "-m", "brim.cli.mcp", "wrap", "--", "sh", "-c", shell]
    pipe = subprocess.PIPE
    process = subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=subprocess.DEVNULL, text=True)
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(HELLO + asked("test/pid", 2))
    process.stdin.flush()
    answers = [json.loads(process.stdout.readline()) for _ in range(2)]
    pid = next(answer["result"]["pid"] for answer in answers if answer["id"] == 2)
    process.stdin.write(asked("tools/call", 3, name="hang"))
    process.stdin.flush()
    process.terminate()
    process.wait(10)
    assert not _alive(pid)
    process.stdin.close()
    process.stdout.close()


def _alive(pid: int) -> bool:
    try:
        status = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return status.rsplit(")", 1)[1].split()[0] != "Z"
