"""The settings page: the settings in force with their origins, and forms for those that can be changed at run time."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any
from urllib.parse import parse_qsl

from brim.dashboard import words
from brim.dashboard.data import DashboardData, ViewValues
from brim.dashboard.html import Child, Html, el, table
from brim.dashboard.page import NavigationPlace, page
from brim.errors import BadInput, BadSetting
from brim.settings import reference
from brim.settings.editable import POLICIES, EditableSetting, of_policy, of_section
from brim.settings.schema import NAMED

_NAME = re.compile(rf"^({'|'.join(NAMED)})\..*\.(?=[a-z_]+$)")
# Descriptions of the policies, from the documentation.
_ABOUT = {
    "agent": "Keeps the user's words and the newest steps; of the rest what is relevant, as far as there is room.",
    "rolling": "Keeps the last messages verbatim, and a summary of what came before.",
    "concise": "Keeps the last two turns of the user, and one structured summary of the rest, by characters.",
    "layered": "Holds a total budget over five layers: the oldest complete turns go first, then long answers.",
}
_SECTIONS = {"summarizer": "Summaries by a model", "gateway": "Recall and planning"}
MOST_FIELDS = 100


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """The changes in a form: the keys, what was typed, and what is wrong with it."""

    form: str
    given: dict[str, Any] = field(default_factory=dict)
    typed: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


def asked(body: str, rows: Sequence[ViewValues]) -> SettingsChange:
    """The changes in a submitted form. Raises BadInput for anything but a form of this page."""
    try:
        fields = dict(parse_qsl(body, keep_blank_values=True, strict_parsing=True, max_num_fields=MOST_FIELDS))
    except ValueError as problem:
        raise BadInput("form", str(problem)) from None
    form = fields.pop("form", "")
    settings = {one.name: one for one in (of_policy(form) if form in POLICIES else of_section(form))}
    if not settings or form == "policy":
        raise BadInput("form", f"there is no form {form[:40]!r}")
    if unknown := next((name for name in fields if name not in settings), None):
        raise BadInput("form", f"{unknown[:40]!r} is no setting of {form}")
    known = {str(row["key"]): row for row in rows}
    change = SettingsChange(form)
    if form in POLICIES and known["policy.name"]["value"] != form:
        change.given["policy.name"] = form
    for name, setting in settings.items():
        row = known.get(setting.key)
        if (row is not None and _fixed(row)) or (name not in fields and setting.kind != "switch"):
            continue  # disabled fields aren't sent
        change.typed[setting.key] = fields.get(name, "")
        try:
            value = (name in fields) if setting.kind == "switch" else setting.read(fields[name])
        except BadSetting as problem:
            change.problems[setting.key] = _bare(problem, setting.key)
            continue
        if _is_news(setting, value, row):
            change.given[setting.key] = value
    return change


def _is_news(setting: EditableSetting, value: Any, row: ViewValues | None) -> bool:
    """Whether a value differs from the one in force; None is the default."""
    if value is None:
        return row is not None and row["origin"] != "default"
    before = row["value"] if row is not None else setting.default
    return bool(value != (list(before or ()) if setting.kind == "list" else before))


def refused(change: SettingsChange, problem: BadSetting) -> SettingsChange:
    """The change with its error, next to the field if the error names one."""
    named = str(problem).partition(":")[0].partition(" ")[0]
    key = named if named in change.typed else ""
    return SettingsChange(change.form, change.given, change.typed, {key: _bare(problem, key)})


def _bare(problem: BadSetting, key: str) -> str:
    """Example: "policy.recall: must be …" -> "must be …" """
    return re.sub(rf"^{re.escape(key)}( \([^)]*\))?: ", "", str(problem)) if key else str(problem)


def render(
    data: DashboardData, place: NavigationPlace, change: SettingsChange | None = None, saved: Sequence[str] = ()
) -> str:
    rows = data.settings()
    return page(
        place,
        "Settings",
        el("h1", "Settings"),
        _told(rows, saved),
        _forms(data, rows, place, change),
        el("h2", "Everything in force"),
        _tables(rows),
        section="settings",
    )


def _told(rows: Sequence[ViewValues], saved: Sequence[str]) -> Html | None:
    """What was just changed, with the values now in force."""
    named = [row for row in rows if row["key"] in saved]
    if not named:
        return None
    values = [[", " if n else "", el("code", f"{row['key']} = {row['value']}")] for n, row in enumerate(named)]
    return el("p", "Saved, and in force for the next request: ", values, ".", class_="saved", role="status")


def _forms(
    data: DashboardData, rows: Sequence[ViewValues], place: NavigationPlace, change: SettingsChange | None
) -> list[Child]:
    where = data.settings_file()
    if not where:
        told = "This gateway was started without settings files, so nothing can be changed here."
        return [el("p", told, class_="note")]
    known = {str(row["key"]): row for row in rows}
    policy = str(known["policy.name"]["value"])
    names = [policy, *(name for name in POLICIES if name != policy)]
    told = (
        "How conversations are brought into their window. A change holds from the next request on, without a restart."
    )
    return [
        el("p", "Changes are written to ", el("code", el("bdi", where)), ", beside its comments."),
        el("h2", "Chat"),
        el("p", told),
        [_policy_form(name, name == policy, known, place, change) for name in names],
        [
            [el("h2", title), _form(section, of_section(section), "Save", known, place, change)]
            for section, title in _SECTIONS.items()
        ],
    ]


def _policy_form(
    name: str, in_force: bool, known: Mapping[str, ViewValues], place: NavigationPlace, change: SettingsChange | None
) -> Html:
    """The settings of one policy; other policies are collapsed, and saving one switches to it."""
    fixed = _fixed(known["policy.name"]) if not in_force else ""
    button = "Save" if in_force else f"Switch to {name}"
    open = in_force or (change is not None and change.form == name)
    return el(
        "details",
        el("summary", el("b", name), " (in force)" if in_force else "", " ", el("span", _ABOUT[name], class_="quiet")),
        el("p", f"The policy {fixed}.", class_="note") if fixed else None,
        _form(name, of_policy(name), button, known, place, change, disabled=bool(fixed)),
        class_="panel",
        open=open,
    )


def _form(
    form: str,
    settings: Sequence[EditableSetting],
    button: str,
    known: Mapping[str, ViewValues],
    place: NavigationPlace,
    change: SettingsChange | None,
    *,
    disabled: bool = False,
) -> Html:
    mine = change if change is not None and change.form == form else None
    general = mine.problems.get("") if mine is not None else None
    return el(
        "form",
        el("input", type="hidden", name="form", value=form),
        el("p", f"Not saved. {general}", class_="problem", role="alert") if general else None,
        [_field(form, one, known.get(one.key), mine) for one in settings],
        el("p", el("button", button, type="submit", disabled=disabled)),
        method="post",
        action=f"{place.base}/settings",
        class_="settings",
    )


def _field(form: str, setting: EditableSetting, row: ViewValues | None, change: SettingsChange | None) -> Html:
    id = f"{form}-{setting.name}"
    problem = change.problems.get(setting.key) if change is not None else None
    fixed = _fixed(row) if row is not None else ""
    value = row["value"] if row is not None else setting.default
    typed = change.typed.get(setting.key) if change is not None else None
    default = "" if setting.default in (None, "", ()) else f" Default: {words.plain(setting.default)}."
    beside = [
        el("span", f"{setting.help.capitalize() if setting.help.islower() else _sentence(setting.help)}.{default}")
    ]
    if fixed:
        beside.append(el("span", f" It {fixed}."))
    if problem:
        beside.append(el("strong", f" Not saved: {problem}", class_="problem", role="alert"))
    shared: dict[str, Any] = {
        "id": id,
        "name": setting.name,
        "title": _sentence(setting.help),
        "aria_describedby": f"{id}-help",
        "aria_invalid": "true" if problem else None,
        "disabled": bool(fixed),
    }
    return el(
        "div",
        el("label", setting.label, " ", el("code", setting.name), for_=id),
        _input(setting, value, typed, shared),
        el("small", beside, id=f"{id}-help"),
        class_="field",
    )


def _input(setting: EditableSetting, value: Any, typed: str | None, shared: Mapping[str, Any]) -> Html:
    shown = typed if typed is not None else _shown(value)
    if setting.kind == "switch":
        return el("input", type="checkbox", value="true", checked=bool(value), **shared)
    if setting.kind == "choice":
        options = [el("option", one, value=one, selected=one == shown) for one in setting.choices]
        return el("select", options, **shared)
    if setting.kind == "list":
        return el("textarea", shown, rows=2, **shared)
    if setting.kind == "number":
        step = "1" if setting.whole else "any"
        return el("input", type="number", value=shown, min=setting.least, max=setting.most, step=step, **shared)
    return el("input", type="text", value=shown, **shared)


def _shown(value: Any) -> str:
    """A value as it is typed. Example: ("a", "b") -> "a\\nb" """
    if isinstance(value, (list, tuple)):
        return "\n".join(map(str, value))
    return "" if value is None else str(value)


def _fixed(row: ViewValues) -> str:
    """Why a value can't be changed here; empty if it can."""
    origin = str(row["origin"])
    if not origin.startswith(("environment", "argument")):
        return ""
    told = "an argument of the command" if origin == "argument" else f"the {origin}"
    return f"is set by {told}, which stands above the file"


def _sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _tables(rows: Sequence[ViewValues]) -> list[Child]:
    described = {key: text for key, _, _, text in reference()}
    changed = sum(row["origin"] != "default" for row in rows)
    told = f"{words.plural(len(rows), 'setting')}, {changed:,} of them set; the others have their defaults. "
    sections = groupby(rows, key=lambda row: str(row["key"]).partition(".")[0])
    return [
        el(
            "p",
            told,
            "Those without a form are changed in brim.toml, the environment or by arguments. Secrets are never here.",
        ),
        *(
            table(
                f"[{name}]",
                ["Setting", "Value", "Comes from"],
                [_row(row, described) for row in sorted(listed, key=lambda row: str(row["origin"]) == "default")],
                class_="fixed",
            )
            for name, listed in sections
        ),
    ]


def _row(row: ViewValues, described: dict[str, str]) -> Html:
    key = str(row["key"])
    text = described.get(key) or described.get(_NAME.sub(r"\1.NAME.", key), "")
    default = row["origin"] == "default"
    return el(
        "tr",
        el("th", el("code", key), el("small", text) if text else None, scope="row"),
        el("td", el("code", el("bdi", words.plain(row["value"])))),
        el("td", row["origin"] if default else el("b", row["origin"])),
    )
