"""Settings with their types, defaults and descriptions: the tables of brim.toml as classes."""

from __future__ import annotations

from collections.abc import Iterator
from types import UnionType
from typing import Annotated, Any, Final, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta

from brim.models.families import Family

_URL: Final = r"^https?://(?:\[[0-9A-Fa-f:.]+\]|[^\s@?#/:\[\]]+)(?::\d{1,5})?(?:/[^\s@?#]*)?$"

Count = Annotated[int, Meta(ge=1)]
Number = Annotated[int, Meta(ge=0)]
Tokens = Annotated[int, Meta(ge=50)]
Share = Annotated[float, Meta(ge=0)]
Seconds = Annotated[float, Meta(gt=0)]
Price = Annotated[float, Meta(ge=0)]
_VARIABLE: Final = r"^([A-Za-z_][A-Za-z0-9_]{0,63})?$"
EnvName = Annotated[str, Meta(pattern=_VARIABLE)]
ApiName = Literal["openai_chat", "openai_responses", "anthropic", "gemini", "ollama"]


class SettingsSection(msgspec.Struct, frozen=True, kw_only=True):
    """A table of brim.toml; the description of a field is its line in the reference."""


class PriceEntry(SettingsSection, frozen=True, kw_only=True):
    fresh: Annotated[Price, Meta(description="USD per million tokens of fresh input")]
    output: Annotated[Price, Meta(description="USD per million tokens of output")]
    cached: Annotated[Price | None, Meta(description="USD per million tokens read from the prompt cache")] = None
    written: Annotated[Price | None, Meta(description="USD per million tokens written to the prompt cache")] = None


class ContextManagement(SettingsSection, frozen=True, kw_only=True):
    clear_tool_uses: Annotated[bool, Meta(description="let Anthropic clear old tool results")] = True
    trigger: Annotated[Count | None, Meta(description="input tokens above which it does (its default: 100,000)")] = None
    keep: Annotated[Number | None, Meta(description="newest tool uses that stay (its default: 3)")] = None
    clear_at_least: Annotated[Count | None, Meta(description="tokens to clear at once, for the cache's sake")] = None
    clear_tool_inputs: Annotated[bool, Meta(description="clear the arguments of calls too")] = False
    exclude_tools: Annotated[tuple[str, ...], Meta(description="tools whose results always stay")] = ()
    keep_thinking: Annotated[
        Number | None, Meta(description="turns whose thoughts stay, 0 for all; unset: Anthropic decides")
    ] = None
    compact_threshold: Annotated[
        Count | None,
        Meta(description="tokens above which Anthropic, OpenAI or xAI compacts the conversation itself; unset: never"),
    ] = None


# Settings in a model's table that say what the gateway does with it.
_NOT_OF_THE_MODEL = ("context_management", "larger")


class ModelEntry(SettingsSection, frozen=True, kw_only=True):
    window: Annotated[Count | None, Meta(description="context window in tokens, input and output together")] = None
    input_limit: Annotated[Count | None, Meta(description="a limit on the input alone, if it is tighter")] = None
    max_output: Annotated[Count | None, Meta(description="largest output in tokens")] = None
    family: Annotated[Family | None, Meta(description="tokenizer family")] = None
    provider: Annotated[str | None, Meta(description="who serves the model")] = None
    api: Annotated[ApiName | None, Meta(description="wire format of the model's API")] = None
    prices: Annotated[PriceEntry | None, Meta(description="a table of prices")] = None
    context_management: Annotated[
        ContextManagement | None, Meta(description="the provider's own context management, for this model")
    ] = None

    larger: Annotated[
        str | None, Meta(description="model that gets a request which cannot be made to fit this one's window")
    ] = None

    def given(self) -> dict[str, Any]:
        """What is set of the model itself, in the form that `catalog.override` takes."""
        set_here: dict[str, Any] = msgspec.to_builtins(self)
        return {key: value for key, value in set_here.items() if value is not None and key not in _NOT_OF_THE_MODEL}


class UpstreamSettings(SettingsSection, frozen=True, kw_only=True):
    base_url: Annotated[str, Meta(description="address of the provider's API", pattern=_URL)]
    api: Annotated[ApiName, Meta(description="wire format that it speaks")] = "openai_chat"
    key_env: Annotated[EnvName, Meta(description="environment variable with its key; empty: the client's own")] = ""
    models: Annotated[tuple[str, ...], Meta(description="names or globs of the models it serves; none: any")] = ()
    fallback: Annotated[
        str, Meta(description="configured upstream with a key of its own that gets a request if this one fails")
    ] = ""
    only: Annotated[
        bool, Meta(description="leave the providers' own addresses out: requests go to configured upstreams alone")
    ] = False


class GatewaySettings(SettingsSection, frozen=True, kw_only=True):
    host: Annotated[str, Meta(description="address to listen on", min_length=1)] = "127.0.0.1"
    port: Annotated[int, Meta(description="port to listen on; 0 takes a free one", ge=0, le=65535)] = 8787
    access_token_env: Annotated[
        EnvName, Meta(description="environment variable with the token that clients must send; empty: none")
    ] = ""
    operator_token_env: Annotated[
        EnvName,
        Meta(
            description="environment variable with the token of whoever may see all tenants in the dashboard, "
            "/brim/v1 and /metrics; empty: everyone who comes without an API key"
        ),
    ] = ""
    join_tenants: Annotated[
        bool, Meta(description="all clients share sessions and archives, whatever their keys: for a single user")
    ] = False
    tenant_header: Annotated[
        str,
        Meta(
            description="header in which a proxy names the tenant instead of the client's key; needs trusted_proxies "
            "or an access token that only the proxy holds",
            pattern=r"^([A-Za-z0-9][A-Za-z0-9_-]*)?$",
        ),
    ] = ""
    trusted_proxies: Annotated[
        tuple[str, ...], Meta(description="addresses or networks from which tenant_header is believed")
    ] = ()
    path_prefix: Annotated[
        str,
        Meta(
            description="path before all addresses of the gateway, where a proxy leaves it there; such as /llm",
            pattern=r"^((?:/[A-Za-z0-9._~-]+)+)?$",
        ),
    ] = ""
    allowed_origins: Annotated[
        tuple[str, ...], Meta(description="origins of web pages and Electron apps that may use the gateway; *: any")
    ] = ()
    fail: Annotated[
        Literal["open", "closed"],
        Meta(description="forward a body that cannot be parsed (open), or refuse it (closed)"),
    ] = "open"
    fit_timeout: Annotated[
        Seconds, Meta(description="seconds to plan a request before the plain planner fits it by sizes alone")
    ] = 2.0
    recall: Annotated[
        Literal["auto", "tool", "off"],
        Meta(description="bring archived content back automatically, when the model asks by tool, or never"),
    ] = "auto"
    clear_tool_uses: Annotated[
        tuple[str, ...], Meta(description="names or globs of models for which to use Anthropic's context management")
    ] = ()
    body_limit: Annotated[Count, Meta(description="largest request body in bytes")] = 64 * 1024 * 1024
    connect_timeout: Annotated[Seconds, Meta(description="seconds to reach an upstream")] = 10.0
    read_timeout: Annotated[Seconds, Meta(description="seconds without a byte from an upstream")] = 600.0
    drain_notice: Annotated[
        float,
        Meta(
            ge=0,
            le=60,
            description="seconds at shutdown in which requests are still taken, while /readyz tells balancers",
        ),
    ] = 0.0
    shutdown_grace: Annotated[Seconds, Meta(description="seconds for running requests to end at shutdown")] = 30.0
    concurrency: Annotated[Count, Meta(description="requests in flight at once; more wait")] = 256
    tenant_concurrency: Annotated[Count, Meta(description="requests of one tenant in flight at once; more wait")] = 192
    tenant_requests: Annotated[
        Number,
        Meta(description="requests of one tenant in flight on all gateways; more are refused with 429; 0: no limit"),
    ] = 0
    tenant_rate: Annotated[
        str, Meta(description="requests of one tenant on all gateways, such as 600/minute; empty: no limit")
    ] = ""
    tenant_budget: Annotated[
        str,
        Meta(
            description="tokens, in and out, of one tenant without a virtual key on all gateways together, such as "
            "5M/month; empty: any number"
        ),
    ] = ""
    connections: Annotated[Count, Meta(description="client connections at once; more are refused with 503")] = 4_096
    peer_connections: Annotated[Count, Meta(description="client connections of one address at once")] = 1_024
    head_timeout: Annotated[Seconds, Meta(description="seconds for the headers of a request to arrive")] = 30.0
    body_timeout: Annotated[
        Seconds, Meta(description="seconds for a body to arrive, plus one for each 50,000 bytes")
    ] = 60.0
    workers: Annotated[Count, Meta(description="most processes in which large bodies are read and fitted")] = 2
    large_timeout: Annotated[
        Seconds, Meta(description="seconds of computing for a large body before it is refused")
    ] = 30.0
    held_bytes: Annotated[
        Count, Meta(description="bytes of request bodies in memory at once; more are refused with 429")
    ] = 512 * 1024 * 1024
    tenant_bytes: Annotated[Count, Meta(description="bytes of one tenant's bodies at once")] = 128 * 1024 * 1024
    otel: Annotated[bool, Meta(description="send OpenTelemetry spans and metrics as the OTEL_… variables say")] = False
    log_content: Annotated[bool, Meta(description="write prompts and answers to the log")] = False
    redact: Annotated[
        tuple[str, ...], Meta(description="regular expressions of what to mask in logs and on the dashboard")
    ] = ()


class StoreSettings(SettingsSection, frozen=True, kw_only=True):
    path: Annotated[
        str, Meta(description="the SQLite file, or the address of a database: postgresql://…", min_length=1)
    ] = "~/.local/share/brim/brim.db"
    address_env: Annotated[
        EnvName, Meta(description="environment variable with the address of a database, in place of path; empty: none")
    ] = ""
    objects: Annotated[
        str, Meta(description="folder for contents of a megabyte and more, outside the database; empty: none")
    ] = ""
    wait_for_disk: Annotated[
        bool,
        Meta(
            description="a turn waits until the database's disk has it; without, a crash of the database server may "
            "take the turns of its last half second"
        ),
    ] = True
    cache: Annotated[
        str,
        Meta(description="address of a Valkey or Redis in which gateways share counters: valkey://…; empty: none"),
    ] = ""
    cache_env: Annotated[
        EnvName, Meta(description="environment variable with that address, where it holds a password; empty: none")
    ] = ""
    max_bytes: Annotated[Count, Meta(description="size at which the oldest content is deleted")] = 1024**3
    max_age_days: Annotated[Count, Meta(description="days after which unused content is deleted")] = 30


class Mcp(SettingsSection, frozen=True, kw_only=True):
    """The wrapper's settings; `brim.mcp.options` takes its defaults from here."""

    compact: Annotated[bool, Meta(description="compact results")] = True
    level: Annotated[
        Literal["auto", "full", "standard", "compact", "minimal"],
        Meta(description="level of detail of results; auto: less as the session fills"),
    ] = "auto"
    result_tokens: Annotated[Tokens, Meta(description="most tokens of a result, at any level")] = 8_000
    standard_tokens: Annotated[Tokens, Meta(description="most tokens of a result at level standard")] = 4_000
    compact_tokens: Annotated[Tokens, Meta(description="most tokens of a result at level compact")] = 2_000
    minimal_tokens: Annotated[Tokens, Meta(description="most tokens of a result at level minimal")] = 800
    session_tokens: Annotated[Count, Meta(description="tokens of results at which a session counts as full")] = 100_000
    session_calls: Annotated[Count, Meta(description="calls at which a session counts as full")] = 40
    standard_at: Annotated[Share, Meta(description="share of a full session at which level standard begins")] = 0.05
    compact_at: Annotated[Share, Meta(description="share of a full session at which level compact begins")] = 0.3
    minimal_at: Annotated[Share, Meta(description="share of a full session at which level minimal begins")] = 0.7
    hint_every: Annotated[Count, Meta(description="calls between two hints that results are being cut")] = 10
    hint_fields: Annotated[
        tuple[str, ...], Meta(description="result fields with a server's own hints, shown every hint_every calls")
    ] = ("agentic_hint", "rejoinder", "suggested_workflow", "verification_context")
    verbosity: Annotated[bool, Meta(description="add an argument `verbosity` to tools that have none")] = False
    exempt: Annotated[tuple[str, ...], Meta(description="names or globs of tools whose results pass untouched")] = ()
    recall_tokens: Annotated[Tokens, Meta(description="most tokens of an answer of brim_recall")] = 4_000
    shrink: Annotated[bool, Meta(description="shrink tool definitions")] = True
    description_tokens: Annotated[Count, Meta(description="tokens at which a tool's description is cut")] = 80
    grouping: Annotated[
        Literal["auto", "meta", "virtual", "off"],
        Meta(description="how to list many tools; auto: behind meta-tools above the two limits"),
    ] = "auto"
    group_tools_above: Annotated[Count, Meta(description="number of tools above which they are grouped")] = 128
    group_tokens_above: Annotated[Count, Meta(description="tokens of the tool list above which tools are grouped")] = (
        25_000
    )
    max_calls: Annotated[int, Meta(description="tool calls in a session; 0: no limit", ge=0)] = 0
    repeat_seconds: Annotated[
        float, Meta(description="seconds in which a repeated read-only call is answered from memory; 0: never", ge=0)
    ] = 60.0
    changes: Annotated[
        bool, Meta(description="answer a repeated call with what changed, if that is at most half as long")
    ] = True
    call_timeout: Annotated[float, Meta(description="seconds for one tool call; 0: no limit", ge=0)] = 0.0
    largest_message: Annotated[Count, Meta(description="bytes of one message of a server")] = 512 * 1024 * 1024
    fit_timeout: Annotated[
        Seconds, Meta(description="seconds to compact a result before only its two ends are kept")
    ] = 2.0
    token_env: Annotated[
        EnvName, Meta(description="environment variable with the bearer token for servers over HTTP; empty: none")
    ] = ""
    token_command: Annotated[
        str, Meta(description="command that prints that token instead, run again when it is refused; empty: none")
    ] = ""


class CliSettings(SettingsSection, frozen=True, kw_only=True):
    model: Annotated[str, Meta(description="model for commands if neither a flag nor the request names one")] = ""


class SummarizerSettings(SettingsSection, frozen=True, kw_only=True):
    enabled: Annotated[bool, Meta(description="let a model write summaries in the background")] = False
    upstream: Annotated[str, Meta(description="name of the upstream that serves it")] = ""
    model: Annotated[str, Meta(description="model that writes the summaries")] = ""
    max_tokens: Annotated[Count, Meta(description="longest summary in tokens")] = 800
    block_chars: Annotated[Count, Meta(description="blocks longer than this are summarised in parts")] = 50_000
    temperature: Annotated[
        Annotated[float, Meta(ge=0, le=2)] | None, Meta(description="temperature of the model; unset: its own")
    ] = None
    style: Annotated[str, Meta(description="instructions on style for the model that writes summaries")] = ""
    wait: Annotated[
        bool, Meta(description="whether a request waits for the summary it needs, instead of a later one using it")
    ] = False
    timeout: Annotated[Seconds, Meta(description="seconds to wait for the model's summary")] = 60.0


TABLES: Final[dict[str, type[SettingsSection]]] = {
    "gateway": GatewaySettings,
    "store": StoreSettings,
    "mcp": Mcp,
    "summarizer": SummarizerSettings,
    "cli": CliSettings,
}
NAMED: Final[dict[str, type[SettingsSection]]] = {"models": ModelEntry, "upstreams": UpstreamSettings}
SECTIONS: Final = (*TABLES, *NAMED, "policy", "shapes")


def described(name: str, kind: type[SettingsSection]) -> Iterator[tuple[str, str, str, str]]:
    """Each setting of a table as (key, what it may be, default, description)."""
    for item in msgspec.structs.fields(kind):
        inner = struct_in(item.type)
        if inner:
            yield from described(f"{name}.{item.name}", inner)
            continue
        default = "" if item.default in (msgspec.NODEFAULT, None, (), "") else str(item.default)
        notes = [note.description for note in get_args(item.type)[1:] if isinstance(note, Meta)]
        yield f"{name}.{item.name}", allowed(item.type), default, next((text for text in notes if text), "")


def types_of(kind: type[SettingsSection]) -> dict[str, Any]:
    return {item.name: item.type for item in msgspec.structs.fields(kind)}


def bare_type(kind: Any) -> Any:
    """A type without its notes and without None."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        return bare_type(next(part for part in get_args(kind) if part is not type(None)))
    return kind


def struct_in(kind: Any) -> type[SettingsSection] | None:
    bare = bare_type(kind)
    return bare if isinstance(bare, type) and issubclass(bare, SettingsSection) else None


def notes(kind: Any) -> Iterator[Meta]:
    for part in get_args(kind):
        if isinstance(part, Meta):
            yield part
        elif get_origin(part) in (Annotated, Union, UnionType):
            yield from notes(part)


def allowed(kind: Any) -> str:
    """What a setting may be, in words. Example: `Annotated[int, Meta(ge=0, le=65535)]` -> "a whole number from 0 …"."""
    bare = bare_type(kind)
    if get_origin(bare) is Literal:
        return f"one of {', '.join(get_args(bare))}"
    if get_origin(bare) is tuple:
        return "a list of text"
    if struct_in(bare):
        return "a table"
    words = {int: "a whole number", float: "a number", bool: "true or false"}.get(bare, "text")
    for note in notes(kind):
        if note.pattern and "http" in note.pattern:
            words = "an address such as https://api.openai.com/v1, without user, password or query"
        elif note.pattern == _VARIABLE:
            words = "the name of an environment variable"
        if note.gt is not None:
            words += f" above {note.gt}"
        if note.ge is not None:
            words += f" from {note.ge}" + (f" to {note.le}" if note.le is not None else " up")
        if note.min_length:
            words += ", not empty"
    return words
