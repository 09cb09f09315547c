"""A client of tiny requests, one after the other until its standard input ends; then it tells how long each took.

Run as `python tiny.py PORT`. Its clock is the system's monotonic one, which all processes share.
"""

from __future__ import annotations

import json
import select
import socket
import sys
import time

PAUSE = 0.002


def request(number: int) -> bytes:
    body = json.dumps({"model": "gpt-4o", "messages": [{"role": "user", "content": f"Is {number} even?"}]}).encode()
    head = b"POST /v1/chat/completions HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer tiny\r\n"
    return head + b"content-type: application/json\r\ncontent-length: %d\r\n\r\n" % len(body) + body


def answer(connection: socket.socket) -> None:
    """Read one answer of a stated length."""
    found = b""
    while b"\r\n\r\n" not in found:
        found += _piece(connection)
    head, _, rest = found.partition(b"\r\n\r\n")
    length = next(line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length"))
    left = int(length.partition(b":")[2]) - len(rest)
    while left > 0:
        left -= len(_piece(connection))
    if not head.startswith(b"HTTP/1.1 200"):
        raise SystemExit(f"a tiny request got {head[:80]!r}")


def _piece(connection: socket.socket) -> bytes:
    piece = connection.recv(1 << 16)
    if not piece:
        raise SystemExit("the gateway has closed the connection of the tiny requests")
    return piece


def main() -> None:
    times: list[tuple[float, float]] = []
    with socket.create_connection(("127.0.0.1", int(sys.argv[1])), timeout=120) as connection:
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        number = 0
        while not select.select([sys.stdin], [], [], 0)[0]:
            data = request(number)
            began = time.monotonic()
            connection.sendall(data)
            answer(connection)
            times.append((began, time.monotonic() - began))
            number += 1
            time.sleep(PAUSE)
    json.dump(times, sys.stdout)


if __name__ == "__main__":
    main()
