"""`brim.wrap`: an SDK's client whose requests are fitted on their way out.

No SDK is imported here: a client is told by the package that its class comes from.
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
# A wrapped client hands every call of the model on, so nobody would answer those of a recall tool.
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
    """Return the same client; from now on each request that it sends to a model is within its window.

    `client` is one of the openai, anthropic or google-genai SDKs, sync or async. Each conversation has a session,
    found by what was sent before. `model` stands in for a name that Brim does not know, such as a deployment's.
    A request that cannot be fitted raises BudgetTooSmall, and is not sent.

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
