"""Keeps secrets out of files: a value that looks like a key is refused and never shown."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from brim.errors import BadSetting

_NAME_IT: Final = (
    "secrets never stand here: put it into an environment variable, and that variable's name into key_env "
    "or access_token_env"
)
# The published shapes of keys: OpenAI, Anthropic, Groq, xAI, …; Google; GitHub; Hugging Face; AWS; JWT; Bearer.
_KEY: Final = (
    r"\b(?:sk|pk|rk|gsk|xai|csk|pplx|r8|nvapi|fw)[-_](?=[\w-]*\d)[\w-]{16,}|AIza[\w-]{30,}|\bgh[pousr]_\w{20,}"
    r"|\bhf_\w{20,}|\bAKIA[A-Z0-9]{16}|\bglpat-[\w-]{16,}|\bxox[abp]-[\w-]{10,}|\beyJ[\w-]{10,}\.eyJ|Bearer\s+\S{12,}"
)
# In an address: before the host, and among what follows the question mark.
_PASSWORD: Final = r"(?i)((?<=:)//[^/?#\s:@]*:|[?&]\w*(?:password|secret|token)\w*=)(?:[^@/?#&\s]+(?=@)|(?<==)[^&#\s]+)"
_KEY_NAME: Final = r"(?:^|_)(?:api_?key|key|token|secret|password|credentials?)$"


def secret_key(key: str) -> str:
    """The error text for a setting whose name asks for a secret; empty for other names."""
    return _NAME_IT if re.search(_KEY_NAME, key.lower()) else ""


def without_password(value: Any) -> Any:
    """A value that may be shown. Example: "postgresql://brim:4f9@db/brim" -> "postgresql://brim:***@db/brim" """
    return re.sub(_PASSWORD, r"\1***", value) if isinstance(value, str) and "://" in value else value


def refuse_secret(value: Any, key: str, where: str) -> None:
    """Raise BadSetting if a value, or one inside it, looks like a secret.

    Example: `refuse_secret("sk-proj-4f9…", "key_env", "upstreams.x.key_env")` raises; `"OPENAI_API_KEY"` passes.
    """
    if isinstance(value, str):
        if re.search(_KEY, value) or (key.endswith("_env") and _random(value)):
            raise BadSetting(where, f"looks like a secret; {_NAME_IT}")
    elif isinstance(value, Mapping):
        for inner, item in value.items():
            refuse_secret(item, inner, where)
    elif isinstance(value, (list, tuple)):
        for item in value:
            refuse_secret(item, key, where)


def _random(text: str) -> bool:
    """Whether a variable's name looks like a key itself: long, in one piece and full of digits."""
    return len(text) >= 20 and "_" not in text and sum(map(str.isdigit, text)) >= 4
