"""One turn: its numbers, and its plan as it was sent or at a budget that the reader tries."""

from __future__ import annotations

from collections.abc import Mapping

from brim.dashboard import changes, money, words
from brim.dashboard.data import ViewValues
from brim.dashboard.html import Child, Html, address, el, link, number, numbers, table
from brim.dashboard.page import NavigationPlace, figure, figures, hidden_note, page
from brim.dashboard.sessions import window
from brim.models import Prices
from brim.planning.report import LAYERS, level_of

MOST_ITEMS = 1_000
SETTLED = "What earlier turns settled is sent as before, so that the prompt cache holds; it is not decided again."
COUNTED = {
    "actual": "the provider's own",
    "exact": "exact",
    "reconstructed": "by a reconstructed tokenizer",
}
FORMS = {
    "full": "full",
    "dense": "dense",
    "outline": "outline",
    "line": "one line",
    "archived": "archived",
    "dropped": "dropped",
    "summary": "summary",
}


def render(
    turn: ViewValues,
    plan: Html,
    place: NavigationPlace,
    *,
    prices: Mapping[str, Prices],
    budget: int | None = None,
    last: bool = False,
) -> str:
    """The page of a turn; `last` says that none comes after it."""
    session, count = turn["session"], turn["number"]
    where = ("sessions", session, "turns")
    around = [
        link("Session", place.base, "sessions", session),
        link("Earlier turn", place.base, *where, count - 1) if count > 1 else None,
        None if last else link("Later turn", place.base, *where, count + 1),
    ]
    return page(
        place,
        f"Turn {count} of {words.brief(session)}",
        el("nav", around, aria_label="Up and around", class_="up"),
        el("h1", f"Turn {count}"),
        _facts(turn),
        _bill(turn, prices),
        el("h2", "The plan, at any budget"),
        _slider(turn, budget, place),
        plan,
        section="sessions",
    )


def _facts(turn: ViewValues) -> Html:
    usage, used = turn["usage"] or {}, turn["used"]
    over = "would have overflowed" if turn["would_have_overflowed"] else "would have fitted as it came"
    billed = f"billed {words.tokens(usage.get('input'))}, upper bound {words.tokens(turn['upper'])}"
    return figures(
        figure("Model", el("bdi", turn["model"] or "unknown"), el("bdi", f"{turn['api']} · {turn['upstream']}")),
        figure("Before", words.tokens(turn["tokens_before"]), over),
        figure("After", words.tokens(turn["tokens_after"]), f"limit {words.tokens(turn['limit'])}"),
        figure("Window", words.filled(used), words.level(used), class_=level_of(used)),
        figure("Count error", words.signed(turn["error"]), billed),
        figure("Saved, net", words.money(turn["saved_usd"]), f"{words.money(turn['cost_usd'])} paid"),
        figure("Time added", words.milliseconds(turn["added_ms"]), f"of {words.milliseconds(turn['total_ms'])}"),
        figure("Outcome", f"{turn['outcome']} {turn['status'] or ''}", turn["note"] or words.moment(turn["at"])),
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


def _slider(turn: ViewValues, budget: int | None, place: NavigationPlace) -> Html:
    """A number field and a button; the script adds a slider to them."""
    most = max(turn["tokens_before"], turn["limit"], 100)
    step = max(1, most // 200)
    value = budget or turn["limit"] or most
    here = address(place.base, "sessions", turn["session"], "turns", turn["number"])
    field = el("input", type="number", id="budget", name="budget", min=1, max=100_000_000, value=value, required=True)
    range_ = {"min": step, "max": most, "step": step, "value": value}
    slider = el("input", type="range", id="slider", aria_label="Budget in tokens", **range_)
    return el(
        "form",
        el("label", "Budget in tokens", for_="budget"),
        " ",
        field,
        " ",
        el("button", "Plan at this budget", type="submit"),
        " ",
        el("a", "As sent", href=here, id="as-sent"),
        el("div", slider, class_="slider", hidden=True, id="slider-box"),
        el("p", role="status", id="told", class_="visually-hidden"),
        method="get",
        action=here,
        id="try-budget",
        data_fragment=f"{here}/plan",
    )


def plan(turn: ViewValues, tried: ViewValues | None, place: NavigationPlace) -> Html:
    """What was sent, or what would be at the budget that was tried; the script exchanges this part alone."""
    report = tried["report"] if tried else turn.get("report")
    if report is None:
        held = turn.get("before") is not None
        left = "; a plan at another budget can be made." if held else ", so it cannot be made again either."
        gone = f"The plan by which this turn was sent is not held any more{left}"
        return el("section", el("p", gone), id="plan")
    after = tried["after"] if tried else turn["after"]
    title = f"Tried at {tried['budget']:,} tokens: {report['after']:,} used" if tried else "As sent"
    archived = report["archived"] if tried else max(report["archived"], turn["archived"])
    counts = f"{report['kept']:,} messages kept, {report['compacted']:,} items compacted, {archived:,} archived"
    told = f"{counts}. Policy: {report['policy']}; the counts are {COUNTED.get(report['source'], 'estimates')}."
    warnings = [el("li", warning) for warning in report["warnings"]]
    return el(
        "section",
        el("h3", title),
        el("p", told, id="told-plan"),
        el("ul", warnings, class_="warnings") if warnings else None,
        window(report, "At this budget" if tried else "As sent"),
        el("h3", "Every item: its form and the reason"),
        items(report["decisions"], place, turn["session"]),
        el("p", SETTLED, class_="note") if not tried and _partly(turn) else None,
        el("h3", "Before and after"),
        changes.render(turn["before"], after, place),
        None if place.content else hidden_note(),
        id="plan",
    )


def _partly(turn: ViewValues) -> bool:
    """Whether a turn was changed by more than its own plan."""
    return bool(turn["changed"]) and len(turn["report"]["decisions"]) < len(turn["after"] or ())


def refused(problem: str) -> Html:
    """In the place of a plan that cannot be made."""
    return el("section", el("p", problem, role="alert", class_="critical", id="told-plan"), id="plan")


def items(decisions: list[ViewValues], place: NavigationPlace, session: str) -> Html:
    """Every item with its form and reason."""
    if not decisions:
        return el("p", "It passed as it was: nothing had to be decided.")
    shown = decisions[:MOST_ITEMS]
    caption = words.plural(len(decisions), "item")
    if len(shown) < len(decisions):
        caption = f"The first {len(shown):,} of {caption}"
    heads = ["Item", *numbers("Tokens"), "Form and reason"]
    return table(caption, heads, [_item(decision, place, session) for decision in shown])


def _item(decision: ViewValues, place: NavigationPlace, session: str) -> Html:
    layer, form = decision["layer"], decision["form"]
    described = f"{decision['role']} · {decision['kind']} · L{layer} {LAYERS.get(layer, '')}"
    handle = decision.get("handle")
    code: Child = handle and el("code", handle)
    if handle and place.content:
        code = link(code, place.base, "sessions", session, "archive", handle)
    preview = decision.get("preview")
    return el(
        "tr",
        el(
            "th",
            decision["item"],
            el("small", described),
            el("small", el("bdi", preview), class_="preview") if preview else None,
            scope="row",
        ),
        number(words.before_after(decision["before"], decision["after"])),
        el(
            "td",
            el("span", FORMS.get(form, form), class_=f"form {form}"),
            el("small", f" {decision['fidelity']}") if decision.get("fidelity", "full") != "full" else None,
            " ",
            decision["reason"],
            [" ", code] if code else None,
        ),
    )
