"""The catalog: the shipped table, what upstreams reported and what the user set, looked up by any spelling."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import fields, replace
from functools import lru_cache
from pathlib import Path
from typing import Any, Final

import msgspec

from brim import errors
from brim.models import names
from brim.models.families import family_of
from brim.models.model import Model, Prices

TABLE: Final = Path(__file__).with_name("models.json")
_CACHED_NAMES: Final = 4096
_LONGEST_NAME: Final = 200
# Shorter words are prefixes of too many families.
SHORTEST_FAMILY = 3
_VERSION = re.compile(r"(?<!\d)\d{1,2}(?![\dA-Za-z])")
_FIELDS: Final = frozenset(field.name for field in fields(Model))


class Row(msgspec.Struct, array_like=True, frozen=True, gc=False):
    """One line of the table, as scripts/refresh-catalog writes it."""

    name: str
    provider: str
    window: int
    input_limit: int | None
    max_output: int | None
    api: str
    prices: tuple[float, float | None, float | None, float] | None
    keys: list[str]

    def model(self) -> Model:
        prices = None
        if self.prices:
            fresh, cached, written, output = self.prices
            prices = Prices(fresh, output, cached, written)
        family = family_of(self.name)
        api = self.api or api_of(self.name, self.provider)
        return Model(
            self.name, self.provider, self.window, self.max_output, family, prices, api, "catalog", self.input_limit
        )


def api_of(name: str, provider: str) -> str:
    """The API that a provider offers for a model. Example: Claude at Google -> `"anthropic"`."""
    if provider == "anthropic" or (provider in ("aws", "google", "azure") and "claude" in name.lower()):
        return "anthropic"
    return "gemini" if provider == "google" else "openai_chat"


class Catalog:
    """Models by name. The table is read at the first lookup; additions take precedence."""

    def __init__(self) -> None:
        self._table: tuple[list[Row], dict[str, Row]] | None = None
        self._added: dict[str, Model] = {}
        self._search = lru_cache(_CACHED_NAMES)(self._search_all)

    def find(self, name: str) -> Model:
        """The model of this name; raise UnknownModel with the nearest names if there is none.

        Exact names come first, then names with a provider before them, a date, an alias or a suffix, then the
        longest known prefix that ends at a separator (`source` then says so).
        Example: `find("bedrock/us.anthropic.claude-sonnet-4-5-20250929-v1:0").window` -> `200000`.
        """
        found = self._search(name)
        if isinstance(found, Model):
            return found
        raise errors.UnknownModel(name, found)

    def models(self, pattern: str | None = None) -> list[Model]:
        """All models, or those whose `provider/name` has the pattern in it (or matches it, with `*` or `?`)."""
        rows, _ = self._load()
        replaced = set(self._added)
        listed = self.added()
        listed += [row.model() for row in rows if replaced.isdisjoint(row.keys)]
        listed.sort(key=lambda model: (model.provider, model.name))
        if not pattern:
            return listed
        lowered = pattern.lower()
        glob = lowered if any(sign in lowered for sign in "*?[") else f"*{lowered}*"
        return [
            model
            for model in listed
            if fnmatch.fnmatchcase(f"{model.provider}/{model.name}".lower(), glob)
            or fnmatch.fnmatchcase(model.name.lower(), glob)
        ]

    def add(self, model: Model) -> None:
        """Add a model, replacing the one that its name would find."""
        self._added[names.canonical(model.name)] = model
        self._added[names.canonical(f"{model.provider}/{model.name}")] = model
        self._search.cache_clear()

    def added(self) -> list[Model]:
        """The models that are known beside the table: another process does not know them."""
        return list(dict.fromkeys(self._added.values()))

    def override(self, name: str, given: Mapping[str, Any]) -> Model:
        """Add a model from settings; the given values override what is known under that name.

        Example: `override("gpt-4o", {"window": 64_000})` keeps the prices and halves the window.
        """
        unknown = sorted(set(given) - _FIELDS)
        if unknown:
            raise errors.BadSetting(f"models.{name}.{unknown[0]}", f"is not one of {', '.join(sorted(_FIELDS))}")
        values = dict(given)
        if isinstance(values.get("prices"), Mapping):
            values["prices"] = Prices(**values["prices"])
        known = self._search(name)
        if isinstance(known, Model):
            model = replace(known, name=name, source="settings", **values)
        elif "window" in values:
            provider = values.get("provider", "")
            blank = Model(name, provider, 1, None, family_of(name), None, api_of(name, provider), "settings")
            model = replace(blank, **values)
        else:
            raise errors.BadSetting(f"models.{name}.window", "is needed, because no model of this name is known")
        self.add(model)
        return model

    def learn(self, discovered: Iterable[Model]) -> list[Model]:
        """Add what an upstream reports about its models, and return those added.

        Its limits stand before the table's; what it does not say (prices, largest output, family) is kept
        from the table. What the user set is never replaced. Where two upstreams serve one name, the name alone
        means the smaller window, and `upstream/name` each one's own.
        """
        taken = []
        for model in discovered:
            known = self._search(model.name)
            if isinstance(known, Model):
                if known.source == "settings":
                    continue
                same = known.source != "prefix"
                model = replace(
                    model,
                    prices=model.prices or (known.prices if same else None),
                    max_output=model.max_output or (_within(known.max_output, model.window) if same else None),
                    family=known.family if model.family == "estimate" else model.family,
                )
                smaller = known if known.source == "discovered" and known.window < model.window else model
            else:
                smaller = model
            self.add(model)
            self._added[names.canonical(model.name)] = smaller
            taken.append(model)
        return taken

    def _load(self) -> tuple[list[Row], dict[str, Row]]:
        if self._table is None:
            rows = msgspec.json.decode(TABLE.read_bytes(), type=list[Row])
            self._table = rows, {key: row for row in rows for key in row.keys}
        return self._table

    def _search_all(self, name: str) -> Model | tuple[str, ...]:
        """The model, or the nearest names if it is unknown."""
        if len(name) > _LONGEST_NAME:
            return ()
        keys = list(dict.fromkeys(names.spellings(name)))
        for key in keys:
            for shorter in (key, *names.undecorated(key)):
                if found := self._at(shorter):
                    return found
        for key in keys:
            for shorter in names.prefixes(key):
                if found := self._at(shorter):
                    return _relative(found, name)
        return tuple(dict.fromkeys(self._near(keys[-1])))[:3] if keys else ()

    def _at(self, key: str) -> Model | None:
        if key in self._added:
            return self._added[key]
        row = self._load()[1].get(key)
        if row is None:
            return None
        instead = next((self._added[other] for other in row.keys if other in self._added), None)
        return instead or row.model()

    def _near(self, key: str) -> Iterator[str]:
        """Similar names among those that begin alike; for a whole family, the newest."""
        _, index = self._load()
        known = [*self._added, *(candidate for candidate in index if "/" not in candidate)]
        if len(key) >= SHORTEST_FAMILY:
            named = {self._added[one].name if one in self._added else index[one].name for one in known}
            of_family = [name for name in named if name.startswith(f"{key}-")] or [
                name for name in named if f"-{key}-" in name and "." not in name.partition(f"-{key}-")[0]
            ]
            family = sorted(of_family, key=_newness, reverse=True)
            if family:
                yield from family[:3]
                return
        # Two letters may be swapped or wrong; the first hardly ever is.
        alike = [candidate for candidate in known if candidate[:1] == key[:1]]
        for match in difflib.get_close_matches(key, alike, n=6, cutoff=0.5):
            yield self._added[match].name if match in self._added else index[match].name


def _newness(name: str) -> tuple[tuple[int, ...], int, str]:
    """What sorts the versions of a family; a date or a size is no version.

    Example: "claude-opus-4-5-20251101" -> ((4, 5), -24, …)
    """
    return tuple(int(number) for number in _VERSION.findall(name)), -len(name), name


def _relative(model: Model, name: str) -> Model:
    """A model that was found by prefix: its limits, but the tokenizer that the asked name stands for."""
    family = family_of(name)
    return replace(model, source="prefix", family=model.family if family == "estimate" else family)


def _within(max_output: int | None, window: int) -> int | None:
    return max_output if max_output is not None and max_output < window else None
