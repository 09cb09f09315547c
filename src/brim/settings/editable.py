"""The settings that can be changed while the gateway runs, and the form field for each.

Excluded is anything that could send keys elsewhere, reveal hidden values, run a command or need a restart.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin

import msgspec

from brim.errors import BadSetting
from brim.settings.policy import PolicyEntry, PolicyName, owner_of
from brim.settings.schema import TABLES, SettingsSection, allowed, bare_type, notes

InputKind = Literal["choice", "switch", "number", "list", "text"]
POLICIES: Final = get_args(PolicyName)
# The longest text that a field accepts, and the most lines.
LONGEST, MOST = 2_000, 100
_GATEWAY: Final = ("recall", "fit_timeout")
_SUMMARIZER: Final = ("enabled", "upstream", "model", "wait", "max_tokens", "style", "temperature", "timeout")


@dataclass(frozen=True, slots=True)
class EditableSetting:
    """A setting as a field of a form. Example: key="policy.recall", kind="number", least=0, most=1"""

    key: str
    help: str
    kind: InputKind
    allowed: str
    default: Any
    type: Any
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None
    whole: bool = False

    @property
    def name(self) -> str:
        return self.key.partition(".")[2]

    @property
    def label(self) -> str:
        """Example: "policy.recent_messages_to_keep" -> "Recent messages to keep" """
        return self.name.replace("_", " ").capitalize()

    def read(self, text: str) -> Any:
        """The value of a filled-in field; None means the default. Raises BadSetting."""
        given = text.strip()
        if self.kind == "list":
            lines = [line.strip() for line in text.splitlines() if line.strip()]
            if len(lines) > MOST or any(len(line) > LONGEST for line in lines):
                raise BadSetting(self.key, f"takes at most {MOST} lines of {LONGEST:,} characters")
            return lines or None
        if not given:
            return None
        if len(given) > LONGEST or not given.isprintable():
            raise BadSetting(self.key, f"takes one line of at most {LONGEST:,} characters")
        plain = given.replace(",", "") if self.kind == "number" and self.whole else given
        try:
            return msgspec.convert(plain, self.type, strict=False)
        except msgspec.ValidationError:
            raise BadSetting(self.key, f"{given[:80]!r} is not {self.allowed}") from None


@cache
def editable() -> dict[str, EditableSetting]:
    """All editable settings by key."""
    found = [*_of("policy", PolicyEntry)]
    found += [one for one in _of("gateway", TABLES["gateway"]) if one.name in _GATEWAY]
    found += [one for one in _of("summarizer", TABLES["summarizer"]) if one.name in _SUMMARIZER]
    return {one.key: one for one in found}


def of_policy(policy: str) -> list[EditableSetting]:
    """The settings that a policy uses, its own first."""
    own = [one for one in editable().values() if one.key.startswith("policy.") and owner_of(one.name) == policy]
    shared = [one for one in editable().values() if one.key.startswith("policy.") and not owner_of(one.name)]
    return [*own, *(one for one in shared if one.name != "name")]


def of_section(section: str) -> list[EditableSetting]:
    return [one for one in editable().values() if one.key.startswith(f"{section}.")]


def _of(section: str, kind: type[SettingsSection]) -> Iterator[EditableSetting]:
    for item in msgspec.structs.fields(kind):
        bare, told = bare_type(item.type), list(notes(item.type))
        above = [note.gt if note.ge is None else note.ge for note in told]
        yield EditableSetting(
            key=f"{section}.{item.name}",
            help=_help(next((note.description for note in told if note.description), "")),
            kind=_kind(bare),
            allowed=allowed(item.type),
            default=None if item.default is msgspec.NODEFAULT else item.default,
            type=item.type,
            choices=get_args(bare) if get_origin(bare) is Literal else (),
            least=next((one for one in above if one is not None), None),
            most=next((note.le for note in told if note.le is not None), None),
            whole=bare is int,
        )


def _kind(bare: Any) -> InputKind:
    if get_origin(bare) is Literal:
        return "choice"
    if get_origin(bare) is tuple:
        return "list"
    kinds: dict[Any, InputKind] = {bool: "switch", int: "number", float: "number"}
    return kinds.get(bare, "text")


def _help(told: str) -> str:
    """A description without the name of its policy. Example: "rolling: messages that stay" -> "messages that stay" """
    name, _, rest = told.partition(": ")
    return rest if name in POLICIES else told
