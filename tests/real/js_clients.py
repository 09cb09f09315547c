"""The JavaScript libraries that hosts are built on, with what those hosts send beside: part of `make real-clients`.

Editors and desktop programs that cannot run here are stood for by their client library, their headers and their origin.
`npm install --prefix FOLDER openai @langchain/openai @langchain/core ai @ai-sdk/openai-compatible ollama`.
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

import brim
from brim.testing import Call, FakeProvider, Say

INSTALLED = Path(os.environ.get("CLIENTS", ".clients")).resolve()
ROOT = Path(__file__).parents[2]
SCRIPT = Path(__file__).with_name("js_client.mjs")
WINDOW, STEPS = 8_000, 12
REQUEST = "Find out why berth_12 is booked twice. The contract is KX-4471."
DONE = "The crane was moved on Tuesday."
OBSIDIAN, TAURI = "app://obsidian.md", "http://tauri.localhost"
ORIGINS = (OBSIDIAN, TAURI)
# What each host sends beside its request: (library, headers).
HOSTS = {
    "VS Code": ("openai", {"user-agent": "GitHubCopilotChat/0.32.0", "editor-version": "vscode/1.107.0",
                           "x-interaction-type": "conversation-agent", "openai-intent": "conversation-agent"}),
    "Copilot CLI": ("openai", {"user-agent": "copilot/1.0.0 (linux v22.0.0)", "x-initiator": "agent"}),
    "JetBrains": ("openai", {"user-agent": "ktor-client", "accept-charset": "UTF-8"}),
    "Cline": ("openai", {"http-referer": "https://cline.bot", "x-title": "Cline"}),
    "Roo Code": ("openai", {"http-referer": "https://github.com/RooVetGit/Roo-Cline", "x-title": "Roo Code"}),
    "Cursor": ("openai", {"user-agent": "OpenAI/JS 4.0.0", "x-cursor-client-version": "2.0.0"}),
    "Continue": ("openai", {"user-agent": "Continue/1.0", "x-api-key": "any", "api-key": "any"}),
    "Open WebUI": ("openai", {"x-openwebui-user-id": "u1", "x-openwebui-chat-id": "c1"}),
    "LibreChat": ("langchain", {"user-agent": "LibreChat/0.8"}),
    "Obsidian Copilot": ("langchain", {"origin": OBSIDIAN}),
    "Jan": ("vercel", {"origin": TAURI}),
    "opencode and other Vercel clients": ("vercel", {}),
    "Ollama clients": ("ollama", {}),
}  # fmt: skip


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[FakeProvider, str]]:
    """A provider with a small window, and a gateway before it that lets the origins of the hosts in."""
    home = tmp_path_factory.mktemp("home")
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port = found.getsockname()[1]
    listed = ", ".join(f'"{origin}"' for origin in ORIGINS)
    config = f'[gateway]\nport = {port}\nallowed_origins = [{listed}]\n[models."gpt-4o"]\nwindow = {WINDOW}\n'
    (home / "brim.toml").write_text(config)
    env = {**os.environ, "HOME": str(home)}
    with FakeProvider(window=WINDOW, default=Say(DONE)) as fake:
        command = [sys.executable, "-m", "brim", "serve", "--upstream", fake.url, "--config", str(home / "brim.toml")]
        process = subprocess.Popen(command, cwd=home, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        url = f"http://127.0.0.1:{port}"
        try:
            for _ in range(300):
                try:
                    urllib.request.urlopen(f"{url}/healthz").close()
                    break
                except OSError:
                    time.sleep(0.1)
            yield fake, url
        finally:
            process.terminate()
            process.wait()


@pytest.mark.parametrize("host", HOSTS)
def test_a_host_calls_tools_past_its_window(host: str, place: tuple[FakeProvider, str]) -> None:
    if shutil.which("node") is None or not (INSTALLED / "node_modules/openai").exists():
        pytest.skip(f"node or the libraries are not in {INSTALLED}")
    fake, url = place
    library, headers = HOSTS[host]
    fake.requests.clear()
    fake._script.clear()
    fake.script(*(Call("read_log", {"day": step}, id=f"call_{step}") for step in range(STEPS)))
    command = ["node", str(SCRIPT), library, f"{url}/v1", json.dumps(headers), f"{host}: {REQUEST}", str(INSTALLED)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr[-2_000:]
    assert done.stdout.strip().endswith(DONE)
    assert len(fake.posts) == STEPS + 1
    assert all("KX-4471" in seen.body.decode() for seen in fake.posts)
    assert len(fake.posts[-1].body) < STEPS * 2_000  # 12 logs of about 2,300 bytes went in


def test_the_example_extension_shows_what_the_open_chat_takes(place: tuple[FakeProvider, str], tmp_path: Path) -> None:
    """The extension of docs/hosts.md in Node, with the three things of VS Code that it uses."""
    extension = (ROOT / "docs/examples/clients/token_counter.js").read_text()
    assert extension in (ROOT / "docs/hosts.md").read_text()
    chat = {"model": "gpt-4o", "messages": [{"role": "user", "content": REQUEST}]}
    (tmp_path / "extension.js").write_text(extension.replace("http://127.0.0.1:8787", place[1]))
    (tmp_path / "run.js").write_text(
        "const item = { show() { console.log(item.text, '|', item.tooltip) }, hide() { console.log('hidden') } };\n"
        f"const document = {{ languageId: 'json', getText: () => {json.dumps(json.dumps(chat))} }};\n"
        "const window = { createStatusBarItem: () => item, onDidChangeActiveTextEditor() {} };\n"
        "window.activeTextEditor = { document };\n"
        "const load = require('module')._load;\n"
        "require('module')._load = (name, ...rest) =>\n"
        "  name === 'vscode' ? { window, StatusBarAlignment: { Right: 2 } } : load(name, ...rest);\n"
        "require('./extension.js').activate({ subscriptions: [] });\n"
    )
    done = subprocess.run(["node", str(tmp_path / "run.js")], capture_output=True, text=True, timeout=60, check=False)
    tokens = brim.count(chat["messages"], model="gpt-4o").tokens
    assert done.stdout.startswith(f"$(symbol-numeric) {tokens} tokens | 1 messages"), done


@pytest.mark.parametrize("origin", ORIGINS)
def test_an_origin_that_is_allowed_is_answered_before_it_asks(origin: str, place: tuple[FakeProvider, str]) -> None:
    asked = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type,x-stainless-lang",
    }
    request = urllib.request.Request(f"{place[1]}/v1/chat/completions", method="OPTIONS", headers=asked)
    with urllib.request.urlopen(request) as answer:
        assert answer.headers["access-control-allow-origin"] == origin
        assert "x-stainless-lang" in answer.headers["access-control-allow-headers"]


def test_another_origin_is_refused(place: tuple[FakeProvider, str]) -> None:
    asked = {"origin": "https://elsewhere.example", "content-type": "application/json"}
    request = urllib.request.Request(f"{place[1]}/v1/chat/completions", b"{}", headers=asked)
    with pytest.raises(urllib.error.HTTPError) as refused:
        urllib.request.urlopen(request)
    refused.value.close()
    assert refused.value.code == 403
