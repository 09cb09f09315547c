"""Large bodies: handled in a process of their own, within bounds, and as the small ones are."""

from __future__ import annotations

import asyncio
import gzip
import json
import os
import signal
import threading
from typing import Any

import pytest

from brim.gateway.fitting.blocks import Blocks
from brim.gateway.proxy.faults import Refused
from brim.gateway.server import bodies, offload
from brim.gateway.server.bodies import HONEST_BYTES, HONEST_RATIO, LARGE, Incoming, TooMuch, unpack
from brim.gateway.server.concurrency_limit import Gates, Holding
from brim.testing import FakeProvider
from tests.gateway.conftest import Running, Start

# A little more than what is large, in fewer tokens than the window of the fake provider.
TEXT = " ".join(f"internationalization documentation requirements {number}" for number in range(LARGE // 50))


def large(number: int = 0, **more: Any) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": f"{number} {TEXT}"}, {"role": "user", "content": "So?"}], **more}


def test_a_large_request_that_fits_is_forwarded_byte_for_byte(start: Start, fake: FakeProvider) -> None:
    gateway = start()
    body = json.dumps({"model": "gpt-4.1", **large()}, indent=1).encode()
    assert len(body) > LARGE
    got = gateway.ask("POST", "/v1/chat/completions", body)
    assert got.status == 200
    assert fake.requests[-1].body == body
    assert gateway.gateway.offload.processes == 1
    assert gateway.last.before > 50_000


def test_a_large_request_that_does_not_fit_is_fitted_and_what_left_it_can_be_had_again(
    start: Start, fake: FakeProvider
) -> None:
    gateway = start()
    got = gateway.chat(large(), x_brim_budget="5000")
    assert got.status == 200
    assert got.number("tokens-after") <= 5_000 < got.number("tokens-before")
    assert len(fake.requests[-1].body) < LARGE
    live = next(iter(gateway.gateway.fitter.conversations))
    assert live.archive
    found = [gateway.gateway.fitter.archived(live, handle) for handle in live.archive]
    assert any(text is not None and TEXT[-500:] in text for text in found)
    assert gateway.last.report is not None


def test_a_large_packed_request_is_forwarded_as_it_came(start: Start, fake: FakeProvider) -> None:
    gateway = start()
    body = gzip.compress(json.dumps({"model": "gpt-4.1", **large()}).encode())
    gateway.ask("POST", "/v1/chat/completions", body, {"content-encoding": "gzip"})
    assert fake.requests[-1].body == body
    assert gateway.last.before > 50_000


def test_a_large_request_that_cannot_fit_is_refused_in_the_providers_words(start: Start) -> None:
    body = {"messages": [{"role": "system", "content": TEXT}, {"role": "user", "content": "So?"}]}
    got = start().chat(body, x_brim_budget="500")
    assert got.status == 400
    assert got.json["error"]["code"] == "context_length_exceeded"


def test_a_large_body_that_is_no_json_is_the_upstreams_to_judge(start: Start, fake: FakeProvider) -> None:
    body = b'{"model":"gpt-4.1","messages":[' + b"x" * LARGE
    start().ask("POST", "/v1/chat/completions", body)
    assert fake.requests[-1].body == body


def test_a_conversation_that_has_grown_large_stays_in_the_gateway(start: Start) -> None:
    gateway = start()
    said = [{"role": "user", "content": f"{number} {TEXT[:100_000]}"} for number in range(9)]
    for number in range(3, 10):
        got = gateway.chat({"model": "gpt-4.1", "messages": said[:number]})
        assert got.status == 200
    assert sum(len(one["content"]) for one in said) > LARGE
    assert gateway.gateway.offload.processes == 0


def stopped_worker(gateway: Running) -> int:
    """The number of a worker that was used and hangs now."""
    assert gateway.chat(large(1)).status == 200
    gateway.settled()

    async def learnt() -> None:
        await asyncio.gather(*gateway.gateway._beside)

    gateway.call(learnt())
    place = next(one for one in gateway.gateway.offload._places if one.process is not None)
    assert place.process is not None
    number = place.process._process.pid
    os.kill(number, signal.SIGSTOP)
    return number


def test_a_worker_that_dies_costs_its_request_alone(start: Start, fake: FakeProvider) -> None:
    gateway = start()
    worker = stopped_worker(gateway)
    threading.Timer(0.5, os.kill, (worker, signal.SIGKILL)).start()
    sent = len(fake.requests)
    got = gateway.chat(large(2))
    assert (got.status, got.json["error"]["code"]) == (413, "request_too_large")
    assert len(fake.requests) == sent
    assert gateway.chat(large(3)).status == 200


def test_a_worker_that_is_kept_from_computing_is_waited_for(start: Start) -> None:
    gateway = start(gateway={"large_timeout": 2.0})
    threading.Timer(2.5, os.kill, (stopped_worker(gateway), signal.SIGCONT)).start()
    assert gateway.chat(large(2)).status == 200


def test_a_worker_that_hangs_is_ended(start: Start, fake: FakeProvider, monkeypatch: pytest.MonkeyPatch) -> None:
    gateway = start(gateway={"large_timeout": 3.0})
    stopped_worker(gateway)
    monkeypatch.setattr(offload, "WAITING", 1)
    sent = len(fake.requests)
    got = gateway.chat(large(2))
    assert (got.status, len(fake.requests)) == (413, sent)
    assert "large_timeout" in got.json["error"]["message"]


def test_workers_end_when_nothing_is_there_for_them(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "LINGER", 0.05)
    monkeypatch.setattr(offload, "LINGER_LARGE", 0.05)
    gateway = start()
    assert gateway.chat(large()).status == 200

    async def ended() -> None:
        while gateway.gateway.offload.processes:
            await asyncio.sleep(0.01)

    gateway.call(asyncio.wait_for(ended(), 20))


def test_a_tenant_with_too_many_large_bodies_waiting_is_told_so(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(offload, "MOST_WAITING", 0)
    gateway = start()
    found: list[int] = []

    def ask(number: int) -> None:
        found.append(gateway.chat(large(number), authorization="Bearer one").status)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(found) == {200, 429}
    assert gateway.chat({"messages": [{"role": "user", "content": "hi"}]}, authorization="Bearer one").status == 200


def test_bodies_in_memory_are_bounded_for_each_tenant_and_for_all() -> None:
    holding = Holding(100, 60)
    one, two = holding.by("a"), holding.by("b")
    one.add(50)
    with pytest.raises(Refused, match="tenant_bytes"):
        one.add(11)
    two.add(45)
    with pytest.raises(Refused, match="held_bytes"):
        two.add(6)
    one.release()
    two.add(6)
    two.release()
    assert holding.bytes == 0
    holding.by("c").add(80)  # one body alone is bounded by its own limit


def test_a_tenant_that_fills_its_places_keeps_no_other_waiting() -> None:
    async def work() -> None:
        gates = Gates(4, 2)
        for _ in range(2):
            await gates.enter("a")
        waiting = [asyncio.create_task(gates.enter("a")) for _ in range(5)]
        await asyncio.sleep(0)
        await asyncio.wait_for(gates.enter("b"), 5)
        waiting.pop().cancel()
        gates.leave("a")
        await asyncio.wait_for(waiting[0], 5)
        assert not waiting[1].done()
        for one in waiting[1:]:
            one.cancel()
        await asyncio.gather(*waiting, return_exceptions=True)
        for tenant in ("a", "a", "b"):
            gates.leave(tenant)
        assert not gates._each

    asyncio.run(work())


def test_a_bomb_is_refused_while_it_is_unpacked() -> None:
    bomb = gzip.compress(bytes(40 << 20))
    assert len(bomb) * HONEST_RATIO < 40 << 20
    with pytest.raises(Refused) as refused:
        unpack(bomb, "gzip", 64 << 20)
    assert refused.value.status == 413
    assert len(unpack(gzip.compress(bytes(HONEST_BYTES)), "gzip", 64 << 20)) == HONEST_BYTES
    with pytest.raises(TooMuch):
        unpack(gzip.compress(bytes(1000)), "gzip", 64 << 20, 999)


def test_what_was_here_before_is_told_by_its_blocks() -> None:
    seen, body = Blocks(), os.urandom(300_000)
    assert seen.unseen(body) >= 300_000
    seen.add(body)
    assert seen.unseen(body) == 0
    assert seen.unseen(body + os.urandom(10_000)) <= 3 * 16_384


def test_a_small_body_is_one_and_a_large_one_stays_in_its_pieces() -> None:
    async def read(*pieces: bytes) -> Incoming:
        left = list(pieces)

        async def receive() -> dict[str, Any]:
            return {"type": "http.request", "body": left.pop(0), "more_body": bool(left)}

        return await bodies.read(receive, {}, 64 << 20)

    small = asyncio.run(read(b"a", b"b"))
    assert (small.raw, small.large) == (b"ab", False)
    half = bytes(LARGE)
    found = asyncio.run(read(half, half))
    assert found.pieces == (half, half)


def test_a_client_that_leaves_ends_the_work_on_its_large_body(gateway: Running) -> None:
    connection = gateway.slow_reader({"model": "gpt-4.1", **large()})
    connection.close()
    gateway.settled()
    assert gateway.chat({"messages": [{"role": "user", "content": "hi"}]}).status == 200
