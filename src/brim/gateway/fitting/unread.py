"""Requests that pass unread: their bytes alone show that they fit, so nothing in them is parsed or counted.

Their tokens are told by their size: from the provider's number for the request before, if most of it was sent before,
otherwise from the provider's numbers for all requests of the vocabulary. They are read once somebody looks at them.
"""

from __future__ import annotations

from typing import Final

from brim.conversation import Conversation
from brim.gateway.fitting.conversations import Conversations, Live
from brim.gateway.fitting.fast_path import AROUND, Glance, Glances, Known, chain_of, glance
from brim.gateway.fitting.fit_result import FitResult
from brim.gateway.fitting.last_models import LastModels
from brim.gateway.fitting.learned import Learned
from brim.gateway.fitting.upstream_models import UpstreamModels
from brim.gateway.proxy.controls import Controls
from brim.planning.policies.policy import Policy
from brim.sessions.tenancy import scoped
from brim.sized_lru import SizedLru
from brim.tokens.actuals import Actuals

# Vocabularies of which the reports are kept, and kinds of requests that were parsed.
MOST_HEARD, MOST_KINDS = 5_000, 5_000
# Requests below FAR of their limit are far from it; after ENOUGH of a family, Brim learns from one in SOME of those: it
# takes ten times the processor time of one that passes unread (1.1 ms to .08), so that they cost 2% more on average.
FAR, ENOUGH, SOME = 0.25, 50, 512
# Fewer tokens per byte than any vocabulary produces (`scripts/measure-bands`: 0.136).
SPARSEST: Final = 0.1


class Heard:
    """What a provider has reported for a vocabulary: how often, and the tokens of so many bytes."""

    __slots__ = ("bytes", "reports", "tokens")

    def __init__(self) -> None:
        self.reports = self.bytes = self.tokens = 0


class UnreadRequests:
    """Passes requests unread, and keeps what is needed for that from those that were read."""

    def __init__(
        self, conversations: Conversations, learned: Learned, models: UpstreamModels, last_models: LastModels
    ) -> None:
        self._conversations, self._learned, self._models = conversations, learned, models
        self._last_models = last_models
        self._glances = Glances()
        self._kinds: SizedLru[tuple[object, ...], Known] = SizedLru(MOST_KINDS)
        self._heard: SizedLru[tuple[str, str], Heard] = SizedLru(MOST_HEARD)
        self._largest = 0  # of the requests that can pass

    def passed(
        self, raw: bytes, api: str, model: str, upstream: str, controls: Controls, policy: Policy
    ) -> FitResult | None:
        """The request unchanged, if its bytes show that it fits; None if that can't be told.

        One in SOME of these is parsed anyway, so that counts are still learned.
        """
        if len(raw) > self._largest:
            return None
        tenant = controls.tenant
        seen = glance(raw, api, scoped(tenant, controls.session))
        if seen is None:
            return None
        named = seen.model or model
        last, number = self._glances.before(seen.chain)
        live = last.live if last is not None and last.live.tenant == tenant else None
        like = self._like(seen, last, number, len(raw))
        known = like or self._kinds.get((api, upstream, tenant, named, seen.asked))
        if known is None or known.asked != seen.asked or known.policy is not policy:
            return None
        actuals, found = self._learned.of(upstream, tenant), known.model
        heard = self.heard(actuals, found.family)
        size, upper = len(raw), len(raw) + AROUND
        if upper > FAR * known.limit or heard.reports < ENOUGH or not heard.reports % SOME or not heard.bytes:
            return None
        tokens, of = (like.tokens, like.size) if like is not None else (heard.tokens, heard.bytes)
        asked = named or self._last_models.of_client(controls.client, tenant)
        if self._models.find(asked, upstream, tenant) is not found:
            return None
        live = self._live(live, raw, controls)
        if live is None:
            return None
        told = min(-(-tokens * size // of), upper)
        now = Known(live, found, policy, known.asked, known.limit, size, told)
        self._glances.keep(seen.chain, now)
        return FitResult(
            raw, live, api, named, seen.streamed, None, None, found, told, told, upper, known.limit,
            known=now, actuals=actuals,
        )  # fmt: skip

    def _like(self, seen: Glance, last: Known | None, number: int, size: int) -> Known | None:
        """A known request that most of this one was in: the one it continues, or one with another last message."""
        if last is not None and 2 * sum(map(len, seen.items[:number])) >= size:
            return last
        return self._glances.beside(seen.chain) if 2 * len(seen.items[-1]) < size else None

    def _live(self, live: Live | None, raw: bytes, controls: Controls) -> Live | None:
        """The conversation of an unparsed request: a known one, or a new one if its bytes will identify it later.

        Moving cache breakpoints and the scope of a client's id can be resolved only by parsing.
        """
        if live is not None:
            return live if not live.engaged and self._conversations.again(live) else None
        return None if controls.session or b'"cache_control"' in raw else self._conversations.begin(controls.tenant)

    def before(self, tenant: str, conversation: Conversation) -> Live | None:
        """The conversation of a tenant's unparsed requests that this one continues."""
        last, _ = self._glances.before(chain_of(conversation, scoped(tenant, "")))
        return last.live if last is not None else None

    def begun(
        self, passed: FitResult, conversation: Conversation, upstream: str, controls: Controls, policy: Policy
    ) -> None:
        """Remember a parsed request far below its limit, for those that continue it or ask for the same."""
        size, model, tenant = len(passed.body), passed.model, controls.tenant
        if model is None or passed.live.engaged or not passed.before or FAR * passed.limit < size + AROUND:
            return
        asked, limit = conversation.max_output, passed.limit
        passed.known = Known(passed.live, model, policy, asked, limit, size, passed.before)
        self._glances.keep(chain_of(conversation, scoped(tenant, controls.session)), passed.known)
        self._kinds.put((conversation.api, upstream, tenant, conversation.model, asked), passed.known)
        self._largest = max(self._largest, int(FAR * limit))

    def heard(self, actuals: Actuals, family: str) -> Heard:
        """What one upstream has reported to one tenant for a vocabulary."""
        key = actuals.scope, family
        return self._heard.get(key) or self._heard.put(key, Heard())

    def reported(self, done: FitResult, tokens: int) -> bool:
        """Note the tokens that a provider reported for a request; returns whether to learn more from it."""
        assert done.model is not None
        assert done.actuals is not None
        heard = self.heard(done.actuals, done.model.family)
        seen = heard.reports
        heard.reports += 1
        known = done.known
        if known is not None and SPARSEST * done.upper <= tokens <= done.upper:
            known.tokens = tokens
            heard.bytes += known.size
            heard.tokens += tokens
            if done.parsed is None:
                return False
        return done.upper > FAR * done.limit or tokens > done.upper or seen < ENOUGH or seen % SOME == 0
