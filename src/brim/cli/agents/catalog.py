"""Coding agents that can be pointed at the gateway, for one run or permanently through their configuration."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from brim.errors import BadInput

# A table in Codex's configuration ends where the next one begins. Codex asks a provider named OpenAI to compact its
# history; from any other it requests a summary by the model.
CODEX_TABLE = "[model_providers.brim]"


@dataclass(frozen=True, slots=True)
class Agent:
    """One agent. `env` and `arguments` point one run at a gateway; `edited` does so permanently in its file.

    `defaults` names a variable that holds the path of a file for one run, and what stands in that file; `also` is a
    second file that is edited for good, which says nothing of the address.
    """

    name: str
    file: str  # below the home folder
    env: Callable[[str], dict[str, str]]
    edited: Callable[[str, str], str]
    arguments: Callable[[str], list[str]] = field(default=lambda url: [])
    defaults: tuple[str, str] | None = None
    also: tuple[str, Callable[[str, str], str]] | None = None

    @property
    def edits(self) -> tuple[tuple[str, Callable[[str, str], str]], ...]:
        """The files to edit permanently, and how."""
        return ((self.file, self.edited), *((self.also,) if self.also else ()))


def agent_of(name: str) -> Agent:
    if name not in AGENTS:
        raise BadInput("agent", f"{name!r} is not one of {', '.join(AGENTS)}")
    return AGENTS[name]


def _claude(text: str, url: str) -> str:
    settings = _json(text, ".claude/settings.json")
    settings["env"] = {**settings.get("env", {}), "ANTHROPIC_BASE_URL": url}
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _opencode_providers(url: str) -> dict[str, Any]:
    return {name: {"options": {"baseURL": f"{url}/v1"}} for name in ("openai", "anthropic")}


def _opencode(text: str, url: str) -> str:
    settings = _json(text, "opencode.json")
    if not settings:  # opencode writes this line into a configuration that has none
        settings["$schema"] = "https://opencode.ai/config.json"
    providers = settings.setdefault("provider", {})
    for name, given in _opencode_providers(url).items():
        known = providers.setdefault(name, {})
        known["options"] = {**known.get("options", {}), **given["options"]}
    return json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _json(text: str, name: str) -> dict[str, Any]:
    try:
        found = json.loads(text) if text.strip() else {}
    except ValueError as problem:
        raise BadInput(name, f"is no JSON that Brim can edit ({problem}): see docs/clients.md for the lines") from None
    if not isinstance(found, dict):
        raise BadInput(name, "is no JSON object")
    return found


def _codex_provider(url: str) -> str:
    return f'{{name="OpenAI", base_url="{url}/v1", wire_api="responses", env_key="OPENAI_API_KEY"}}'


def _codex(text: str, url: str) -> str:
    """Names the provider before the first table, where top-level keys must be, and describes it at the end."""
    lines = text.splitlines()
    tables = [number for number, line in enumerate(lines) if line.lstrip().startswith("[")]
    head = tables[0] if tables else len(lines)
    top = [line for line in lines[:head] if line.split("=")[0].strip() != "model_provider"]
    rest = "\n".join(['model_provider = "brim"', *top, *lines[head:]])
    if CODEX_TABLE in rest:
        raise BadInput(".codex/config.toml", f"has a {CODEX_TABLE} already")
    table = (
        f'{CODEX_TABLE}\nname = "OpenAI"\nbase_url = "{url}/v1"\nwire_api = "responses"\nenv_key = "OPENAI_API_KEY"\n'
    )
    return f"{rest.rstrip()}\n\n{table}"


def _lines(separator: str, wanted: Callable[[str], dict[str, str]]) -> Callable[[str, str], str]:
    """An edit of a file with one setting per line, replacing existing values."""

    def edited(text: str, url: str) -> str:
        new = wanted(url)
        kept = [line for line in text.splitlines() if line.split(separator.strip())[0].strip() not in new]
        return "\n".join([*kept, *(f"{name}{separator}{value}" for name, value in new.items())]) + "\n"

    return edited


def _gemini_env(url: str) -> dict[str, str]:
    return {"GOOGLE_GEMINI_BASE_URL": url}


# With a custom address, gemini-cli can't sign in unless its settings name a method.
GEMINI_SETTINGS = ".gemini/settings.json"
GEMINI_KEY = "gemini-api-key"


def _gemini_settings(text: str, url: str) -> str:
    settings = _json(text, GEMINI_SETTINGS)
    auth = settings.setdefault("security", {}).setdefault("auth", {})
    chosen = auth.setdefault("selectedType", GEMINI_KEY)
    if chosen not in (GEMINI_KEY, "gateway"):
        told = f"signs in by {chosen!r}, which asks Google alone: choose an API key with /auth in gemini first"
        raise BadInput(GEMINI_SETTINGS, told)
    return text if f'"{chosen}"' in text else json.dumps(settings, indent=2, ensure_ascii=False) + "\n"


def _goose_env(url: str) -> dict[str, str]:
    return {"OPENAI_HOST": url, "ANTHROPIC_HOST": url}


AGENTS = {
    agent.name: agent
    for agent in (
        Agent("claude", ".claude/settings.json", lambda url: {"ANTHROPIC_BASE_URL": url}, _claude),
        Agent(
            "codex",
            ".codex/config.toml",
            lambda url: {},
            _codex,
            lambda url: ["-c", 'model_provider="brim"', "-c", f"model_providers.brim={_codex_provider(url)}"],
        ),
        Agent(
            "opencode",
            ".config/opencode/opencode.json",
            lambda url: {"OPENCODE_CONFIG_CONTENT": json.dumps({"provider": _opencode_providers(url)})},
            _opencode,
        ),
        Agent(
            "aider",
            ".aider.conf.yml",
            lambda url: {"OPENAI_API_BASE": f"{url}/v1", "ANTHROPIC_API_BASE": url},
            _lines(": ", lambda url: {"openai-api-base": f"{url}/v1"}),
        ),
        Agent(
            "gemini",
            ".gemini/.env",
            _gemini_env,
            _lines("=", _gemini_env),
            defaults=(
                "GEMINI_CLI_SYSTEM_DEFAULTS_PATH",
                json.dumps({"security": {"auth": {"selectedType": GEMINI_KEY}}}),
            ),
            also=(GEMINI_SETTINGS, _gemini_settings),
        ),
        Agent("goose", ".config/goose/config.yaml", _goose_env, _lines(": ", _goose_env)),
    )
}
