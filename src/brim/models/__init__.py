"""Models: window, largest output, tokenizer family, API and prices.

`find` takes a name as any API, SDK or gateway spells it. The functions here work on one catalog for the whole
process; make a `Catalog` of your own to keep its additions apart.
"""

from __future__ import annotations

from brim.errors import BadInput
from brim.models.discovery import discover
from brim.models.families import FAMILIES, Family, family_of
from brim.models.lookup import Catalog
from brim.models.model import Model, Prices

__all__ = [
    "FAMILIES",
    "Catalog",
    "Family",
    "Model",
    "Prices",
    "add",
    "added",
    "discover",
    "family_of",
    "find",
    "learn",
    "model_of",
    "models",
    "override",
]

_shared = Catalog()
find = _shared.find
models = _shared.models
add = _shared.add
added = _shared.added
override = _shared.override
learn = _shared.learn


def model_of(given: str | Model | None, named: str = "") -> Model:
    """The model that a caller gave, by name or itself; else the one called `named`. Raises BadInput, UnknownModel."""
    if isinstance(given, Model):
        return given
    if given is not None and not isinstance(given, str):
        raise BadInput("model", f"{given!r} is neither the name of a model, such as gpt-4o, nor a brim.Model")
    return find(given or named)
