"""The page of a turn: its context map, every item with its reason, and its plan at any budget and policy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlencode

from brim.dashboard import contextmap, items, missing, money, words
from brim.dashboard.contextmap import Map
from brim.dashboard.data import ViewValues
from brim.dashboard.glossary import term
from brim.dashboard.html import Child, Html, address, el, link, number, numbers, table
from brim.dashboard.page import NavigationPlace, figure, figures, hidden_note, page
from brim.dashboard.requests import outcome
from brim.models import Prices

POLICIES = ("agent", "rolling", "concise", "layered")
COUNTED = {
    "actual": "as the provider billed them",
    "exact": "exact",
    "reconstructed": "by a reconstructed tokenizer",
}
GONE = "The details of this turn have expired."


@dataclass(frozen=True, slots=True)
class TurnTrial:
    """What the visitor tries: a budget, a policy, and a text to look for."""

    budget: int | None = None
    policy: str = ""
    why: str = ""

    @property
    def planned(self) -> bool:
        return self.budget is not None

    @property
    def query(self) -> str:
        given = {"budget": self.budget, "policy": self.policy}
        return urlencode({name: value for name, value in given.items() if value}) if self.planned else ""


def render(
    turn: ViewValues, plan: Html, place: NavigationPlace, trial: TurnTrial, *, prices: Mapping[str, Prices], last: bool
) -> str:
    """The page of a turn; `last` means that it is the newest."""
    session, count = turn["session"], turn["number"]
    where = ("sessions", session, "turns")
    around = [
        link("Session", place.base, "sessions", session),
        link("Earlier turn", place.base, *where, count - 1) if count > 1 else None,
        None if last else link("Later turn", place.base, *where, count + 1),
    ]
    held = turn.get("before") is not None
    return page(
        place,
        f"Turn {count} of {words.brief(session)}",
        el("nav", around, aria_label="Up and around", class_="up"),
        el("h1", f"Turn {count} of {words.brief(session)}"),
        _sentence(turn),
        _facts(turn, place),
        [el("h2", "What fills the window"), _controls(turn, trial, place), plan] if held else el("p", GONE),
        _bill(turn, prices),
        section="sessions",
    )


def _sentence(turn: ViewValues) -> list[Child]:
    """What happened in the turn, in one sentence."""
    before, after, limit = turn["tokens_before"], turn["tokens_after"], turn["limit"]
    if not limit:
        first = "This model's window isn't known, so Brim sent the request as it came."
    elif before == after and not turn["changed"]:
        first = f"It fitted as it came: {before:,} of {limit:,} tokens. Brim passed it on byte for byte."
    elif turn["would_have_overflowed"]:
        first = f"{before:,} tokens came for a limit of {limit:,}; Brim sent {after:,}."
    else:
        first = (
            f"{before:,} tokens came, within the limit of {limit:,}; Brim sent {after:,}, because earlier turns "
            "of the session were shortened and still are."
        )
    told = [el("p", first, class_="headline")]
    events = turn.get("events") or ()
    return [*told, el("ul", [el("li", _capital(event["told"])) for event in events])] if events else list(told)


def _capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def _facts(turn: ViewValues, place: NavigationPlace) -> Html:
    usage, used, level = turn["usage"] or {}, turn["used"], turn["level"]
    billed = f"billed {words.tokens(usage.get('input'))}"
    read = usage["cached"] / usage["input"] if usage.get("input") else None
    return figures(
        figure(
            "Model",
            el("bdi", turn["model"] or "unknown"),
            el("bdi", f"{words.api(turn['api'])}, by {turn['upstream']}"),
        ),
        figure(term("window", place, "Window used"), words.filled(used), words.level(level), class_=level),
        figure(term("cache hits", place, "Cache hits"), words.share(read), billed),
        figure(
            term("count error", place, "Count error"),
            words.signed(turn["error"]),
            f"bound {words.tokens(turn['upper'])}",
        ),
        figure(
            term("saved, net", place, "Saved, net"),
            words.money(turn["saved_usd"]),
            f"{words.money(turn['cost_usd'])} paid",
        ),
        figure(
            term("time added", place, "Time added"),
            words.milliseconds(turn["added_ms"]),
            f"of {words.milliseconds(turn['total_ms'])}",
        ),
        figure("Outcome", outcome(turn), turn["note"] or words.moment(turn["at"])),
    )


def _bill(turn: ViewValues, prices: Mapping[str, Prices]) -> Html | None:
    if turn["usage"] is None:
        return None
    known = prices.get(turn["model"])
    rows = [
        el(
            "tr",
            el("th", money.KINDS[kind], scope="row"),
            number(words.tokens(part.tokens)),
            number("price not known" if known is None else words.money(part.usd)),
        )
        for kind, part in money.breakdown([turn], prices).items()
    ]
    made = table(
        "What the provider reported, by list prices", ["Kind", *numbers("Tokens", "USD")], rows, class_="narrow"
    )
    return el("details", el("summary", "What the provider billed"), made)


def _controls(turn: ViewValues, trial: TurnTrial, place: NavigationPlace) -> list[Child]:
    """A form to try budgets and policies, to which the script adds a slider, and the search field."""
    most = max(turn["tokens_before"], turn["limit"], 100)
    step = max(1, most // 200)
    value = trial.budget or turn["limit"] or most
    here = address(place.base, "sessions", turn["session"], "turns", turn["number"])
    field = el("input", type="number", id="budget", name="budget", min=1, max=100_000_000, value=value, required=True)
    range_ = {"min": step, "max": most, "step": step, "value": value}
    options = [el("option", "as it was sent", value="", selected=not trial.policy)]
    options += [el("option", name, value=name, selected=name == trial.policy) for name in POLICIES]
    slider = el("input", type="range", id="slider", aria_label="Budget in tokens", **range_)
    form = el(
        "form",
        el("label", "Budget in tokens", for_="budget"),
        field,
        el("label", "Policy ", el("select", options, name="policy")),
        el("button", "Try it", type="submit"),
        el("a", "As sent", href=here, id="as-sent"),
        el("div", slider, class_="slider", hidden=True, id="slider-box"),
        el("p", role="status", id="told", class_="visually-hidden"),
        method="get",
        action=here,
        id="try-budget",
        class_="controls",
        data_fragment=f"{here}/plan",
    )
    return [form, missing.search(turn, trial.why) if place.content else None]


def plan(
    turn: ViewValues, tried: ViewValues | None, place: NavigationPlace, trial: TurnTrial, prices: Mapping[str, Prices]
) -> Html:
    """What was sent, or would be sent with the tried settings; the script replaces only this part."""
    report = tried["report"] if tried else turn.get("report")
    after = tried["after"] if tried else turn.get("after")
    if report is None or after is None:
        return el("section", el("p", GONE), id="plan")
    title = f"Tried at {tried['budget']:,} tokens: {report['after']:,} used" if tried else "As sent"
    found = contextmap.build(turn, after, report["after"])
    gone = f"{words.plural(report['archived'], 'message')} left out" if report["archived"] else "no message left out"
    counted = COUNTED.get(report["source"], "estimates")
    told = (
        f"{words.plural(report['compacted'], 'part')} shortened, {gone}. Policy: {report['policy']}. Counts: {counted}."
    )
    warnings = [el("li", warning) for warning in report["warnings"]]
    label = "At this budget" if tried else "As sent"
    return el(
        "section",
        el("h3", title),
        el("p", told, id="told-plan"),
        el("ul", warnings, class_="warnings") if warnings else None,
        _mapped(turn, found, report, label, place, trial, prices) if found else items.table_of(report, place, turn),
        None if place.content else hidden_note(),
        id="plan",
    )


def _mapped(
    turn: ViewValues,
    found: Map,
    report: ViewValues,
    label: str,
    place: NavigationPlace,
    trial: TurnTrial,
    prices: Mapping[str, Prices],
) -> list[Child]:
    """Everything that needs the messages: the map, the quality figures, the answer's sources and the items."""
    parts: list[Child] = [_quality(turn, found, prices)]
    if trial.why and place.content:
        parts += [el("h3", f"Why is “{trial.why}” missing?")]
        parts += [missing.answer(found, report, trial.why, place, turn["session"])]
    parts.append(contextmap.render(found, label))
    said = turn.get("answer")
    where = missing.sources(found, said) if said and place.content else None
    if said and where is not None:
        parts += [el("h3", "Where the answer came from"), el("p", el("bdi", said[:600]), class_="answer"), where]
    parts += [el("h3", "Every item, its form and the reason")]
    parts += [items.listed(found, report, place, turn, trial.query)]
    return parts


def _quality(turn: ViewValues, found: Map, prices: Mapping[str, Prices]) -> Html:
    """A plan's quality and cost in figures."""
    known = prices.get(turn["model"])
    made = [figure(name, value) for name, value in contextmap.quality(found).items()]
    if known is not None:
        whole, sent = known.cost(found.before, 0, 0, 0), known.cost(found.after, 0, 0, 0)
        made.append(figure("Input cost, uncached", words.money(sent), f"{words.money(whole)} as it came"))
    return figures(*made)


def refused(problem: str) -> Html:
    """Shown instead of a plan that can't be made."""
    return el("section", el("p", problem, role="alert", class_="critical", id="told-plan"), id="plan")


def item(turn: ViewValues, tried: ViewValues | None, key: str, place: NavigationPlace, *, fragment: bool) -> str | None:
    """The texts of one item, as a page or as the part that the script puts into its place; None if there is none."""
    report = tried["report"] if tried else turn.get("report")
    after: Sequence[ViewValues] | None = tried["after"] if tried else turn.get("after")
    if report is None or after is None:
        return None
    found = contextmap.build(turn, after, report["after"])
    block = next((one for one in found.blocks if one.key == key), None) if found else None
    if block is None:
        return None
    shown = items.texts(block, place)
    if fragment:
        return shown
    up = link(f"Turn {turn['number']}", place.base, "sessions", turn["session"], "turns", turn["number"])
    name = contextmap.name_of(block)
    _, why, _ = items.told(block, items.decided(report))
    body = [el("nav", up, aria_label="Up", class_="up"), el("h1", name), el("p", el("b", "Why: "), why, "."), shown]
    return page(place, name, body, section="sessions")
