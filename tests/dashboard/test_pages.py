"""What every page has: titles, structure, labels, a policy, nothing remote, and content only as text."""

from __future__ import annotations

import re

import pytest

from brim.dashboard.app import STATIC

from .asking import Client, Seen
from .sample import HOSTILE, Sample

SESSION = "/sessions/claude-code.3fa91c02"
TURN = f"{SESSION}/turns/14"
PAGES = {
    "/": "Home · Brim",
    "/sessions": "Sessions · Brim",
    SESSION: "Session claude-code · Brim",
    TURN: "Turn 14 of claude-code · Brim",
    f"{TURN}?budget=4000": "Turn 14 of claude-code · Brim",
    "/models": "Models · Brim",
    "/settings": "Settings · Brim",
    "/glossary": "Glossary · Brim",
    "/nowhere": "Not found · Brim",
}


def labelled(seen: Seen) -> list[str]:
    """The ids of fields that have a label."""
    return [element.attributes.get("for", "") for element in seen.all("label")]


@pytest.mark.parametrize("path", PAGES)
def test_a_page_has_its_title_one_heading_and_closed_elements(client: Client, path: str) -> None:
    got = client.get(path)
    seen = got.seen
    assert got.status == (404 if path == "/nowhere" else 200)
    assert seen.all("title")[0].text == PAGES[path]
    assert len(seen.all("h1")) == 1
    assert seen.open == []
    assert seen.all("html")[0].attributes["lang"] == "en"


@pytest.mark.parametrize("path", PAGES)
def test_a_page_can_be_used_without_a_mouse_or_a_screen(client: Client, path: str) -> None:
    seen = client.get(path).seen
    assert seen.all("a")[0].attributes["href"] == "#main"
    assert seen.by_id("main").name == "main"
    tables, captions = seen.all("table"), seen.all("caption")
    assert len(captions) == len(tables)
    assert all(caption.text.strip() for caption in captions)
    assert all("scope" in head.attributes for head in seen.all("th"))
    for field in seen.all("input"):
        kind = field.attributes["type"]
        assert kind == "hidden" or "aria-label" in field.attributes or field.attributes["id"] in labelled(seen)
    for picture in seen.all("svg"):
        # One whose columns are links is a group: what is inside an image cannot be reached.
        if "aria-hidden" not in picture.attributes:
            assert picture.attributes["role"] in ("group", "img")
            assert picture.attributes["aria-label"]
    ids = [element.attributes["id"] for element in seen.elements if "id" in element.attributes]
    assert len(ids) == len(set(ids))


@pytest.mark.parametrize("path", [*PAGES, "/live.json", "/static/brim.css", f"{TURN}/plan?budget=4000"])
def test_the_policy_allows_nothing_inline_and_nothing_remote(client: Client, path: str) -> None:
    headers = client.get(path).headers
    policy = dict(part.strip().split(" ", 1) for part in headers["content-security-policy"].split(";"))
    assert policy["default-src"] == policy["base-uri"] == policy["frame-ancestors"] == "'none'"
    assert {policy[name] for name in ("script-src", "style-src", "connect-src", "form-action")} == {"'self'"}
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "same-origin"  # forms tell where they come from, other sites are told nothing


@pytest.mark.parametrize("path", PAGES)
def test_pages_hold_no_inline_code_and_only_their_own_addresses(reader: Client, path: str) -> None:
    for element in reader.get(path).seen.elements:
        assert "style" not in element.attributes
        assert not [name for name in element.attributes if name.startswith("on")]
        assert element.name != "style"
        if element.name == "script":
            assert element.attributes["src"].startswith("/brim/static/")
        for name in ("href", "src", "action", "data-fragment", "data-load"):
            assert re.match(r"/brim/|#(main|item-\d+)$", element.attributes.get(name, "#main"))


@pytest.mark.parametrize("path", [*PAGES, f"{TURN}/plan"])
def test_hostile_content_is_text(reader: Client, path: str) -> None:
    got = reader.get(path)
    assert HOSTILE not in got.text
    assert all(not element.text for element in got.seen.all("script"))
    if path in (TURN, "/sessions"):
        assert HOSTILE in got.seen.by_id("main").text


def test_rows_for_the_script_are_escaped_too(shown: Sample) -> None:
    row = {**shown.last[-1], "model": HOSTILE, "note": '"><img src=x>', "outcome": "failed", "status": 500}
    shown.last.append(row)
    try:
        rows = Client(shown).get("/live.json").text
    finally:
        shown.last.pop()
    assert "&lt;script&gt;" in rows
    assert "<img" not in rows


@pytest.mark.parametrize("path", PAGES)
def test_no_content_is_shown_unless_the_settings_say_so(client: Client, path: str) -> None:
    text = client.get(path).seen.by_id("main").text
    for content in ("Which builds of release", "hotfix/login", "careful release engineer", "it was retried"):
        assert content not in text


@pytest.mark.parametrize("path", [SESSION, TURN])
def test_where_content_is_missing_the_page_says_how_to_see_it(client: Client, reader: Client, path: str) -> None:
    assert "log_content = true" in client.get(path).seen.by_id("main").text
    assert "log_content = true" not in reader.get(path).seen.by_id("main").text


def test_static_files_are_small_and_served_by_name_only(client: Client) -> None:
    assert len(STATIC["brim.css"][0]) < 20_000
    assert len(STATIC["brim.js"][0]) < 12_000
    assert client.get("/static/brim.css").headers["content-type"].startswith("text/css")
    for path in ("/static/app.py", "/static/..%2Fapp.py", "/static/../app.py"):
        assert client.get(path).status == 404


@pytest.mark.parametrize("name", sorted(STATIC))
def test_static_files_name_no_other_host(name: str) -> None:
    text = STATIC[name][0].decode().replace("http://www.w3.org/2000/svg", "")
    assert "http" not in text
    assert "@import" not in text
    assert "url(" not in text


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE"])
@pytest.mark.parametrize("path", [path for path in PAGES if path != "/nowhere"])
def test_nothing_but_settings_can_be_changed_and_only_by_a_form(client: Client, method: str, path: str) -> None:
    assert client.get(path, method).status == (422 if (method, path) == ("POST", "/settings") else 405)


def test_links_follow_where_the_dashboard_is_mounted(closed: Sample) -> None:
    seen = Client(closed, root="/tools/brim").get("/sessions").seen
    assert seen.all("a")[1].attributes["href"] == "/tools/brim/"
    assert "/tools/brim/sessions/claude-code.3fa91c02" in [link.attributes["href"] for link in seen.all("a")]


def test_lone_surrogates_do_not_break_a_page(shown: Sample) -> None:
    data = Sample(content=True, turns=1)
    data.found["claude-code.3fa91c02"]["client"] = "half \ud83d of a pair"
    assert "half ? of a pair" in Client(data).get(SESSION).text
