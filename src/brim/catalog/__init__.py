"""What a model is: its window, largest output, tokenizer family, wire format and prices.

`find` takes a name as any API, SDK or gateway spells it. The functions here work on one catalog for the whole
process; make a `Catalog` of your own to keep its additions apart.
"""

from __future__ import annotations

from brim.catalog.discovery import discover
from brim.catalog.families import FAMILIES, Family, family_of
from brim.catalog.lookup import Catalog
from brim.catalog.model import Model, Prices

__all__ = [
    "FAMILIES",
    "Catalog",
    "Family",
    "Model",
    "Prices",
    "add",
    "discover",
    "family_of",
    "find",
    "learn",
    "models",
    "override",
]

_shared = Catalog()
find = _shared.find
models = _shared.models
add = _shared.add
override = _shared.override
learn = _shared.learn
