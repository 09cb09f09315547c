"""Settings come from four places, say which, and are refused with the key and what is allowed."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from brim import models, settings
from brim.errors import BadSetting
from brim.mcp.options import WrapperOptions
from brim.planning.policies.policy import NAMES, Policy

KEY = "sk-proj-" + "a1B2c3D4" * 5


def write(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "brim.toml"
    path.write_text(text, encoding="utf-8")
    return path


def test_without_any_source_every_value_is_the_default(tmp_path: Path) -> None:
    loaded = settings.load(tmp_path, {})
    assert (loaded.gateway.host, loaded.gateway.port, loaded.gateway.fail) == ("127.0.0.1", 8787, "open")
    assert (loaded.gateway.log_content, loaded.summarizer.enabled) == (False, False)
    assert loaded.policy == {"name": "agent"}
    assert loaded.origin("gateway.port") == "default"


def test_arguments_beat_the_environment_which_beats_the_project_which_beats_the_user(tmp_path: Path) -> None:
    user = write(
        tmp_path / "home" / ".config" / "brim", "[gateway]\nport = 1\nconcurrency = 1\nhost = 'a'\nfail = 'closed'"
    )
    project = write(tmp_path / "work", "[gateway]\nport = 2\nconcurrency = 2\nhost = 'b'")
    env = {"HOME": str(tmp_path / "home"), "BRIM_GATEWAY_PORT": "3", "BRIM_GATEWAY_CONCURRENCY": "3"}
    loaded = settings.load(tmp_path / "work" / "deep" / "er", env, gateway={"port": 4})
    gateway = loaded.gateway
    assert (gateway.port, gateway.concurrency, gateway.host, gateway.fail) == (4, 3, "b", "closed")
    assert loaded.origin("gateway.port") == "argument"
    assert loaded.origin("gateway.concurrency") == "environment BRIM_GATEWAY_CONCURRENCY"
    assert loaded.origin("gateway.host") == str(project)
    assert loaded.origin("gateway.fail") == str(user)
    assert loaded.origin("gateway.recall") == "default"


def test_dotted_arguments_and_a_named_file_work_too(tmp_path: Path) -> None:
    path = write(tmp_path, "[store]\nmax_age_days = 7")
    loaded = settings.load(path, {}, **{"gateway.port": 9000, "gateway.host": None})
    assert (loaded.store.max_age_days, loaded.gateway.port, loaded.gateway.host) == (7, 9000, "127.0.0.1")


def test_values_of_the_environment_are_read_as_their_types(tmp_path: Path) -> None:
    env = {
        "BRIM_GATEWAY_LOG_CONTENT": "true",
        "BRIM_GATEWAY_READ_TIMEOUT": "2.5",
        "BRIM_GATEWAY_REDACT": "a+,b",
        "BRIM_POLICY": "rolling",
        "BRIM_POLICY_RECENT_MESSAGES_TO_KEEP": "6",
    }
    loaded = settings.load(tmp_path, env)
    assert (loaded.gateway.log_content, loaded.gateway.read_timeout) == (True, 2.5)
    assert loaded.gateway.redact == ("a+", "b")
    assert loaded.policy == {"name": "rolling", "recent_messages_to_keep": 6}
    assert loaded.origin("policy.name") == "environment BRIM_POLICY"


def test_models_with_dots_in_their_names_reach_the_catalog(tmp_path: Path) -> None:
    text = "[models.'gpt-4.1']\nwindow = 9000\nprices = {fresh = 1, output = 2}\n[models.local]\nwindow = 5"
    loaded = settings.load(write(tmp_path, text), {})
    own = models.Catalog()
    for name, entry in loaded.models.items():
        own.override(name, entry.given())
    assert (own.find("gpt-4.1").window, own.find("gpt-4.1").max_output) == (9000, 32_768)
    assert own.find("gpt-4.1").prices == models.Prices(1, 2)
    assert own.find("local").window == 5


def test_upstreams_policy_and_shapes_are_read(tmp_path: Path) -> None:
    text = """
    policy = "layered"
    [upstreams.main]
    base_url = "https://api.example.com/v1"
    key_env = "MAIN_KEY"
    models = ["gpt-*"]
    [shapes.issue]
    keep = ["id", "title"]
    [shapes.issue.limits]
    body = 200
    """
    loaded = settings.load(write(tmp_path, text), {"MAIN_KEY": KEY})
    main = loaded.upstreams["main"]
    assert (main.base_url, main.api, main.models) == ("https://api.example.com/v1", "openai_chat", ("gpt-*",))
    assert loaded.shapes == {"issue": {"keep": ["id", "title"], "limits": {"body": 200}}}
    assert loaded.policy["name"] == "layered"


def test_secrets_are_read_from_the_named_variables_and_never_shown(tmp_path: Path) -> None:
    text = "[gateway]\naccess_token_env = 'BRIM_GATEWAY_TOKEN'\n[upstreams.a]\nbase_url = 'http://h'\nkey_env = 'A_KEY'"
    loaded = settings.load(write(tmp_path, text), {"A_KEY": KEY, "BRIM_GATEWAY_TOKEN": "t0ken", "OTHER": "x"})
    assert (loaded.secret("A_KEY"), loaded.secret("BRIM_GATEWAY_TOKEN")) == (KEY, "t0ken")
    assert loaded.secret("OTHER") is None
    assert KEY not in repr(loaded)
    assert "t0ken" not in repr(loaded)


def test_every_value_in_force_is_listed_with_its_origin(tmp_path: Path) -> None:
    text = "[models.'m.1']\nwindow = 5\n[shapes.x]\nkeep = ['id']\n[gateway]\naccess_token_env = 'TOKEN'"
    path = write(tmp_path, text)
    rows = settings.load(path, {"TOKEN": KEY, "BRIM_POLICY": "rolling"}, gateway={"port": 1}).rows()
    assert ("gateway.port", 1, "argument") in rows
    assert ("gateway.host", "127.0.0.1", "default") in rows
    assert ("gateway.access_token_env", "TOKEN", str(path)) in rows
    assert ("models.m.1.window", 5, str(path)) in rows
    assert ("shapes.x.keep", ["id"], str(path)) in rows
    assert ("policy.name", "rolling", "environment BRIM_POLICY") in rows
    assert KEY not in str(rows)


@pytest.mark.parametrize(
    "text",
    [
        f"[upstreams.a]\nbase_url = 'http://h'\nkey_env = '{KEY}'",
        f"[upstreams.a]\nbase_url = 'http://h/{KEY}'",
        f"[upstreams.a]\nbase_url = 'http://h'\napi_key = '{KEY}'",
        f"[upstreams.a]\nbase_url = 'http://user:{KEY}@h'",
        "[upstreams.a]\nbase_url = 'http://h'\nkey_env = '0f8e3a9c5b7d1e2f4a6b8c0d9e1f3a5b'",
        f"[policy]\nname = 'agent'\nheader = 'Bearer {KEY}'",
        f"[shapes.x]\nkeep = [['{KEY}']]",
        f"[gateway]\nhost = '{KEY}'",
    ],
)
def test_a_secret_in_a_file_is_refused_without_being_shown(tmp_path: Path, text: str) -> None:
    with pytest.raises(BadSetting) as caught:
        settings.load(write(tmp_path, text), {})
    assert "secret" in str(caught.value)
    assert "environment variable" in str(caught.value)
    assert KEY not in str(caught.value)
    assert "0f8e3a9c" not in str(caught.value)


def test_a_password_in_an_address_is_refused_without_being_shown(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="base_url") as caught:
        settings.load(write(tmp_path, "[upstreams.a]\nbase_url = 'https://me:hunter2@host'"), {})
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("[gateway]\nport = 'x'", ["gateway.port", "brim.toml", "'x'", "a whole number from 0 to 65535"]),
        ("[gateway]\nport = 70000", ["gateway.port", "70000", "from 0 to 65535"]),
        ("[gateway]\nport = true", ["gateway.port", "a whole number"]),
        ("[gateway]\nfail = 'maybe'", ["gateway.fail", "one of open, closed"]),
        ("[gateway]\nprot = 1", ["gateway.prot", "did you mean port"]),
        ("[gatway]\nport = 1", ["gatway.port", "did you mean gateway"]),
        ("[gateway]\nredact = ['(']", ["gateway.redact", "regular expression"]),
        ("[gateway.port]\nx = 1", ["gateway.port", "is not a table"]),
        ("gateway = 5", ["gateway", "must be a table"]),
        ("models = 5", ["models", "must be a table"]),
        ("[models]\nx = 5", ["models.x", "must be a table"]),
        ("[models.x]\nwindow = 0", ["models.x.window", "from 1 up"]),
        ("[models.x]\nwindoww = 5", ["models.x.windoww", "did you mean window"]),
        ("[models.x]\nfamily = 'gpt'", ["models.x.family", "o200k"]),
        ("[models.x]\nprices = 5", ["models.x.prices", "a table"]),
        ("[models.x.prices]\nfresh = 1", ["models.x.prices.output", "is needed"]),
        ("[models.x.prices]\nfresh = 1\noutpt = 1", ["models.x.prices.outpt", "did you mean output"]),
        ("[upstreams.x]\napi = 'anthropic'", ["upstreams.x.base_url", "is needed"]),
        ("[upstreams.x]\nbase_url = 'localhost'", ["upstreams.x.base_url", "an address such as"]),
        ("[policy]\nname = 5", ["policy.name", "5", "one of agent, rolling, concise, layered"]),
        ("policy = 'roling'", ["policy.name", "brim.toml", "'roling'", "one of agent, rolling"]),
        ("[policy]\nhistory_char = 5", ["policy.history_char", "brim.toml", "did you mean history_chars"]),
        ("[policy]\nrecent_messages_to_keep = 0", ["policy.recent_messages_to_keep", "brim.toml", "from 1 up"]),
        ("[policy]\ncompact_at = 1.5", ["policy.compact_at", "from 0 to 1"]),
        ("[store]\nmax_bytes = 1.5", ["store.max_bytes", "1.5"]),
        ("not toml", ["brim.toml", "is not TOML"]),
    ],
)
def test_a_bad_file_is_refused_with_the_key_and_what_is_allowed(tmp_path: Path, text: str, parts: list[str]) -> None:
    with pytest.raises(BadSetting) as caught:
        settings.load(write(tmp_path, text), {})
    for part in parts:
        assert part in str(caught.value)


def test_a_misspelt_variable_is_refused_but_foreign_ones_are_left_alone(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="did you mean port"):
        settings.load(tmp_path, {"BRIM_GATEWAY_PROT": "1"})
    with pytest.raises(BadSetting, match="environment BRIM_GATEWAY_PORT"):
        settings.load(tmp_path, {"BRIM_GATEWAY_PORT": "eighty"})
    assert settings.load(tmp_path, {"BRIM_HOME": "x", "BRIMSTONE": "y"}).gateway.port == 8787


def test_settings_cannot_be_changed(tmp_path: Path) -> None:
    loaded = settings.load(tmp_path, {})
    with pytest.raises(AttributeError):
        loaded.gateway.port = 1  # type: ignore[misc]
    with pytest.raises(TypeError):
        loaded.policy["name"] = "x"  # type: ignore[index]


def test_the_reference_describes_every_setting_once() -> None:
    rows = settings.reference()
    keys = [key for key, *_ in rows]
    assert len(keys) == len(set(keys))
    assert all(kind and doc for _, kind, _, doc in rows)
    assert ("gateway.port", "a whole number from 0 to 65535", "8787", "port to listen on; 0 takes a free one") in rows
    assert {"models.NAME.prices.cached", "upstreams.NAME.key_env", "policy.name", "shapes.NAME"} <= set(keys)


def test_the_policy_table_is_that_of_the_policies() -> None:
    table = msgspec.structs.asdict(settings.PolicyEntry())
    for name in NAMES:
        own = Policy.named(name).as_dict()
        assert own == settings.policy.in_force({"name": name}) == {key: table[key] for key in own} | {"name": name}
    assert table.keys() == {key for name in NAMES for key in Policy.named(name).as_dict()}


NUMBERS = [(name, key) for name in NAMES for key in Policy.named(name).as_dict() if key not in ("name", "system_role")]


@pytest.mark.parametrize(("name", "field"), NUMBERS)
@pytest.mark.parametrize("value", [-1, 0, 0.5, 1, 150, 1_500])
def test_a_value_that_a_policy_refuses_by_itself_is_refused_with_its_file(
    tmp_path: Path, name: str, field: str, value: float
) -> None:
    path = write(tmp_path, f"[policy]\nname = '{name}'\n{field} = {value}")
    by_the_file = refusal(lambda: settings.load(path, {}))
    by_the_policy = refusal(lambda: Policy.named(name, {field: value}))
    # How fields go together (a reserve below its budget) only the policy knows.
    assert bool(by_the_file) == bool(by_the_policy) or "must be below" in by_the_policy or "above" in by_the_policy
    assert not by_the_file or str(path) in by_the_file


def refusal(make: Callable[[], object]) -> str:
    try:
        make()
    except BadSetting as problem:
        return str(problem)
    return ""


def test_the_fields_of_the_chosen_policy_are_in_force(tmp_path: Path) -> None:
    path = write(tmp_path, "[policy]\nname = 'rolling'\nrecent_messages_to_keep = 8")
    rows = [row for row in settings.load(path, {}).rows() if row[0].startswith("policy.")]
    assert rows == [
        ("policy.name", "rolling", str(path)),
        ("policy.recall", 0.1, "default"),
        ("policy.max_prompt_tokens", 8192, "default"),
        ("policy.reserved_response_tokens", 512, "default"),
        ("policy.recent_messages_to_keep", 8, str(path)),
        ("policy.min_recent_messages_to_keep", 2, "default"),
        ("policy.summary", True, "default"),
        ("policy.summary_topics", 1, "default"),
        ("policy.keep", "last", "default"),
        ("policy.start_on", (), "default"),
        ("policy.end_on", (), "default"),
        ("policy.include_system", True, "default"),
        ("policy.allow_partial", False, "default"),
    ]


def test_a_setting_of_another_policy_is_refused_and_names_it(tmp_path: Path) -> None:
    path = write(tmp_path, "[policy]\nname = 'rolling'\nhistory_chars = 9000")
    with pytest.raises(BadSetting) as refused:
        settings.load(path, {})
    assert refused.value.name == f"policy.history_chars ({path})"
    assert refused.value.problem == "is a setting of the policy concise, and the policy here is rolling"


def test_the_defaults_of_mcp_are_those_that_hold(tmp_path: Path) -> None:
    defaults = settings.load(tmp_path, {})
    stated = msgspec.structs.asdict(defaults.mcp)
    assert WrapperOptions.of(settings.load(tmp_path, {}, mcp=stated).mcp) == WrapperOptions()
