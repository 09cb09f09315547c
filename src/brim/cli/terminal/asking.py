"""Asks a running gateway, for the commands that show its state."""

from __future__ import annotations

import argparse
import json
import urllib.error
import urllib.request
from typing import Any

from brim import settings
from brim.errors import BadSetting, NotFound


def add_address(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--url", metavar="URL", help="the gateway's address (from the settings: http://127.0.0.1:8787)")


class Asker:
    """Reads the JSON API of a gateway; NotFound says how to start one."""

    def __init__(self, url: str | None) -> None:
        loaded = settings.load()
        gateway = loaded.gateway
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(gateway.host, gateway.host)
        # Accept the dashboard's address and the clients' base address for the same gateway.
        self.url = (url or f"http://{host}:{gateway.port}").rstrip("/").removesuffix("/brim").removesuffix("/v1")
        if not self.url.startswith(("http://", "https://")):
            raise BadSetting("--url", f"{url!r} is not an address such as http://127.0.0.1:8787")
        held = filter(None, (gateway.operator_token_env, gateway.access_token_env))  # the operator's sees all
        self._token = next(filter(None, map(loaded.secret, held)), None)

    def get(self, path: str) -> Any:
        headers = {"x-brim-token": self._token} if self._token else {}
        request = urllib.request.Request(f"{self.url}/brim/v1/{path}", headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return json.loads(answer.read())
        except urllib.error.HTTPError as problem:
            raise NotFound(
                f"{self.url} answers {problem.code}: is that a Brim gateway, and is its token set?"
            ) from None
        except (urllib.error.URLError, TimeoutError, OSError, ValueError):
            raise NotFound(f"no gateway answers at {self.url}: start one with `brim serve`") from None
