"""Changes settings while the gateway runs: checks them, writes them to brim.toml beside its comments, reloads."""

from __future__ import annotations

import asyncio
import os
import re
import stat
import tempfile
import tomllib
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from brim.errors import BadSetting, MissingExtra
from brim.gateway.observe.logs import tell
from brim.gateway.server.options import Options
from brim.settings import Settings
from brim.settings.editable import editable
from brim.settings.policy import owner_of

try:
    import tomlkit
    from tomlkit.exceptions import ParseError
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the gateway", "gateway") from problem

LoadSettings = Callable[[Mapping[Path, str]], Settings]
"""Loads the settings as at the start, with these texts in the place of files."""


class SettingsEditor:
    """Changes settings in the files that the gateway was started with.

    `resolve` checks them together and gives what the gateway runs with, `reload` brings that in force, and
    `tell_others` tells the processes that serve the same port.
    """

    def __init__(
        self,
        load: LoadSettings,
        resolve: Callable[[Settings], Options],
        reload: Callable[[Options], Awaitable[None]],
        tell_others: Callable[[], None] = lambda: None,
    ) -> None:
        self._load = load
        self._resolve = resolve
        self._reload = reload
        self._tell_others = tell_others
        self._one = asyncio.Lock()

    async def change(self, given: Mapping[str, Any]) -> list[Path]:
        """Set these keys (None restores the default); returns the files written. Raises BadSetting and changes nothing.

        Example: `await editor.change({"policy.recall": 0.2, "policy.budget": None})`
        """
        async with self._one:
            options, written = await asyncio.to_thread(self._written, given)
            await self._reload(options)
            self._tell_others()
        tell("settings changed", keys=sorted(given), files=[str(path) for path in written])
        return written

    def _written(self, given: Mapping[str, Any]) -> tuple[Options, list[Path]]:
        now = self._load({})
        texts: dict[Path, str] = {}
        for key, value in _leaving(now, given).items():
            path = _place_of(now, key)
            texts[path] = changed(texts[path] if path in texts else _text_of(path), key, value)
        loaded = self._load(texts)
        _check_taken(loaded, given)
        options = self._resolve(loaded)
        for path in texts:
            _check_writable(path)
        for path, text in texts.items():
            _write(path, text)
        return options, list(texts)


def _leaving(now: Settings, given: Mapping[str, Any]) -> dict[str, Any]:
    """The changes, plus the settings of the previous policy that must go because the new one would reject them."""
    left: dict[str, Any] = {}
    name = given.get("policy.name", now.policy["name"]) if "policy.name" in given else now.policy["name"]
    if name is None:
        name = editable()["policy.name"].default
    for field in now.policy:
        if owner_of(field) not in ("", name):
            left[f"policy.{field}"] = LEFT
    return {**left, **given}


def _place_of(now: Settings, key: str) -> Path:
    """The file in which to change a key. Raises BadSetting if there is none."""
    if key not in editable():
        raise BadSetting(key, "is not changed while the gateway runs: set it in brim.toml and restart")
    origin = now.origin(key)
    if origin.startswith(("environment", "argument")):
        raise BadSetting(key, f"is set by the {origin}, which stands above brim.toml: change it there")
    path = now.place_of(key)
    if path is None:
        raise BadSetting(key, "there is no brim.toml to write it into: make one, or start with --config FILE")
    return path


def _check_taken(loaded: Settings, given: Mapping[str, Any]) -> None:
    """Refuse a change that another file or the environment overrides."""
    for key in given:
        if loaded.origin(key).startswith(("environment", "argument")):
            raise BadSetting(key, f"is set by the {loaded.origin(key)}, which stands above brim.toml")


class _Left:
    """Marks a setting that becomes a comment."""


LEFT = _Left()


def changed(text: str, key: str, value: Any) -> str:
    """A TOML text with one key set, removed (None) or commented out (`LEFT`); the rest stays byte for byte.

    Example: ("[policy]\\nrecall = 0.1  # a tenth\\n", "policy.recall", 0.2) -> "[policy]\\nrecall = 0.2  # a tenth\\n"
    """
    section, _, name = key.partition(".")
    if value is LEFT:
        return _commented(text, section, name)
    document = _parsed(text)
    if key in document:  # a quoted "policy.recall"
        _set(document, key, value)
        return tomlkit.dumps(document)
    if isinstance(document.get(section), str):  # policy = "rolling" is short for its name
        if name == "name" and value is not None:
            document[section] = value
            return tomlkit.dumps(document)
        short = str(document.pop(section))
        document[section] = tomlkit.table()
        document[section]["name"] = short
    if section not in document and value is not None:
        document[section] = tomlkit.table()
    new = section in document and name not in document[section]
    if section in document:
        _set(document[section], name, value)
    made = tomlkit.dumps(document)
    return _beside_others(text, section, name, made) if new and value is not None else made


def _parsed(text: str) -> Any:
    try:
        return tomlkit.parse(text)
    except ParseError as problem:
        raise BadSetting("brim.toml", f"is not TOML: {problem}") from None


def _set(table: Any, name: str, value: Any) -> None:
    if value is not None:
        table[name] = value
    elif name in table:
        table.remove(name)


def _commented(text: str, section: str, name: str) -> str:
    """The text with a key's lines commented out, or removed if the key shares its lines with others."""
    without = changed(text, f"{section}.{name}", None)
    wanted = tomllib.loads(without)
    lines = text.splitlines(keepends=True)
    for number in _lines_of(lines, section):
        if re.match(rf"\s*{re.escape(name)}\s*=", lines[number]):
            tried = (_as_comments(lines, number, end) for end in range(number + 1, len(lines) + 1))
            return next((made for made in tried if _means(made, wanted)), without)
    return without


def _beside_others(text: str, section: str, name: str, made: str) -> str:
    """Insert a new key after the last one of its table, before the comments of the next table."""
    wanted, lines = tomllib.loads(made), text.splitlines(keepends=True)
    new = next((line for line in made.splitlines(keepends=True) if line.startswith(f"{name} = ")), "")
    for number in reversed(_lines_of(lines, section)):
        before = lines[number] if lines[number].endswith("\n") else f"{lines[number]}\n"
        tried = "".join([*lines[:number], before, new, *lines[number + 1 :]])
        if "=" in before and not before.lstrip().startswith("#") and _means(tried, wanted):
            return tried
    return made


def _lines_of(lines: Sequence[str], section: str) -> list[int]:
    """The line numbers below a table's header."""
    found, inside = [], False
    for number, line in enumerate(lines):
        if header := re.match(r"\s*\[+\s*([\w.-]+)\s*\]", line):
            inside = header.group(1) == section
        elif inside:
            found.append(number)
    return found


def _as_comments(lines: Sequence[str], start: int, end: int) -> str:
    return "".join([*lines[:start], *(f"# {line}" for line in lines[start:end]), *lines[end:]])


def _means(text: str, wanted: Mapping[str, Any]) -> bool:
    try:
        return tomllib.loads(text) == wanted
    except tomllib.TOMLDecodeError:
        return False


def _text_of(path: Path) -> str:
    try:
        return path.read_bytes().decode()  # bytes, to keep the line endings
    except FileNotFoundError:
        return ""
    except (OSError, UnicodeDecodeError) as problem:
        raise BadSetting(str(path), f"cannot be read: {problem}") from None


def _check_writable(path: Path) -> None:
    """Refuse a read-only file: in a folder that may be written into it could be replaced all the same."""
    target = path.resolve()
    if target.exists() and not (os.access(target, os.W_OK) and target.stat().st_mode & 0o222):
        raise BadSetting(str(path), "cannot be written (it is read-only): nothing was changed")


def _write(path: Path, text: str) -> None:
    """Replace a file atomically: readers see either the old text or the new one."""
    target = path.resolve()  # keeps a symbolic link
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=".brim-", suffix=".toml", dir=target.parent)
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            os.chmod(name, stat.S_IMODE(target.stat().st_mode) if target.exists() else 0o600)
            os.replace(name, target)
        except BaseException:
            os.unlink(name)
            raise
    except OSError as problem:
        raise BadSetting(str(path), f"cannot be written ({problem.strerror}): nothing was changed") from None
