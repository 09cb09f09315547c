"""The yardstick: the same stack (uvicorn, uvloop, httptools, aiohttp) passing bytes through, and nothing else.

Run as `python bare.py PORT UPSTREAM`.
"""

from __future__ import annotations

import sys
from typing import Any

import aiohttp
import uvicorn
from yarl import URL

HOP = {b"connection", b"transfer-encoding", b"keep-alive"}
OURS = HOP | {b"host", b"content-length"}


class Bare:
    def __init__(self, upstream: str) -> None:
        self.upstream = upstream
        self.session: aiohttp.ClientSession

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] == "lifespan":
            await receive()
            self.session = aiohttp.ClientSession(auto_decompress=False, connector=aiohttp.TCPConnector(limit=0))
            await send({"type": "lifespan.startup.complete"})
            await receive()
            await self.session.close()
            await send({"type": "lifespan.shutdown.complete"})
            return
        pieces = []
        while True:
            message = await receive()
            pieces.append(message.get("body", b""))
            if not message.get("more_body"):
                break
        url = URL(self.upstream + scope["path"], encoded=True)
        headers = [(name.decode(), value.decode()) for name, value in scope["headers"] if name not in OURS]
        async with self.session.request(scope["method"], url, headers=headers, data=b"".join(pieces)) as answer:
            given = [(name.lower(), value) for name, value in answer.raw_headers if name.lower() not in HOP]
            await send({"type": "http.response.start", "status": answer.status, "headers": given})
            async for chunk in answer.content.iter_any():
                await send({"type": "http.response.body", "body": chunk, "more_body": True})
        await send({"type": "http.response.body", "body": b"", "more_body": False})


if __name__ == "__main__":
    quiet = {"log_level": "error", "access_log": False, "server_header": False, "date_header": False}
    uvicorn.run(Bare(sys.argv[2]), port=int(sys.argv[1]), **quiet)
