"""The list of sessions, and the page of one: its window now and over time, summary, archive and recalls."""

from __future__ import annotations

from collections.abc import Sequence

from brim.dashboard import bars, connect, contextmap, words
from brim.dashboard.data import ViewValues
from brim.dashboard.glossary import term
from brim.dashboard.html import Child, Html, el, link, number, numbers, table
from brim.dashboard.page import NavigationPlace, figure, figures, hidden_note, page
from brim.dashboard.requests import outcome

KINDS = {"compaction": "Compaction", "recall": "Recall", "refit": "Refit", "cache": "Cache loss", "fault": "Fault"}
LIMITS = (50, 200, 500)
MOST_ROWS = 200


def listed(sessions: Sequence[ViewValues], place: NavigationPlace, limit: int, query: str) -> str:
    """All sessions, with a search field."""
    heads = ["Session", *numbers("Tokens"), "Window"]
    rows = [_summary_row(session, place) for session in sessions]
    nothing = "No session matches." if query else "No session yet: point a client at the gateway."
    more = next((size for size in LIMITS if size > limit), None)
    search = el(
        "form",
        el("label", "Find by id, model or client", for_="query"),
        " ",
        el("input", type="search", id="query", name="query", value=query, maxlength=200),
        " ",
        el("button", "Find", type="submit"),
        method="get",
        role="search",
    )
    return page(
        place,
        "Sessions",
        el("h1", "Sessions"),
        search,
        table("Sessions, the last used first", heads, rows or [el("tr", el("td", nothing, colspan=3))]),
        connect.render(place, opened=True) if not rows and not query else None,
        _more(place, more, query) if more and len(sessions) >= limit else None,
        section="sessions",
    )


def _more(place: NavigationPlace, limit: int, query: str) -> Html:
    wanted = {"query": query, "limit": str(limit)}
    fields = [el("input", type="hidden", name=name, value=value) for name, value in wanted.items()]
    return el("form", fields, el("button", f"Show up to {limit}", type="submit"), method="get")


def _summary_row(session: ViewValues, place: NavigationPlace) -> Html:
    name = link(el("bdi", words.brief(session["id"])), place.base, "sessions", session["id"])
    who = [el("bdi", session["client"] or "unknown client"), " · ", el("bdi", session["model"])]
    about = el("small", words.moment(session["touched"]), f" · {words.plural(session['requests'], 'request')} · ", who)
    return el(
        "tr",
        el("th", name, about, scope="row"),
        number(words.before_after(session["tokens_before"], session["tokens_after"])),
        el("td", words.meter(session["used"], session["level"]) if session["limit"] else "not known"),
    )


def one(session: ViewValues, last: ViewValues | None, place: NavigationPlace) -> str:
    """One session; `last` is its last turn with its report."""
    turns = session["turns"]
    return page(
        place,
        f"Session {words.brief(session['id'])}",
        el("nav", link("Sessions", place.base, "sessions"), aria_label="Up", class_="up"),
        el("h1", "Session ", el("bdi", words.brief(session["id"]))),
        el("p", "Its full id is ", el("code", el("bdi", session["id"])), class_="note"),
        _facts(session, place),
        el("h2", "Over time"),
        _over(turns, place, session["id"]) if turns else None,
        _happened(turns, place, session["id"]),
        el("h2", "The window now"),
        now(last, session),
        el("h2", "Turns"),
        _turns(turns, place, session["id"]),
        _memory(session, place),
        section="sessions",
    )


def _facts(session: ViewValues, place: NavigationPlace) -> Html:
    used, level, turns = session["used"], session["level"], session["turns"]
    saved = [turn["saved_usd"] for turn in turns if turn["saved_usd"] is not None]
    recalls = sum(turn["recalls"] + turn.get("recalled", 0) for turn in turns)
    return figures(
        figure("Client", el("bdi", session["client"] or "unknown"), el("bdi", session["model"])),
        figure("Requests", words.tokens(session["requests"]), ["last ", words.moment(session["touched"])]),
        figure(
            "Tokens",
            f"{words.short(session['tokens_before'])} → {words.short(session['tokens_after'])}",
            f"before → after; limit {words.tokens(session['limit'])}",
        ),
        figure(term("window", place, "Window used"), words.filled(used), words.level(level), class_=level),
        figure(
            term("saved, net", place, "Saved, net"),
            words.money(sum(saved) if saved else None),
            "list prices, cache effects included",
        ),
        figure(term("recall", place, "Recalls"), words.tokens(recalls), "by Brim or by the model"),
    )


def now(turn: ViewValues | None, session: ViewValues) -> Child:
    """The last sent window by layers."""
    report = turn and turn.get("report")
    if not session["turns"] or not session["limit"]:
        return el("p", "Nothing has been counted yet.")
    after = turn.get("after") if turn else None
    found = contextmap.build(turn, after, report["after"]) if turn and report and after is not None else None
    if found is not None:
        return contextmap.render(found, "As sent")
    if not report:
        bar = bars.plain_bar(session["tokens_after"], session["limit"], "The window as last sent")
        return [bar, el("p", "What filled it is no longer in memory.")]
    return window(report)


def window(report: ViewValues, label: str = "As sent") -> Html:
    """Bars of a turn before and after, with a legend of numbers."""
    layers, limit = report["layers"], report["limit"]
    used = report["after"] / limit if limit else 0.0
    rows = [
        el(
            "tr",
            el("th", el("span", class_=f"swatch l{layer['layer']}"), f"L{layer['layer']} {layer['name']}", scope="row"),
            number(words.tokens(layer["before"])),
            number(words.tokens(layer["after"])),
            number(words.share(layer["after"] / limit if limit else None)),
        )
        for layer in layers
    ]
    free = max(0, limit - report["after"])
    swatch = el("span", class_="swatch free")
    rows.append(
        el(
            "tr",
            el("th", swatch, "free", scope="row"),
            number(""),
            number(words.tokens(free)),
            number(words.share(free / limit if limit else None)),
        )
    )
    heads = ["Layer", *numbers("Before", "After", "Of limit")]
    parts: list[Child] = []
    if report["before"] != report["after"]:
        parts += [el("p", f"As it came: {report['before']:,} tokens", class_="label")]
        parts += [bars.layer_bar(layers, "before", limit, "As it came")]
    spoken = f"{label}: {report['after']:,} of {limit:,} tokens, {words.filled(used)}: "
    parts += [el("p", spoken, el("b", words.level(report["level"]), class_=report["level"]), class_="label")]
    parts += [bars.layer_bar(layers, "after", limit, label)]
    marks = f"Tokens by layer; the limit is {limit:,}. Marks on the bars: 75%, 90% and the limit."
    return el("div", parts, table(marks, heads, rows, class_="narrow"))


def _over(turns: Sequence[ViewValues], place: NavigationPlace, session: str) -> list[Child]:
    """The window over the turns, with a legend."""
    picture = bars.columns(turns, place.base, session)
    told = "Each column is a turn. A dot marks an event, in the colour it has in the list below."
    if any(not turn.get("layers") for turn in turns):
        told += " What fills a grey column is still being worked out: open the page again to see more."
    scroll = el(
        "div", picture, class_="scroll newest", tabindex="0", role="group", aria_label="The window over the turns"
    )
    return [_legend(turns), scroll, el("p", told, class_="note")]


def _legend(turns: Sequence[ViewValues]) -> Html:
    """The colours of the layers that take part, and of what was left out."""
    used = {layer["layer"]: layer["name"] for turn in turns for layer in turn.get("layers") or () if layer["after"] > 0}
    names = [el("span", el("span", class_=f"swatch l{number}"), used[number]) for number in sorted(used)]
    left_out = el("span", el("span", class_="swatch ghost-swatch"), "came and was not sent")
    return el("p", names, left_out, class_="legend")


def _happened(turns: Sequence[ViewValues], place: NavigationPlace, session: str) -> Html | None:
    """Compactions, recalls, cache losses, refits and faults, newest first."""
    rows = [
        el(
            "li",
            el("span", KINDS[event["kind"]], class_=f"kind e-{event['kind']}"),
            link(f"Turn {turn['number']}", place.base, "sessions", session, "turns", turn["number"]),
            f": {event['told']}. ",
            el("small", words.moment(turn["at"])),
        )
        for turn in reversed(turns[-MOST_ROWS:])
        for event in turn.get("events") or ()
    ]
    return el("ul", rows, class_="moments") if rows else None


def _turns(turns: Sequence[ViewValues], place: NavigationPlace, session: str) -> Html:
    heads = ["Turn", *numbers("Tokens"), "Window", *numbers("Shortened", "Count error", "Saved"), "Outcome"]
    where = ("sessions", session, "turns")
    rows = [
        el(
            "tr",
            el(
                "th",
                link(f"Turn {turn['number']}", place.base, *where, turn["number"]),
                el("small", words.moment(turn["at"])),
                scope="row",
            ),
            number(words.before_after(turn["tokens_before"], turn["tokens_after"])),
            el("td", words.meter(turn["used"], turn["level"]) if turn["limit"] else "not known"),
            number(words.tokens(turn["archived"])),
            number(words.signed(turn["error"])),
            number(words.money(turn["saved_usd"])),
            el("td", outcome(turn)),
        )
        for turn in reversed(turns[-MOST_ROWS:])
    ]
    caption = "Turns, the newest first" + (f" (the last {MOST_ROWS})" if len(turns) > MOST_ROWS else "")
    return table(caption, heads, rows)


def _memory(session: ViewValues, place: NavigationPlace) -> list[Child]:
    entries, archive = session.get("summaries") or [], session["archive"]
    summaries = [entry for entry in entries if entry["kind"] == "summary"]
    recalled = [entry for entry in entries if entry["kind"] == "recall"]
    asked = [turn for turn in session["turns"] if turn["recalls"]]
    parts: list[Child] = [el("h2", "Summary")]
    short = session.get("archived")
    nothing = "Messages were shortened, but none was left out." if short else "No message has been archived."
    parts += _entries(summaries, nothing)
    parts += [el("h2", "Recalls")]
    parts += _entries(recalled, None if asked else "Nothing archived has been brought back.")
    if asked:
        told = [f"turn {turn['number']} ({turn['recalls']:,})" for turn in asked]
        parts += [el("p", f"Asked for by the model: {', '.join(told)}.")]
    parts += [el("h2", "Archive"), _archive(archive, place, session["id"])]
    return parts + ([] if place.content else [hidden_note()])


def _entries(entries: Sequence[ViewValues], nothing: str | None) -> list[Child]:
    if not entries:
        return [nothing and el("p", nothing)]
    return [_entry(entry) for entry in entries]


def _entry(entry: ViewValues) -> Html:
    first, end = entry["start"], entry["end"]
    where = f"messages {first + 1}–{end}" if end > first else f"before message {first + 1}"
    title = f"{where} · {entry['tokens']:,} tokens"
    if "text" not in entry:
        return el("p", title, " · ", el("code", entry.get("digest", "")))
    return el("details", el("summary", title), el("pre", entry["text"], dir="auto", tabindex="0"))


def _archive(archive: Sequence[ViewValues], place: NavigationPlace, session: str) -> Html:
    if not archive:
        return el("p", "Nothing has left the prompt.")
    rows = []
    for row in archive[-MOST_ROWS:]:
        handle = el("code", row["handle"])
        shown = link(handle, place.base, "sessions", session, "archive", row["handle"]) if place.content else handle
        rows.append(el("tr", el("th", shown, scope="row"), number(words.tokens(row["characters"]))))
    told = f"{words.plural(len(archive), 'original')} kept outside the prompt, by handle"
    made = table(told, ["Handle", *numbers("Characters")], rows, class_="narrow")
    return el("details", el("summary", told), made)


def archived(found: ViewValues, place: NavigationPlace, session: str) -> str:
    """The page of the content behind a handle."""
    body: Child = el("pre", found["text"], dir="auto", tabindex="0") if "text" in found else hidden_note()
    return page(
        place,
        f"Archive {found['handle']}",
        el("nav", link("Session", place.base, "sessions", session), aria_label="Up", class_="up"),
        el("h1", "Archive ", el("code", found["handle"])),
        el("p", words.plural(found["characters"], "character")),
        body,
        section="sessions",
    )
