"""A bearer token that a command prints, as the tools of most providers do: `gh auth token`, `gcloud auth …`."""

from __future__ import annotations

import asyncio
import subprocess
from collections.abc import Sequence

_SECONDS = 30.0


class NoToken(Exception):
    """The command gave no token."""


class TokenCommand:
    """The token that a command prints; it is run again when the server refuses the last one, as an expired one is.

    Example: await TokenCommand(["gh", "auth", "token"]).token() -> "gho_…"
    """

    def __init__(self, command: Sequence[str]) -> None:
        self._command = list(command)
        self._token = ""
        self._asking = asyncio.Lock()

    async def token(self, refused: str = "") -> str:
        """The token, a new one when the last is the one that was refused; NoToken says why there is none."""
        async with self._asking:  # calls that were refused together ask once
            if not self._token or self._token == refused:
                self._token = await asyncio.to_thread(self._run)
            return self._token

    def _run(self) -> str:
        name = self._command[0]
        try:
            done = subprocess.run(
                self._command, stdin=subprocess.DEVNULL, capture_output=True, timeout=_SECONDS, check=False
            )
        except OSError as error:
            raise NoToken(f"the command for a token cannot be run: {error}") from error
        except subprocess.TimeoutExpired as error:
            raise NoToken(f"the command for a token, {name}, gave none in {_SECONDS:g} s") from error
        token = done.stdout.decode("utf-8", "replace").strip()
        if done.returncode or not token or "\n" in token:
            said = done.stderr.decode("utf-8", "replace").strip().splitlines()
            last = f": {said[-1][:200]}" if said else ""
            raise NoToken(f"the command for a token, {name}, gave none (status {done.returncode}){last}")
        return token
