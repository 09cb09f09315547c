"""Command-line clients, each as it is installed, set up and asked: a conversation goes on from call to call.

Every client runs in a home folder of its own with telemetry and updates off, and finds its provider at one address,
which is the server's own or the gateway's.
"""

from __future__ import annotations

import json
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path

MODEL = "tiny"
KEY = "no-key-needed"
# What the model of make_model.py answers.
SAYS = "All of it is kept."
SECONDS = 240


@dataclass(frozen=True, slots=True)
class Place:
    """Where a client lives during one conversation, and where the clients are installed."""

    installed: Path
    home: Path
    work: Path
    url: str

    def write(self, path: str, text: str) -> None:
        file = self.home / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)

    def run(self, command: list[str], **env: str) -> str:
        """All that a command writes."""
        given = {"PATH": os.environ["PATH"], "HOME": str(self.home), "TERM": "dumb", **env}
        done = subprocess.run(
            command,
            cwd=self.work,
            env=given,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=SECONDS,
            check=False,
        )
        return done.stdout.decode("utf-8", "replace")


class Client:
    """A client. `program` is where its installation keeps it, `takes` what it sends before anyone has said a word."""

    name: str
    program: str
    takes: int

    def set_up(self, place: Place) -> None:
        """Write the client's settings."""

    def ask(self, place: Place, text: str, first: bool) -> str:
        """What the client writes when it is told this, in a new conversation or in the one before."""
        raise NotImplementedError


class ClaudeCode(Client):
    """Claude Code with a few of its tools; with all of them its first request takes 18,500 tokens."""

    name, program, takes = "Claude Code", "node_modules/.bin/claude", 2_800
    tools = "Bash,Read,Edit"

    def ask(self, place: Place, text: str, first: bool) -> str:
        command = [str(place.installed / self.program), "-p", "--tools", self.tools]
        return place.run(
            [*command, *([] if first else ["--continue"]), "--output-format", "text", text],
            ANTHROPIC_BASE_URL=place.url,
            ANTHROPIC_API_KEY=KEY,
            ANTHROPIC_MODEL=MODEL,
            ANTHROPIC_DEFAULT_HAIKU_MODEL=MODEL,
            CLAUDE_CODE_MAX_OUTPUT_TOKENS="512",
            CLAUDE_CODE_MAX_RETRIES="0",
            CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
            DISABLE_TELEMETRY="1",
            DISABLE_ERROR_REPORTING="1",
            DISABLE_AUTOUPDATER="1",
        )


class WholeClaudeCode(ClaudeCode):
    """Claude Code as it comes, with all its tools."""

    name, takes, tools = "Claude Code, all tools", 18_500, "default"


class Codex(Client):
    name, program, takes = "Codex", "node_modules/.bin/codex", 5_900

    def set_up(self, place: Place) -> None:
        place.write(
            ".codex/config.toml",
            f'model = "{MODEL}"\nmodel_provider = "brim"\ncheck_for_update_on_startup = false\n'
            "[analytics]\nenabled = false\n"
            f'[model_providers.brim]\nname = "Brim"\nbase_url = "{place.url}/v1"\nwire_api = "responses"\n'
            "request_max_retries = 0\nstream_max_retries = 0\n",
        )

    def ask(self, place: Place, text: str, first: bool) -> str:
        command = [str(place.installed / self.program), "exec", "--skip-git-repo-check"]
        return place.run([*command, *([] if first else ["resume", "--last"]), text])


class Opencode(Client):
    name, program, takes = "opencode", "node_modules/.bin/opencode", 7_000

    def set_up(self, place: Place) -> None:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{place.url}/v1", "apiKey": KEY},
            "models": {MODEL: {"limit": {"context": 1_000_000, "output": 512}}},
        }
        settings = {
            "autoupdate": False,
            "share": "disabled",
            "model": f"brim/{MODEL}",
            "small_model": f"brim/{MODEL}",
            "provider": {"brim": provider},
        }
        place.write(".config/opencode/opencode.json", json.dumps(settings))

    def ask(self, place: Place, text: str, first: bool) -> str:
        return self.run(place, *([] if first else ["--continue"]), text)

    def run(self, place: Place, *given: str) -> str:
        return place.run(
            [str(place.installed / self.program), "run", *given],
            OPENCODE_DISABLE_AUTOUPDATE="1",
            OPENCODE_DISABLE_MODELS_FETCH="1",
            OPENCODE_DISABLE_LSP_DOWNLOAD="1",
        )


class Aider(Client):
    name, program, takes = "aider", "aider/bin/aider", 100

    def ask(self, place: Place, text: str, first: bool) -> str:
        flags = "--no-git --no-check-update --analytics-disable --no-show-model-warnings --no-show-release-notes"
        quiet = "--yes-always --no-pretty --no-stream --map-tokens 0 --chat-mode ask"
        going_on = "--restore-chat-history --max-chat-history-tokens 1000000"
        command = [str(place.installed / self.program), "--model", f"openai/{MODEL}", *f"{flags} {quiet}".split()]
        return place.run(
            [*command, *([] if first else going_on.split()), "--message", text],
            OPENAI_API_BASE=f"{place.url}/v1",
            OPENAI_API_KEY=KEY,
            LITELLM_LOCAL_MODEL_COST_MAP="True",
        )


class Llm(Client):
    name, program, takes = "llm", "llm/bin/llm", 0

    def set_up(self, place: Place) -> None:
        models = f"- model_id: {MODEL}\n  model_name: {MODEL}\n  api_base: {place.url}/v1\n"
        place.write(".config/io.datasette.llm/extra-openai-models.yaml", models)

    def ask(self, place: Place, text: str, first: bool) -> str:
        command = [str(place.installed / self.program), "-m", MODEL, "-o", "max_tokens", "512"]
        return place.run([*command, *([] if first else ["-c"]), text], OPENAI_API_KEY=KEY)


CLIENTS: tuple[Client, ...] = (ClaudeCode(), WholeClaudeCode(), Codex(), Opencode(), Aider(), Llm())
