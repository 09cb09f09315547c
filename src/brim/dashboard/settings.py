"""The settings page: what is in force, and where it comes from."""

from __future__ import annotations

import re
from itertools import groupby

from brim.dashboard import words
from brim.dashboard.data import DashboardData, ViewValues
from brim.dashboard.html import Html, el, table
from brim.dashboard.page import NavigationPlace, page
from brim.settings import reference
from brim.settings.schema import NAMED

_NAME = re.compile(rf"^({'|'.join(NAMED)})\..*\.(?=[a-z_]+$)")


def render(data: DashboardData, place: NavigationPlace) -> str:
    described = {key: text for key, _, _, text in reference()}
    rows = data.settings()
    sections = groupby(rows, key=lambda row: str(row["key"]).partition(".")[0])
    changed = sum(row["origin"] != "default" for row in rows)
    told = f"{words.plural(len(rows), 'setting')}, {changed:,} of them set; the others have their defaults. "
    tables = [
        table(
            f"[{name}]",
            ["Setting", "Value", "Comes from"],
            [_row(row, described) for row in sorted(listed, key=lambda row: str(row["origin"]) == "default")],
            class_="fixed",
        )
        for name, listed in sections
    ]
    return page(
        place,
        "Settings",
        el("h1", "Settings"),
        el("p", told, "Read only: change them in brim.toml, the environment or by arguments. Secrets are never here."),
        tables,
        section="settings",
    )


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
