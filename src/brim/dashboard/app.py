"""The dashboard as an ASGI application that can be mounted anywhere.

Every page is a GET that changes nothing; only the forms of the settings page are sent by POST.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import time
from functools import partial
from importlib import resources
from typing import Any, Final
from urllib.parse import urlencode

from brim.dashboard import glossary, home, missing, models, money, sessions, settings, turns
from brim.dashboard.data import DashboardData, ViewValues, shows_content, without_text
from brim.dashboard.html import Html, el
from brim.dashboard.page import HEADERS, NavigationPlace, page
from brim.errors import BadInput, BadSetting, BrimError, BudgetTooSmall, MissingExtra, NotFound

try:
    from starlette.applications import Starlette
    from starlette.exceptions import HTTPException
    from starlette.requests import Request
    from starlette.responses import Response
    from starlette.routing import Route
    from starlette.types import ASGIApp
except ImportError as problem:  # pragma: no cover, the extra is not installed
    raise MissingExtra("the dashboard", "gateway") from problem


_KINDS: Final = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
STATIC: Final = {
    file.name: (file.read_bytes(), _KINDS[file.name.rpartition(".")[2]])
    for file in sorted(resources.files("brim.dashboard").joinpath("static").iterdir(), key=lambda file: file.name)
    if file.name.rpartition(".")[2] in _KINDS
}
STAMP: Final = hashlib.sha256(b"".join(content for content, _ in STATIC.values())).hexdigest()[:12]
LAYER_SECONDS: Final = 0.4
LIVE_SECONDS: Final = 1.0
MOST_TOKENS: Final = 100_000_000
LARGEST_FORM: Final = 300_000


def create(data: DashboardData) -> ASGIApp:
    """The application over `data`. Example: Mount("/brim", app=create(views))"""
    pages = Pages(data)
    turn = "/sessions/{id}/turns/{number:int}"
    routes = [
        Route("/", pages.home),
        Route("/live.json", pages.live_json),
        Route("/sessions", pages.sessions),
        Route("/sessions/{id}", pages.session),
        Route(turn, pages.turn),
        Route(f"{turn}/plan", pages.plan),
        Route(f"{turn}/items/{{key}}", pages.item),
        Route("/sessions/{id}/archive/{handle}", pages.archived),
        Route("/models", pages.models),
        Route("/settings", pages.settings),
        Route("/settings", pages.change_settings, methods=["POST"]),
        Route("/glossary", pages.glossary),
        Route("/static/{name}", _static),
    ]
    handlers: dict[Any, Any] = {BrimError: pages.problem, HTTPException: pages.problem}
    return Starlette(routes=routes, exception_handlers=handlers)


class Pages:
    """The handlers. Anything that may count, plan or read a file runs in a thread."""

    def __init__(self, data: DashboardData) -> None:
        self._data = data
        # Rendered once a second for everyone watching the same view.
        self._live: tuple[tuple[NavigationPlace, home.HomeFilter], float, str] | None = None

    def _place(self, request: Request) -> NavigationPlace:
        base = request.scope.get("root_path", "")
        origin = f"{request.url.scheme}://{request.url.netloc}{base.removesuffix('/brim')}"
        return NavigationPlace(base, STAMP, shows_content(self._data), origin)

    async def home(self, request: Request) -> Response:
        return _html(await asyncio.to_thread(home.render, self._data, self._place(request), _filter(request)))

    async def live_json(self, request: Request) -> Response:
        place, chosen, now = self._place(request), _filter(request), time.monotonic()
        key = place, chosen
        if self._live is None or self._live[0] != key or now - self._live[1] >= LIVE_SECONDS:
            made = json.dumps(await asyncio.to_thread(home.as_json, self._data, place, chosen))
            self._live = (key, now, made)
        return Response(self._live[2], media_type="application/json", headers=HEADERS)

    async def glossary(self, request: Request) -> Response:
        return _html(glossary.render(self._place(request)))

    async def sessions(self, request: Request) -> Response:
        query = request.query_params.get("query", "")[:200]
        given = request.query_params.get("limit", "")
        limit = next((size for size in sessions.LIMITS if str(size) == given), sessions.LIMITS[0])
        return _html(sessions.listed(self._data.sessions(limit, query), self._place(request), limit, query))

    async def session(self, request: Request) -> Response:
        place = self._place(request)
        found = self._data.session(request.path_params["id"])
        seen, last = await asyncio.to_thread(self._layered, found)
        return _html(sessions.one(_veiled(seen, place), last and _veiled(last, place), place))

    def _layered(self, session: ViewValues) -> tuple[ViewValues, ViewValues | None]:
        """A session with the layers of its last turns, as many as can be computed quickly, and its last turn.

        Whoever holds the turns makes a report when it is first asked for one, so the next look finds more.
        """
        listed: list[ViewValues] = list(session["turns"])
        last: ViewValues | None = None
        until = time.monotonic() + LAYER_SECONDS
        for place in range(len(listed) - 1, -1, -1):
            turn = listed[place]
            if last is not None and (turn.get("layers") or time.monotonic() > until):
                continue
            if last is None:
                last = self._data.turn(session["id"], turn["number"])
            listed[place] = {**turn, "layers": self._data.layers(session["id"], turn["number"])}
        return {**session, "turns": listed}, last

    async def turn(self, request: Request) -> Response:
        place, trial = self._place(request), _trial(request)
        found = await self._turn(request, place)
        part, status = await self._planned(request, found, place, trial)
        last = self._data.session(found["session"])["turns"][-1]["number"] <= found["number"]
        prices = money.prices_of(self._data.models())
        return _html(turns.render(found, part, place, trial, prices=prices, last=last), status)

    async def plan(self, request: Request) -> Response:
        """The part of a turn's page that a budget changes, for the script."""
        place = self._place(request)
        part, status = await self._planned(request, await self._turn(request, place), place, _trial(request))
        return _html(part, status)

    async def item(self, request: Request) -> Response:
        """The texts of one item."""
        place, trial = self._place(request), _trial(request)
        found = await self._turn(request, place)
        tried = _veiled(await self._tried(found, trial), place) if trial.planned else None
        key, fragment = request.path_params["key"], "fragment" in request.query_params
        made = await asyncio.to_thread(partial(turns.item, found, tried, key, place, fragment=fragment))
        if made is None:
            raise NotFound(f"this turn holds no {key[:40]!r} any more")
        return _html(made)

    async def _turn(self, request: Request, place: NavigationPlace) -> ViewValues:
        id, number = request.path_params["id"], request.path_params["number"]
        return _veiled(await asyncio.to_thread(self._data.turn, id, number), place)

    async def _tried(self, found: ViewValues, trial: turns.TurnTrial) -> ViewValues:
        assert trial.budget is not None
        where = found["session"], found["number"]
        return await asyncio.to_thread(self._data.planned_at, *where, trial.budget, trial.policy)

    async def _planned(
        self, request: Request, found: ViewValues, place: NavigationPlace, trial: turns.TurnTrial
    ) -> tuple[Html, int]:
        given, tried = request.query_params.get("budget"), None
        if given is not None and found.get("report") is not None:
            if trial.budget is None:
                return turns.refused(f"A budget is a whole number of tokens from 1 to {MOST_TOKENS:,}."), 422
            try:
                tried = _veiled(await self._tried(found, trial), place)
            except BudgetTooSmall as refusal:
                needed = f"What must stay needs {refusal.needed:,} tokens, so {refusal.budget:,} cannot hold this turn."
                return turns.refused(needed), 422
        prices = money.prices_of(self._data.models())
        return await asyncio.to_thread(turns.plan, found, tried, place, trial, prices), 200

    async def archived(self, request: Request) -> Response:
        place, id = self._place(request), request.path_params["id"]
        found = self._data.archived(id, request.path_params["handle"])
        return _html(sessions.archived(_veiled(found, place), place, id))

    async def models(self, request: Request) -> Response:
        usage = await asyncio.to_thread(self._data.usage, 30)
        recent = self._data.live(models.COUNTED)["turns"]
        return _html(models.render(self._data.models(), recent, usage["days"], self._place(request)))

    async def settings(self, request: Request) -> Response:
        saved = request.query_params.getlist("saved")
        return _html(settings.render(self._data, self._place(request), saved=saved))

    async def change_settings(self, request: Request) -> Response:
        """Apply a form: either all changes take effect and the page is shown, or none do and the form says why."""
        place = self._place(request)
        change = settings.asked(await _form_of(request), self._data.settings())
        if not change.problems:
            try:
                await self._data.change_settings(change.given)
            except BadSetting as problem:
                change = settings.refused(change, problem)
        if change.problems:
            return _html(settings.render(self._data, place, change), 422)
        saved = urlencode([("saved", key) for key in change.given])
        return Response(status_code=303, headers={**HEADERS, "location": f"{place.base}/settings?{saved}"})

    async def problem(self, request: Request, problem: Exception) -> Response:
        """An error as a page."""
        if isinstance(problem, NotFound):
            status, told = 404, str(problem)
        elif isinstance(problem, HTTPException):
            status = problem.status_code
            told = "There is no such page." if status == 404 else problem.detail
        else:
            status, told = 422, str(problem)
        title = "Not found" if status == 404 else "This cannot be shown"
        return _html(page(self._place(request), title, el("h1", title), el("p", told), section="none"), status)


async def _form_of(request: Request) -> str:
    """The fields of a form. Raises BadInput for anything that Brim's own forms don't send."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/x-www-form-urlencoded":
        raise BadInput("form", "send it as application/x-www-form-urlencoded")
    body = b""
    async for piece in request.stream():
        body += piece
        if len(body) > LARGEST_FORM:
            raise BadInput("form", f"is larger than {LARGEST_FORM:,} bytes")
    try:
        return body.decode("ascii")
    except UnicodeDecodeError:
        raise BadInput("form", "is not encoded as a form") from None


def _filter(request: Request) -> home.HomeFilter:
    """The home page's filter; an invalid time span becomes the default."""
    given = request.query_params
    span = given.get("span", "")
    names = {name: given.get(name, "")[:200] for name in ("model", "client", "tenant")}
    return home.HomeFilter(span if span in home.SPANS else "", **names)


def _trial(request: Request) -> turns.TurnTrial:
    """The budget and policy to try a turn at, without invalid ones."""
    given = request.query_params
    budget, policy = given.get("budget", ""), given.get("policy", "")
    return turns.TurnTrial(
        int(budget) if _is_budget(budget) else None,
        policy if policy in turns.POLICIES else "",
        " ".join(given.get("why", "").split())[: missing.LONGEST_QUESTION],
    )


async def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in STATIC:
        raise HTTPException(404)
    content, kind = STATIC[name]
    # The URL changes with the content.
    kept = {**HEADERS, "cache-control": "public, max-age=31536000, immutable"}
    return Response(content, media_type=kind, headers=kept)


def _html(content: str, status: int = 200) -> Response:
    # Content may hold halves of surrogate pairs, which UTF-8 cannot.
    return Response(content.encode("utf-8", "replace"), status, HEADERS, "text/html")


def _veiled(values: ViewValues, place: NavigationPlace) -> ViewValues:
    return values if place.content else without_text(values)


def _is_budget(given: str) -> bool:
    return given.isascii() and given.isdigit() and len(given) <= 9 and 0 < int(given) <= MOST_TOKENS
