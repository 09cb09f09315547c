"""Brim keeps every LLM request inside its context window: full to the brim, never over.

This is the public API. Each name is imported when it is first used, so that `import brim` costs next to nothing.

Example: brim.fit(messages, model="gpt-4o", budget=8_000).messages
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from brim.content import Compacted, Hint, compact, decode, forms
    from brim.content.reshape import Shape, reshape
    from brim.counting import count, record
    from brim.docsearch.tool_index import find_tools
    from brim.errors import (
        BadBody,
        BadInput,
        BadSetting,
        BrimError,
        BudgetTooSmall,
        MissingExtra,
        NotDecodable,
        NotFound,
        UnknownModel,
    )
    from brim.fitting import Event, Fitted, afit, fit
    from brim.integrations.sdks import wrap
    from brim.models import Model
    from brim.pins import pin
    from brim.planning.attachments import Attachment
    from brim.planning.policies.policy import Policy
    from brim.planning.reports.decisions import Decision, Report
    from brim.prompt import Section
    from brim.replays import Replay, replay
    from brim.sessions.router import SessionRouter
    from brim.sessions.session import Session, list_sessions
    from brim.stores.inmemory import InMemoryStore
    from brim.stores.resilient import open_store
    from brim.summaries.llm import LlmSummarizer
    from brim.tokens.actuals import Actuals
    from brim.tokens.counter import Count, Counter

__version__ = "0.1.0"
__all__ = [
    "Actuals",
    "Attachment",
    "BadBody",
    "BadInput",
    "BadSetting",
    "BrimError",
    "BudgetTooSmall",
    "Compacted",
    "Count",
    "Counter",
    "Decision",
    "Event",
    "Fitted",
    "Hint",
    "InMemoryStore",
    "LlmSummarizer",
    "MissingExtra",
    "Model",
    "NotDecodable",
    "NotFound",
    "Policy",
    "Replay",
    "Report",
    "Section",
    "Session",
    "SessionRouter",
    "Shape",
    "UnknownModel",
    "afit",
    "compact",
    "count",
    "decode",
    "find_tools",
    "fit",
    "forms",
    "list_sessions",
    "open_store",
    "pin",
    "record",
    "replay",
    "reshape",
    "wrap",
]

_HOMES = {
    "brim.models": ("Model",),
    "brim.counting": ("count", "record"),
    "brim.docsearch.tool_index": ("find_tools",),
    "brim.errors": (
        "BadBody",
        "BadInput",
        "BadSetting",
        "BrimError",
        "BudgetTooSmall",
        "MissingExtra",
        "NotDecodable",
        "NotFound",
        "UnknownModel",
    ),
    "brim.fitting": ("Event", "Fitted", "afit", "fit"),
    "brim.integrations.sdks": ("wrap",),
    "brim.content": ("Compacted", "Hint", "compact", "decode", "forms"),
    "brim.content.reshape": ("Shape", "reshape"),
    "brim.sessions.router": ("SessionRouter",),
    "brim.sessions.session": ("Session", "list_sessions"),
    "brim.stores.inmemory": ("InMemoryStore",),
    "brim.stores.resilient": ("open_store",),
    "brim.summaries.llm": ("LlmSummarizer",),
    "brim.planning.attachments": ("Attachment",),
    "brim.planning.policies.policy": ("Policy",),
    "brim.planning.reports.decisions": ("Decision", "Report"),
    "brim.pins": ("pin",),
    "brim.prompt": ("Section",),
    "brim.replays": ("Replay", "replay"),
    "brim.tokens.actuals": ("Actuals",),
    "brim.tokens.counter": ("Count", "Counter"),
}
_HOME_OF = {name: home for home, names in _HOMES.items() for name in names}

logging.getLogger("brim").addHandler(logging.NullHandler())


def __getattr__(name: str) -> Any:
    if name not in _HOME_OF:
        raise AttributeError(f"brim has no {name!r}: it has {', '.join(__all__)}")
    value = getattr(importlib.import_module(_HOME_OF[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
