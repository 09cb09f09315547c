"""Settings from arguments, environment and files, each value checked on its own and with its origin."""

from __future__ import annotations

import difflib
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Final, get_origin

import msgspec

from brim.errors import BadSetting
from brim.settings.policy import PolicyEntry, in_force, owner_of
from brim.settings.schema import (
    NAMED,
    SECTIONS,
    TABLES,
    CliSettings,
    GatewaySettings,
    Mcp,
    ModelEntry,
    SettingsSection,
    StoreSettings,
    SummarizerSettings,
    UpstreamSettings,
    allowed,
    bare_type,
    struct_in,
    types_of,
)
from brim.settings.secrets import refuse_secret, secret_key, without_password

FILE: Final = "brim.toml"

Place = tuple[str, ...]
Values = dict[Place, tuple[Any, str]]
"""Each value by its place, with its origin."""


@dataclass(frozen=True, slots=True, eq=False)
class Settings:
    """Every setting. `policy` holds the given fields; `shapes` stay tables for the code that owns them."""

    gateway: GatewaySettings
    store: StoreSettings
    mcp: Mcp
    summarizer: SummarizerSettings
    cli: CliSettings
    models: Mapping[str, ModelEntry]
    upstreams: Mapping[str, UpstreamSettings]
    policy: Mapping[str, Any]
    shapes: Mapping[str, Mapping[str, Any]]
    _files: tuple[Path, ...] = field(repr=False, default=())
    """The files in force and the user's own, the stronger first."""
    _origins: Mapping[str, str] = field(repr=False, default_factory=dict)
    _secrets: Mapping[str, str] = field(repr=False, default_factory=dict)

    def origin(self, key: str) -> str:
        """The origin of a value. Example: `origin("gateway.port")` -> `"environment BRIM_GATEWAY_PORT"`."""
        return self._origins.get(key, "default")

    def place_of(self, key: str) -> Path | None:
        """The file in which to change a setting: the one that has it, else the strongest, else the user's own."""
        return next((path for path in self._files if str(path) == self.origin(key)), next(iter(self._files), None))

    def rows(self) -> list[tuple[str, Any, str]]:
        """Every value in force as (key, value, origin), for `brim settings` and the dashboard; no secrets."""
        sections: dict[str, Any] = {name: getattr(self, name) for name in SECTIONS}
        sections["policy"] = in_force(self.policy)
        leaves = _leaves(msgspec.to_builtins({name: _plain(table) for name, table in sections.items()}))
        shown = ((".".join(place), value) for place, value in leaves if value is not None)
        return [(key, without_password(value), self.origin(key)) for key, value in shown]

    @property
    def store_place(self) -> str:
        """Where the store is: a path or a database address, which may contain a password."""
        return self.secret(self.store.address_env) or self.store.path

    @property
    def cache_place(self) -> str:
        """The address of the gateways' shared Valkey, which may contain a password; empty if there is none."""
        return self.secret(self.store.cache_env) or self.store.cache

    def secret(self, variable: str) -> str | None:
        """The value of an environment variable that a setting names; None if it is not set."""
        return self._secrets.get(variable)


def load(
    start: Path | None = None,
    env: Mapping[str, str] | None = None,
    *,
    texts: Mapping[Path, str] = MappingProxyType({}),
    **overrides: Any,
) -> Settings:
    """Read all settings; raise BadSetting that names the file, the key, the problem and what is allowed.

    `start` is where the search for brim.toml begins, or the file itself. An override is a section or a dotted
    key, and None leaves the value alone; `texts` are read in the place of files.

    Example: `load(gateway={"port": 9000})`.
    """
    environment = os.environ if env is None else env
    values: Values = {}
    users = _users_file(environment)
    files = [path for path in _files(start or Path.cwd(), users) if path in texts or path.is_file()]
    for path in files:
        _lay(values, _leaves(_read(path, texts.get(path))), str(path))
    given: Values = {}
    _lay(given, (leaf for leaf in _leaves(overrides) if leaf[1] is not None), "argument")
    for variable, place, value in _from_environment(environment, _named_variables(values | given, environment)):
        _lay(values, [(place, value)], f"environment {variable}")
    values |= given
    tables = {name: _table(kind, values, (name,)) for name, kind in TABLES.items()}
    models, upstreams = (_named(section, values) for section in ("models", "upstreams"))
    _check_patterns(tables["gateway"].redact, values)
    gateway = tables["gateway"]
    named = (gateway.access_token_env, gateway.operator_token_env, tables["mcp"].token_env, tables["store"].address_env)
    secrets = [*named, *(upstream.key_env for upstream in upstreams.values())]
    return Settings(
        **tables,
        models=MappingProxyType(models),
        upstreams=MappingProxyType(upstreams),
        policy=MappingProxyType(_policy(values)),
        shapes=MappingProxyType(_tree(values, "shapes")),
        _files=tuple(dict.fromkeys([*reversed(files), *([users] if users else [])])),
        _origins={".".join(place): origin for place, (_, origin) in values.items()},
        _secrets={name: environment[name] for name in secrets if environment.get(name)},
    )


def _users_file(env: Mapping[str, str]) -> Path | None:
    home = env.get("XDG_CONFIG_HOME") or (f"{env['HOME']}/.config" if env.get("HOME") else "")
    return Path(home) / "brim" / FILE if home else None


def _files(start: Path, users: Path | None) -> Iterator[Path]:
    """The user's file (if it exists) and the nearest one, lowest precedence first."""
    here = start.absolute()
    places = [here] if here.is_file() else [place / FILE for place in (here, *here.parents)]
    nearest = next((place for place in places if place.is_file()), None)
    if users and users != nearest:
        yield users
    if nearest:
        yield nearest


def _read(path: Path, text: str | None = None) -> dict[str, Any]:
    try:
        return tomllib.loads(path.read_text(encoding="utf-8") if text is None else text)
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as problem:
        raise BadSetting(str(path), f"is not TOML: {problem}") from None
    except OSError as problem:
        raise BadSetting(str(path), f"cannot be read: {problem.strerror}") from None


def _leaves(table: Mapping[str, Any], at: Place = ()) -> Iterator[tuple[Place, Any]]:
    """Each value with its place; an empty table is a value.

    `policy = "x"` is short for its name, and `store = "x"` for its path.
    """
    for key, value in table.items():
        place = (*at, *([key] if at else key.split(".")))
        if place == ("policy",) and isinstance(value, str):
            yield ("policy", "name"), value
        elif place == ("store",) and isinstance(value, str):
            yield ("store", "path"), value
        elif isinstance(value, Mapping) and (value or len(place) == 1):
            yield from _leaves(value, place)
        else:
            yield place, value


def _lay(values: Values, leaves: Iterable[tuple[Place, Any]], origin: str) -> None:
    for place, value in leaves:
        refuse_secret(value, place[-1], _where(place, origin))
        _check_place(place, value, origin)
        values[place] = value, origin


def _named_variables(values: Values, env: Mapping[str, str]) -> set[str]:
    """The variables that hold secrets: they may begin with BRIM_ without being settings."""
    named = {str(value) for place, (value, _) in values.items() if place[-1].endswith("_env")}
    return named | {env[name] for name in env if name.startswith("BRIM_") and name.endswith("_ENV")}


def _from_environment(env: Mapping[str, str], secrets: set[str]) -> Iterator[tuple[str, Place, Any]]:
    """BRIM_SECTION_KEY for the sections that have fixed keys, and for the fields of the policy."""
    for variable in sorted(name for name in env if name.startswith("BRIM_") and name not in secrets):
        section, _, key = variable.removeprefix("BRIM_").lower().partition("_")
        if section == "policy":
            yield variable, (section, key or "name"), _toml_value(env[variable])
        elif section in TABLES and key:
            listed = get_origin(bare_type(types_of(TABLES[section]).get(key, str))) is tuple
            parts = [part for part in env[variable].split(",") if part]
            yield variable, (section, key), parts if listed else env[variable]


def _toml_value(text: str) -> Any:
    """Example: `"3"` -> `3`, `"rolling"` -> `"rolling"`."""
    try:
        return tomllib.loads(f"value = {text}")["value"]
    except tomllib.TOMLDecodeError:
        return text


def _check_place(place: Place, value: Any, origin: str) -> None:
    """Refuse an unknown key and suggest similar ones."""
    section, *rest = place
    if section not in SECTIONS:
        raise _unknown(place, section, SECTIONS, origin)
    if section == "policy" and rest:
        _check_key(place, rest, PolicyEntry, origin)
    elif section in TABLES and rest:
        _check_key(place, rest, TABLES[section], origin)
    elif section in NAMED and len(rest) > 1:
        _check_key(place, rest[1:], NAMED[section], origin)
    elif not rest or (section in (*NAMED, "shapes") and len(rest) == 1 and not isinstance(value, Mapping)):
        raise BadSetting(_where(place, origin), "must be a table")


def _check_key(place: Place, keys: list[str], kind: type[SettingsSection], origin: str) -> None:
    known = types_of(kind)
    if keys[0] not in known:
        raise _unknown(place, keys[0], tuple(known), origin)
    inner = struct_in(known[keys[0]])
    if len(keys) > 1 and inner:
        _check_key(place, keys[1:], inner, origin)
    elif len(keys) > 1:
        raise BadSetting(_where(place[: 1 - len(keys)], origin), f"is not a table but {allowed(known[keys[0]])}")


def _unknown(place: Place, key: str, known: tuple[str, ...], origin: str) -> BadSetting:
    if secret_key(key):
        return BadSetting(_where(place, origin), f"is not a setting; {secret_key(key)}")
    near = difflib.get_close_matches(key, known, n=3, cutoff=0.5)
    hint = f"did you mean {', '.join(near)}?" if near else f"known are {', '.join(known)}"
    return BadSetting(_where(place, origin), f"is not a setting; {hint}")


def _where(place: Place, origin: str) -> str:
    return f"{'.'.join(place)} ({origin})"


def _table(kind: type[SettingsSection], values: Values, at: Place) -> Any:
    """One section; each value is converted separately so that an error names the exact key."""
    found: dict[str, Any] = {}
    for item in msgspec.structs.fields(kind):
        place = (*at, item.name)
        inner = struct_in(item.type)
        if inner and any(known[:-1] == place for known in values):
            found[item.name] = _table(inner, values, place)
        elif place in values:
            found[item.name] = _convert(item.type, place, *values[place])
        elif item.required:
            raise BadSetting(".".join(place), f"is needed: {allowed(item.type)}")
    return kind(**found)


def _convert(kind: Any, place: Place, value: Any, origin: str) -> Any:
    try:
        return msgspec.convert(value, kind, strict=not origin.startswith("environment"))
    except msgspec.ValidationError:
        # A wrong name of a variable may be the secret itself, and an address may hold a password.
        hidden = place[-1].endswith("_env") or place[-1] == "base_url"
        raise BadSetting(_where(place, origin), f"{'it' if hidden else repr(value)} is not {allowed(kind)}") from None


def _named(section: str, values: Values) -> dict[str, Any]:
    chosen = dict.fromkeys(place[1] for place in values if place[0] == section)
    return {name: _table(NAMED[section], values, (section, name)) for name in chosen}


def _policy(values: Values) -> dict[str, Any]:
    """The policy's name and its given fields; the policy itself checks how they combine."""
    kinds = types_of(PolicyEntry)
    places = [place for place in values if place[0] == "policy"]
    given = {"name": PolicyEntry().name}
    given |= {place[1]: _convert(kinds[place[1]], place, *values[place]) for place in places}
    for place in places:
        owner = owner_of(place[1])
        if owner not in ("", given["name"]):
            problem = f"is a setting of the policy {owner}, and the policy here is {given['name']}"
            raise BadSetting(_where(place, values[place][1]), problem)
    return given


def _plain(table: Any) -> Any:
    return dict(table) if isinstance(table, Mapping) else table


def _tree(values: Values, section: str) -> dict[str, Any]:
    """A section that is kept as it is written."""
    tree: dict[str, Any] = {}
    for (first, *middle), (value, _) in values.items():
        if first == section:
            inner = tree
            for key in middle[:-1]:
                inner = inner.setdefault(key, {})
            inner[middle[-1]] = value
    return tree


def _check_patterns(patterns: tuple[str, ...], values: Values) -> None:
    for pattern in patterns:
        try:
            re.compile(pattern)
        except re.error as problem:
            place = ("gateway", "redact")
            raise BadSetting(
                _where(place, values[place][1]), f"{pattern!r} is not a regular expression: {problem}"
            ) from None
