"""`brim.wrap`: an SDK's client with fitted requests.

It imports no SDK; a client is recognized by the package of its class.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

from brim.errors import BadInput
from brim.fitting import OnEvent
from brim.integrations.sdks import genai, stainless
from brim.integrations.sdks.conversations import Conversing
from brim.models import Model
from brim.planning.policies.policy import Policy
from brim.stores.protocol import Store

SdkClient = TypeVar("SdkClient")
# A wrapped client passes every call of the model on, so nobody would answer calls of a recall tool.
RECALLS = ("auto", "off")


def wrap(
    client: SdkClient,
    *,
    budget: int | None = None,
    reserve: int | None = None,
    policy: Policy | str | None = None,
    model: str | Model | None = None,
    store: Store | str | Path | None = None,
    recall: str = "auto",
    on_event: OnEvent | None = None,
) -> SdkClient:
    """Return the same client; from now on, each request it sends to a model fits the window.

    `client` comes from the openai, anthropic or google-genai SDK, sync or async. Each conversation has a session,
    which is found by its previous messages. `model` replaces a name that Brim doesn't know, such as a deployment's.
    A request that can't be fitted raises BudgetTooSmall and isn't sent.

    Example: client = brim.wrap(openai.OpenAI())
    """
    if recall not in RECALLS:
        raise BadInput("recall", f"{recall!r} is not one of {', '.join(RECALLS)}")
    given = {"budget": budget, "reserve": reserve, "policy": policy, "model": model, "on_event": on_event}
    settings = {name: value for name, value in given.items() if value is not None}
    conversing = Conversing(store, recall=recall, **settings)
    for module in (stainless, genai):
        if module.fits(client):
            module.wrap(client, conversing)
            return client
    raise BadInput("client", f"{_named(client)} is no client of the openai, anthropic or google-genai SDKs")


def _named(client: Any) -> str:
    kind = client if isinstance(client, type) else type(client)
    return f"{kind.__module__}.{kind.__qualname__}"
