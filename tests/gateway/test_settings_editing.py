"""Settings changed in the dashboard: checked, written beside the comments of brim.toml, in force at once."""

from __future__ import annotations

import base64
import html
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

import pytest

from brim import settings
from brim.errors import BadSetting
from brim.gateway.admin.settings_editor import LEFT, SettingsEditor, changed
from brim.gateway.server.options import options_of
from brim.testing import FakeProvider

from .conftest import Got, Running, Start, long_chat

FILE = """# My gateway. Do not lose this line.
[policy]
name = "rolling"   # the windowed history
# six is what we tried
recent_messages_to_keep = 6   # messages

# the end
[gateway]
fit_timeout = 3
"""
ROLLING = {"recent_messages_to_keep": "6", "summary": "true", "include_system": "true"}
OPERATOR, CLIENTS = "the-token-of-the-operator", "the-token-of-all-clients"

Editing = Callable[..., Running]


@pytest.fixture
def editing(start: Start, fake: FakeProvider, tmp_path: Path) -> Editing:
    """A gateway that was started with a brim.toml."""

    def made(text: str = FILE, env: dict[str, str] | None = None, **given: Any) -> Running:
        if text:
            (tmp_path / "brim.toml").write_text(text, encoding="utf-8", newline="")
        running = start(env, pages=True, **given)
        environment = {"HOME": str(tmp_path), **(env or {})}

        def load(texts: Any) -> settings.Settings:
            return settings.load(tmp_path, environment, texts=texts, gateway={"port": 0, **given.get("gateway", {})})

        def resolve(loaded: settings.Settings) -> Any:
            return options_of(loaded, upstream=fake.url)

        running.gateway.editor = SettingsEditor(load, resolve, running.gateway.reload)
        return running

    return made


def sent(running: Running, form: str, fields: dict[str, str], **headers: str) -> Got:
    named = {"content-type": "application/x-www-form-urlencoded"}
    named |= {name.replace("_", "-"): value for name, value in headers.items()}
    return running.ask("POST", "/brim/settings", urlencode({"form": form, **fields}).encode(), named)


def kept(fake: FakeProvider) -> int:
    return sum(message["role"] != "system" for message in fake.posts[-1].json["messages"])


def test_a_change_is_in_the_file_beside_its_comments_and_in_the_next_request(
    editing: Editing, fake: FakeProvider, tmp_path: Path
) -> None:
    running = editing()
    body = {"messages": long_chat(60, 300)}
    running.chat(body)
    before = kept(fake)
    changing = {**ROLLING, "recent_messages_to_keep": "12", "max_prompt_tokens": "8,000"}
    answer = sent(running, "rolling", changing)
    assert answer.status == 303
    text = (tmp_path / "brim.toml").read_text(encoding="utf-8")
    wanted = FILE.replace("to_keep = 6 ", "to_keep = 12 ").replace(
        "messages\n", "messages\nmax_prompt_tokens = 8000\n", 1
    )
    assert text == wanted
    running.chat(body)
    assert (before, kept(fake)) == (7, 13)
    page = html.unescape(running.ask("GET", answer.headers["location"]).body.decode())
    assert "Saved, and in force for the next request" in page
    assert "policy.recent_messages_to_keep = 12" in page


def test_the_four_settings_of_the_windowed_history_have_fields_with_help(editing: Editing) -> None:
    page = editing().ask("GET", "/brim/settings").body.decode()
    for name, value in (
        ("max_prompt_tokens", 8192),
        ("reserved_response_tokens", 512),
        ("recent_messages_to_keep", 6),
        ("min_recent_messages_to_keep", 2),
    ):
        field = next(part for part in page.split("<input") if f'id="rolling-{name}"' in part)
        assert f'value="{value}"' in field
        assert 'title="' in field
        assert f'id="rolling-{name}-help"' in field


@pytest.mark.parametrize(
    ("form", "fields", "told"),
    [
        ("rolling", {"recent_messages_to_keep": "six"}, "'six' is not a whole number from 1 up"),
        ("rolling", {"recent_messages_to_keep": "1"}, "must not be above recent_messages_to_keep (1)"),
        ("rolling", {"recall": "2"}, "'2' is not a number from 0 to 1"),
        ("summarizer", {"enabled": "true", "model": "m"}, "summarizer.upstream: is needed"),
    ],
)
def test_a_value_that_makes_no_sense_is_refused_beside_its_field_and_nothing_changes(
    editing: Editing, tmp_path: Path, form: str, fields: dict[str, str], told: str
) -> None:
    running = editing()
    answer = sent(running, form, {**(ROLLING if form == "rolling" else {}), **fields})
    assert answer.status == 422
    assert told in html.unescape(answer.body.decode())
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == FILE
    assert running.gateway.options.policy.as_dict()["recent_messages_to_keep"] == 6


def test_another_policy_leaves_the_settings_of_the_last_one_as_comments(editing: Editing, tmp_path: Path) -> None:
    running = editing()
    assert sent(running, "agent", {"compact_to": "0.5"}).status == 303
    assert running.gateway.options.policy.name == "agent"
    text = (tmp_path / "brim.toml").read_text(encoding="utf-8")
    assert "# recent_messages_to_keep = 6   # messages\n" in text
    assert tomllib.loads(text)["policy"] == {"name": "agent", "compact_to": 0.5}


def test_an_emptied_field_is_the_default_again(editing: Editing, tmp_path: Path) -> None:
    running = editing()
    assert sent(running, "gateway", {"fit_timeout": "", "recall": "auto"}).status == 303
    assert "fit_timeout" not in (tmp_path / "brim.toml").read_text(encoding="utf-8")
    assert running.gateway.options.gateway.fit_timeout == 2.0


def test_without_a_file_the_users_own_is_made(editing: Editing, tmp_path: Path) -> None:
    running = editing("")
    assert sent(running, "rolling", {**ROLLING, "max_prompt_tokens": "9000"}).status == 303
    made = tmp_path / ".config/brim/brim.toml"
    assert tomllib.loads(made.read_text(encoding="utf-8"))["policy"] == {"name": "rolling", "max_prompt_tokens": 9000}
    assert made.stat().st_mode & 0o077 == 0


def test_what_the_environment_sets_is_shown_and_not_changed(editing: Editing, tmp_path: Path) -> None:
    running = editing(env={"BRIM_POLICY_RECENT_MESSAGES_TO_KEEP": "4"})
    page = html.unescape(running.ask("GET", "/brim/settings").body.decode())
    assert "It is set by the environment BRIM_POLICY_RECENT_MESSAGES_TO_KEEP, which stands above the file" in page
    assert sent(running, "rolling", {**ROLLING, "recent_messages_to_keep": "9"}).status == 303
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == FILE
    with pytest.raises(BadSetting, match="environment"):
        running.call(running.gateway.editor.change({"policy.recent_messages_to_keep": 9}))


def test_what_is_no_setting_of_a_form_is_never_written(editing: Editing, tmp_path: Path) -> None:
    running = editing()
    for form, name in (
        ("gateway", "host"),
        ("gateway", "log_content"),
        ("upstreams", "base_url"),
        ("policy", "name"),
        ("mcp", "token_command"),
    ):
        assert sent(running, form, {name: "x"}).status == 422
    with pytest.raises(BadSetting, match="not changed while the gateway runs"):
        running.call(running.gateway.editor.change({"mcp.token_command": "x"}))
    assert running.ask("POST", "/brim/settings", {"form": "agent"}).status == 422
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == FILE


@pytest.mark.parametrize(
    "headers",
    [
        {"origin": "https://evil.example"},
        {"origin": "null"},
        {"origin": "https://allowed.example"},
        {"sec_fetch_site": "cross-site"},
        {"sec_fetch_site": "same-site"},
        {"host": "evil.example"},
        {"authorization": "Bearer sk-a-client"},
    ],
)
def test_no_other_page_and_no_client_changes_a_setting(
    editing: Editing, tmp_path: Path, headers: dict[str, str]
) -> None:
    running = editing(gateway={"allowed_origins": ["https://allowed.example"]})
    assert sent(running, "agent", {}, **headers).status == 403
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == FILE
    own = {"origin": f"http://127.0.0.1:{running.port}", "sec_fetch_site": "same-origin"}
    assert sent(running, "agent", {}, **own).status == 303


def test_with_tokens_only_the_operator_changes_settings(editing: Editing, tmp_path: Path) -> None:
    tokens = {"access_token_env": "CLIENTS", "operator_token_env": "OPERATOR"}
    running = editing(env={"CLIENTS": CLIENTS, "OPERATOR": OPERATOR}, gateway=tokens)
    assert sent(running, "agent", {}).status == 401
    assert sent(running, "agent", {}, x_brim_token=CLIENTS).status == 401
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == FILE
    known = "Basic " + base64.b64encode(f"brim:{OPERATOR}".encode()).decode()
    elsewhere = {"authorization": known, "origin": "https://evil.example"}
    assert sent(running, "agent", {}, **elsewhere).status in (401, 403)
    assert sent(running, "agent", {}, authorization=known).status == 303


def test_a_file_that_cannot_be_written_is_told_and_nothing_changes(
    editing: Editing, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    running = editing()

    def refuse(*_: Any) -> None:
        raise OSError(30, "Read-only file system")

    monkeypatch.setattr("os.replace", refuse)
    answer = sent(running, "agent", {})
    assert answer.status == 422
    assert "cannot be written (Read-only file system)" in html.unescape(answer.body.decode())
    assert running.gateway.options.policy.name == "rolling"
    assert [path.name for path in tmp_path.iterdir() if path.name.startswith(".brim-")] == []


def test_a_read_only_file_is_not_replaced_and_no_other_is_written(editing: Editing, tmp_path: Path) -> None:
    running = editing()
    (tmp_path / "brim.toml").chmod(0o444)
    answer = sent(running, "agent", {})
    assert answer.status == 422
    assert "cannot be written (it is read-only)" in html.unescape(answer.body.decode())
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == FILE
    assert running.gateway.options.policy.name == "rolling"


def test_a_file_that_was_broken_by_hand_meanwhile_is_left_alone(editing: Editing, tmp_path: Path) -> None:
    running = editing()
    (tmp_path / "brim.toml").write_text("[policy\n", encoding="utf-8")
    answer = sent(running, "agent", {})
    assert answer.status == 422
    assert "is not TOML" in html.unescape(answer.body.decode())
    assert (tmp_path / "brim.toml").read_text(encoding="utf-8") == "[policy\n"


def test_without_settings_files_the_page_says_so(start: Start) -> None:
    running = start(pages=True)
    page = running.ask("GET", "/brim/settings").body.decode()
    assert "started without settings files" in page
    assert "<form" not in page
    assert sent(running, "agent", {}).status == 422


@pytest.mark.parametrize(
    ("text", "key", "value", "made"),
    [
        ('policy = "rolling"\n', "policy.name", "agent", 'policy = "agent"\n'),
        ("gateway.fit_timeout = 1 # s\n", "gateway.fit_timeout", 2.5, "gateway.fit_timeout = 2.5 # s\n"),
        ("policy = {recall = 0.1} # p\n", "policy.recall", 0.2, "policy = {recall = 0.2} # p\n"),
        ("[policy]\r\nrecall = 0.1\r\n", "policy.recall", 0.2, "[policy]\r\nrecall = 0.2\r\n"),
        ('["policy"]\nrecall = 0.1\n', "policy.recall", 0.2, '["policy"]\nrecall = 0.2\n'),
        (
            "[policy]\nrecall = 0.1\n\n# x\n[mcp]\n",
            "policy.budget",
            9,
            "[policy]\nrecall = 0.1\nbudget = 9\n\n# x\n[mcp]\n",
        ),
        ('[policy]\npin = [\n  "a", # x\n]\n', "policy.pin", LEFT, '[policy]\n# pin = [\n#   "a", # x\n# ]\n'),
        ("", "summarizer.style", 'say "no"', '[summarizer]\nstyle = "say \\"no\\""\n'),
    ],
)
def test_toml_is_changed_in_every_way_of_writing_it(text: str, key: str, value: Any, made: str) -> None:
    assert changed(text, key, value) == made
