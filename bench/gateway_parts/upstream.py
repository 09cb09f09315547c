"""An upstream that costs nothing: canned answers, 100 chunks a millisecond apart or one JSON of 3 KB.

Run as `python upstream.py PORT`.
"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any

import uvloop

CHUNKS = 100
# What the small requests of the benchmark take, within a few tokens.
PROMPT = 1_025
HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\n"


def _chunk(text: str) -> bytes:
    inner = {"index": 0, "delta": {"content": text}, "finish_reason": None}
    head = {"id": "chatcmpl-bench", "object": "chat.completion.chunk", "created": 1, "model": "gpt-4o"}
    data = b"data: " + json.dumps({**head, "choices": [inner]}).encode() + b"\n\n"
    return b"%x\r\n%b\r\n" % (len(data), data)


def _last() -> bytes:
    usage = {"prompt_tokens": PROMPT, "completion_tokens": CHUNKS, "total_tokens": PROMPT + CHUNKS}
    data = b"data: " + json.dumps({"id": "chatcmpl-bench", "choices": [], "usage": usage}).encode()
    data += b"\n\ndata: [DONE]\n\n"
    return b"%x\r\n%b\r\n0\r\n\r\n" % (len(data), data)


def _whole() -> bytes:
    message = {"role": "assistant", "content": "All is well with the order. " * 100}
    usage = {"prompt_tokens": PROMPT, "completion_tokens": 600, "total_tokens": PROMPT + 600}
    body = json.dumps({"id": "x", "choices": [{"index": 0, "message": message}], "usage": usage}).encode()
    return HEAD % b"application/json" + b"content-length: %d\r\n\r\n" % len(body) + body


STREAM = [_chunk(f"word{number} ") for number in range(CHUNKS - 1)] + [_last()]
WHOLE = _whole()
MODELS = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\n{}"


class Canned(asyncio.Protocol):
    """Reads a request, answers by what its body asks for."""

    def connection_made(self, transport: Any) -> None:
        self.transport = transport
        self.buffer = bytearray()
        self.loop = asyncio.get_running_loop()

    def data_received(self, data: bytes) -> None:
        self.buffer += data
        head, found, _ = bytes(self.buffer[:16_384]).partition(b"\r\n\r\n")
        if not found:
            return
        lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")]
        size = int(lengths[0]) if lengths else 0
        if len(self.buffer) - len(head) - 4 < size:
            return
        streamed = b'"stream":true' in self.buffer
        self.buffer.clear()
        if head.startswith(b"GET"):
            self.transport.write(MODELS)
        elif streamed:
            self.transport.write(HEAD % b"text/event-stream" + b"transfer-encoding: chunked\r\n\r\n")
            self.step(0)
        else:
            self.transport.write(WHOLE)

    def step(self, number: int) -> None:
        if self.transport.is_closing():
            return
        self.transport.write(STREAM[number])
        if number + 1 < len(STREAM):
            self.loop.call_later(0.001, self.step, number + 1)


async def main(port: int) -> None:
    server = await asyncio.get_running_loop().create_server(Canned, "127.0.0.1", port)
    await server.serve_forever()


if __name__ == "__main__":
    uvloop.run(main(int(sys.argv[1])))
