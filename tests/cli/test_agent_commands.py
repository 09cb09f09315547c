"""`brim wrap`, `setup`, `doctor`, `init`, `completion`, `version`; tests/real/wrapped_agents.py has the real agents."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import brim
from brim.cli import COMMANDS
from brim.cli.agents.catalog import AGENTS
from brim.cli.agents.wrap import answers
from brim.cli.init import commented
from brim.testing import FakeProvider
from tests.cli.conftest import Run

URL = "http://127.0.0.1:8787"
# What a user may have there, byte by byte: odd spaces, no last line end, comments.
OWN = {
    "claude": '{ "env":{"A": "1"},\n\t"permissions": {"allow": ["Bash"]}}',
    "codex": '# mine\nmodel = "gpt-5"\nmodel_provider = "openai"\n\n[mcp_servers.x]\ncommand = "y"',
    "opencode": '{"model": "openai/gpt-5", "provider": {"openai": {"options": {"timeout": 5}}}}',
    "aider": "# mine\nmodel: gpt-5\nopenai-api-base: http://old\n",
    "gemini": "GEMINI_API_KEY=abc\r\n",
    "goose": "GOOSE_PROVIDER: openai\nextensions:\n  x: 1\n",
}


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    return folder


@pytest.mark.parametrize("name", AGENTS)
@pytest.mark.parametrize("there", [True, False])
def test_setup_points_at_the_gateway_and_undo_is_byte_identical(run: Run, home: Path, name: str, there: bool) -> None:
    files = [home / file for file, _ in AGENTS[name].edits]
    for path, own in zip(files, (OWN[name], '{"ui":  {"theme": "dark"}}'), strict=False):
        if there:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(own.encode())
    before = [path.read_bytes() if path.exists() else None for path in files]
    done = run("setup", name)
    assert done.code == 0, done.err
    assert URL in files[0].read_text()
    assert all(path.read_bytes() != was for path, was in zip(files, before, strict=True))
    assert run("setup", name).code == 2  # twice would lose what was there
    assert run("setup", name, "--undo").code == 0
    assert [path.read_bytes() if path.exists() else None for path in files] == before
    assert run("setup", name, "--undo").code == 1


def test_setup_keeps_what_stands_in_a_configuration(run: Run, home: Path) -> None:
    for name in ("claude", "codex", "opencode"):
        path = home / AGENTS[name].file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(OWN[name])
        run("setup", name)
    claude = json.loads((home / AGENTS["claude"].file).read_text())
    assert claude == {"env": {"A": "1", "ANTHROPIC_BASE_URL": URL}, "permissions": {"allow": ["Bash"]}}
    codex = tomllib.loads((home / AGENTS["codex"].file).read_text())
    assert (codex["model"], codex["model_provider"], codex["mcp_servers"]["x"]["command"]) == ("gpt-5", "brim", "y")
    assert codex["model_providers"]["brim"]["base_url"] == f"{URL}/v1"
    opencode = json.loads((home / AGENTS["opencode"].file).read_text())
    assert opencode["provider"]["openai"]["options"] == {"timeout": 5, "baseURL": f"{URL}/v1"}


def test_undo_keeps_what_an_agent_wrote_into_its_configuration_since(run: Run, home: Path) -> None:
    settings, own = home / AGENTS["opencode"].file, json.loads(OWN["opencode"])
    settings.parent.mkdir(parents=True)
    settings.write_text(OWN["opencode"])
    run("setup", "opencode")
    changed = json.loads(settings.read_text())
    changed["provider"]["openai"]["options"]["timeout"] = 9
    settings.write_text(json.dumps({"$schema": "s", **changed}))
    done = run("setup", "opencode", "--undo")
    assert (done.code, "changed since stays" in done.out) == (0, True)
    own["provider"]["openai"]["options"]["timeout"] = 9
    assert json.loads(settings.read_text()) == {"$schema": "s", **own}


def test_undo_keeps_the_lines_that_were_written_since(run: Run, home: Path) -> None:
    path = home / AGENTS["codex"].file
    path.parent.mkdir(parents=True)
    path.write_text(OWN["codex"])
    run("setup", "codex")
    path.write_text(path.read_text() + '\n[projects."/work"]\ntrust_level = "trusted"\n')
    assert run("setup", "codex", "--undo").code == 0
    found = tomllib.loads(path.read_text())
    assert found == {**tomllib.loads(OWN["codex"]), "projects": {"/work": {"trust_level": "trusted"}}}


def test_an_agents_own_layout_of_the_same_values_is_no_change(run: Run, home: Path) -> None:
    path = home / AGENTS["claude"].file
    path.parent.mkdir(parents=True)
    path.write_text(OWN["claude"])
    run("setup", "claude")
    path.write_text(json.dumps(json.loads(path.read_text()), indent=4))
    assert run("setup", "claude", "--undo").code == 0
    assert path.read_text() == OWN["claude"]


def test_undo_does_not_lose_what_was_changed_since_unless_it_is_told_to(run: Run, home: Path) -> None:
    run("setup", "codex")
    path = home / AGENTS["codex"].file
    path.write_text('model_provider = "mine"\n')
    assert run("setup", "codex", "--undo").code == 2
    assert path.read_text() == 'model_provider = "mine"\n'
    assert run("setup", "codex", "--undo", "--force").code == 0
    assert not path.exists()


def test_gemini_signed_in_with_google_is_told_that_it_would_not_ask_the_gateway(run: Run, home: Path) -> None:
    path = home / ".gemini/settings.json"
    path.parent.mkdir()
    path.write_text('{"security": {"auth": {"selectedType": "oauth-personal"}}}')
    done = run("setup", "gemini")
    assert (done.code, "/auth" in done.err) == (2, True)
    assert not (home / AGENTS["gemini"].file).exists()


def test_a_configuration_that_cannot_be_edited_is_left_alone(run: Run, home: Path) -> None:
    path = home / AGENTS["claude"].file
    path.parent.mkdir(parents=True)
    path.write_text("{ // mine\n}")
    assert run("setup", "claude").code == 2
    assert path.read_text() == "{ // mine\n}"
    assert run("setup", "claude", "--undo").code == 1


def test_an_agent_runs_through_a_gateway_of_its_own_that_ends_with_it(home: Path, tmp_path: Path) -> None:
    """The agent is a script that asks as its environment says; the provider sees it come through Brim."""
    asks = tmp_path / "claude"
    asks.write_text(
        f"#!{sys.executable}\n"
        "import json, os, sys, urllib.request\n"
        "url = os.environ['ANTHROPIC_BASE_URL']\n"
        "body = {'model': 'claude-sonnet-5', 'max_tokens': 9, 'messages': [{'role': 'user', 'content': sys.argv[1]}]}\n"
        "headers = {'content-type': 'application/json', 'x-api-key': 'k', 'anthropic-version': '2023-06-01'}\n"
        "ask = urllib.request.Request(url + '/v1/messages', json.dumps(body).encode(), headers)\n"
        "answer = urllib.request.urlopen(ask)\n"
        "print(url, answer.headers['x-brim-tokens-after'], json.load(answer)['content'][0]['text'])\n"
        "sys.exit(7)\n"
    )
    asks.chmod(0o755)
    before = sorted(home.rglob("*"))
    with FakeProvider(model="claude-sonnet-5") as fake:
        command = [sys.executable, "-m", "brim", "wrap", "claude", "--program", str(asks), "--upstream", fake.url]
        done = subprocess.run([*command, "--", "Is berth 12 free?"], capture_output=True, text=True, check=False)
        assert done.returncode == 7, done.stderr
        url, tokens, *said = done.stdout.split()
        assert (int(tokens) > 0, said) == (True, ["All", "right."])
        assert b"Is berth 12 free?" in fake.posts[0].body
    assert not answers(url)
    new = [path for path in home.rglob("*") if path not in before and path.is_file()]
    assert [path for path in new if "share/brim" not in str(path)] == []  # the store is Brim's own


def test_an_agent_that_is_not_installed_is_named(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    done = run("wrap", "goose")
    assert done.code == 1
    assert "no goose in the PATH" in done.err


def test_doctor_says_what_to_fix(run: Run, home: Path) -> None:
    done = run("doctor", "--offline", "--json")
    found = {finding["what"]: finding for finding in done.json}
    assert found["brim"]["state"] == found["settings"]["state"] == found["store"]["state"] == "ok"
    assert "brim serve" in found["port"]["fix"]
    run("setup", "claude")
    done = run("doctor", "--offline")
    assert done.code == 1  # an agent asks a gateway that does not run
    assert "brim setup claude --undo" in done.out


def test_doctor_lists_every_extra_of_the_package_and_the_compiled_parts(run: Run, home: Path) -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text())["project"]
    told = {finding["what"]: finding for finding in run("doctor", "--offline", "--json").json}
    extras = {f"extra {name}" for name in project["optional-dependencies"]} - {"extra all", "extra dev"}
    assert {name for name in told if name.startswith("extra ")} == extras
    assert told["extra code"]["state"] == "ok"
    assert told["compiled parts"]["state"] in ("ok", "note")


def test_doctor_names_a_setting_that_is_wrong_and_an_upstream_that_is_not_there(run: Run, home: Path) -> None:
    Path("brim.toml").write_text('[upstreams.mine]\nbase_url = "http://127.0.0.1:9"\n')
    assert "upstream mine" in run("doctor").out
    Path("brim.toml").write_text("[gateway]\nprot = 1\n")
    done = run("doctor", "--offline")
    assert done.code == 1
    assert "prot" in done.out


def test_init_writes_every_setting_as_a_comment_once(run: Run) -> None:
    assert run("init").code == 0
    text = Path("brim.toml").read_text()
    assert tomllib.loads(text) == {}
    assert "# [gateway]" in text
    assert "# port = 8787" in text
    assert run("init").code == 2
    assert run("init", "--stdout").out == text == commented()


def test_the_defaults_that_init_shows_are_toml() -> None:
    for line in commented().splitlines():
        if " = " in line and not line.endswith(")"):
            tomllib.loads(line.removeprefix("# "))


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_knows_every_command_and_its_flags(run: Run, shell: str) -> None:
    text = run("completion", shell).out
    assert all(name in text for name in COMMANDS)
    assert "--budget" in text
    if shutil.which(shell):
        subprocess.run([shell, "-n"], input=text, text=True, check=True)


def test_bash_completes_a_command_and_a_flag(run: Run) -> None:
    ask = "COMP_WORDS=({}); COMP_CWORD={}; _brim; echo ${{COMPREPLY[*]}}"
    text = run("completion", "bash").out
    for words, place, wanted in (("brim comp", 1, "compact"), ("brim wrap cod", 2, "codex")):
        script = text + ask.format(words, place)
        done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
        assert wanted in done.stdout.split()


def test_version_names_brim_and_python(run: Run) -> None:
    assert run("version").out.startswith(f"brim {brim.__version__}, Python 3.")
