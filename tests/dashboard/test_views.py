"""What single pages tell: live numbers, money, sessions, turns at any budget, models and settings."""

from __future__ import annotations

import json
import re
import time

import pytest

from brim.dashboard import contextmap, missing, words
from brim.dashboard.data import ViewValues

from .asking import Client, Seen
from .sample import Sample

SESSION = "/sessions/claude-code.3fa91c02"
TURN = f"{SESSION}/turns/14"


def figures(client: Client, path: str) -> dict[str, str]:
    """Names and values of a page's figures."""
    seen = client.get(path).seen
    values = [element.text for element in seen.all("span") if element.attributes.get("class") == "value"]
    return dict(zip([element.text for element in seen.all("dt")][-len(values) :], values, strict=True))


def test_the_home_page_tells_the_totals(client: Client, closed: Sample) -> None:
    told = figures(client, "/")
    live = closed.live()
    assert told["Requests"] == str(live["requests"])
    assert told["Overflows avoided"] == str(live["overflows_avoided"])
    assert told["Cache hits"] == f"{live['cache_hit_share']:.0%}"
    assert told["Saved, net"] == f"${live['saved_usd']:.2f}"
    assert told["Count error"].endswith("%")
    sentence = client.get("/").seen.by_id("sentence").text
    assert f"kept {live['overflows_avoided']} of {live['requests']} requests inside their models' windows" in sentence
    assert f"saved ${live['saved_usd']:.2f}" in sentence


def test_the_home_page_counts_what_its_filters_choose(client: Client, closed: Sample) -> None:
    mine = [row for row in closed.last if row["model"] == "gpt-4o"]
    assert figures(client, "/?model=gpt-4o")["Requests"] == str(len(mine))
    assert figures(client, "/?client=nobody")["Requests"] == "0"
    assert "In the last 7 days" in client.get("/?span=7d").seen.by_id("sentence").text
    assert "In the last 15 minutes" in client.get("/?span=nonsense").seen.by_id("sentence").text


def test_words_say_what_they_mean_where_they_stand(client: Client) -> None:
    seen = client.get("/").seen
    terms = [element for element in seen.all("a") if element.attributes.get("class") == "term"]
    places = {
        element.attributes["id"] for element in client.get("/glossary").seen.all("div") if "id" in element.attributes
    }
    assert len(terms) >= 5
    for word in terms:
        assert word.attributes["data-tip"] == word.attributes["aria-description"]
        assert word.attributes["href"].partition("#")[2] in places


def test_what_is_in_work_and_what_happened_lead_to_their_turns(client: Client, closed: Sample) -> None:
    seen = client.get("/").seen
    assert "1 request in flight" in seen.by_id("now").text
    links = {element.attributes["href"] for element in seen.all("a")}
    assert {f"/brim{SESSION}/turns/9", f"/brim{SESSION}"} <= links
    assert "Compaction" in seen.by_id("moments").text


def test_the_script_gets_the_parts_that_the_page_shows(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.time()
    monkeypatch.setattr(time, "time", lambda: now)
    seen = client.get("/").seen
    assert seen.by_id("main").attributes["data-live"] == "live.json?span=15m"
    parts = json.loads(client.get("/live.json?span=15m").text)["parts"]
    assert parts.keys() >= {"sentence", "now", "figures", "charts", "rows"}
    for id, html in parts.items():
        part = Seen()
        part.feed(f"<div>{html}</div>")
        assert part.elements[0].text == seen.by_id(id).text
    assert seen.by_id("summary").attributes["role"] == "status"


def test_many_who_watch_cost_as_much_as_one() -> None:
    class Counting(Sample):
        asked = 0

        def live(self, limit: int = 50) -> ViewValues:
            self.asked += 1
            return super().live(limit)

    data = Counting(turns=1)
    client = Client(data)
    bodies = {client.get("/live.json").text for _ in range(5)}
    assert len(bodies) == 1
    assert data.asked == 1


def test_turns_whose_layers_were_not_known_get_them() -> None:
    class Lazy(Sample):
        def session(self, id: str) -> ViewValues:
            found = super().session(id)
            return {**found, "turns": [{**turn, "layers": None} for turn in found["turns"]]}

    columns = Client(Lazy(turns=3)).get(SESSION).seen.all("rect")
    kinds = [element.attributes["class"] for element in columns if int(float(element.attributes["x"].rstrip("%"))) > 35]
    assert "l4" in kinds
    assert "l0" not in kinds


def test_layers_of_many_turns_are_asked_for_without_their_messages() -> None:
    class Counting(Sample):
        read = 0

        def session(self, id: str) -> ViewValues:
            found = super().session(id)
            return {**found, "turns": [{**turn, "layers": None} for turn in found["turns"]]}

        def turn(self, id: str, number: int) -> ViewValues:
            self.read += 1
            return super().turn(id, number)

    data = Counting(turns=6)
    seen = Client(data).get(SESSION).seen
    assert data.read == 1
    assert "l0" not in {element.attributes["class"] for element in seen.all("rect")}


def test_turns_without_layers_are_explained() -> None:
    class Forgetful(Sample):
        def session(self, id: str) -> ViewValues:
            found = super().session(id)
            return {**found, "turns": [{**turn, "layers": None} for turn in found["turns"]]}

        def layers(self, id: str, number: int) -> None:  # type: ignore[override]
            return None

    assert "still being worked out" in Client(Forgetful(turns=2)).get(SESSION).text
    assert "still being worked out" not in Client(Sample(turns=2)).get(SESSION).text


def test_a_loss_is_called_a_loss() -> None:
    data = Sample(turns=2)
    data.last[:] = [{**row, "saved_usd": -0.25} for row in data.last]
    client = Client(data)
    assert figures(client, "/")["Saved, net"].startswith("−$")
    assert "more in cache writes than they saved" in client.get("/").seen.by_id("sentence").text


def test_pages_without_any_request_say_so() -> None:
    data = Sample(turns=2)
    data.last.clear()
    data.found.clear()
    client = Client(data)
    assert "No request has come yet" in client.get("/").text
    assert "No session yet" in client.get("/sessions").text
    assert "No model has been used" in client.get("/models").text


def test_sessions_are_found_by_a_word(client: Client) -> None:
    seen = client.get("/sessions?query=gpt").seen
    assert len(seen.all("tbody")) == 1
    assert "claude-c" not in seen.by_id("main").text
    assert seen.by_id("query").attributes["value"] == "gpt"
    assert "No session matches" in client.get("/sessions?query=nobody%3Cb%3E").text


def test_a_session_shows_its_window_over_the_turns_and_what_happened(client: Client, closed: Sample) -> None:
    seen = client.get(SESSION).seen
    bars = {element.attributes["class"]: element.attributes["aria-label"] for element in seen.all("svg")}
    last = closed.found["claude-code.3fa91c02"]["turns"][-1]
    assert "14 turns" in bars["columns"]
    titles = [element.text for element in seen.all("title")[1:]]
    assert titles[13] == (
        f"Turn 14: {last['tokens_before']:,} tokens as it came, {last['tokens_after']:,} as sent, "
        f"{last['tokens_after'] * 100 // last['limit']}% of the limit ({words.level(last['level'])})"
    )
    assert "compacted" in titles[8]
    assert "Compaction" in seen.by_id("main").text
    assert "Instructions" in bars["cells"]


def test_levels_are_told_in_words_and_by_class(client: Client, closed: Sample) -> None:
    seen = client.get(SESSION).seen
    shown = [element for element in seen.all("span") if element.attributes.get("class", "").startswith("used ")]
    levels = [row["level"] for row in reversed(closed.found["claude-code.3fa91c02"]["turns"])]
    assert len(shown) == len(levels)
    assert {"high", "full"} <= set(levels)
    for element, name in zip(shown, levels, strict=True):
        assert element.attributes["class"] == f"used {name}"
        assert (name in element.text) == (name != "ok")


def test_a_session_lists_its_summaries_and_its_archive(client: Client, reader: Client, shown: Sample) -> None:
    handle = next(iter(shown.archive))
    summaries = shown.found["claude-code.3fa91c02"]["summaries"]
    page = reader.get(SESSION).seen
    assert [element.text for element in page.all("pre")] == [entry["text"] for entry in summaries]
    archived = reader.get(f"{SESSION}/archive/{handle}")
    assert archived.seen.all("pre")[0].text == shown.archive[handle]
    closed_page = client.get(SESSION).seen
    assert closed_page.all("pre") == []
    text = closed_page.by_id("main").text
    assert handle in text
    assert "messages 2–14 · 212 tokens · 62ada855c0ffee00" in text
    assert "before message 41 · 96 tokens" in text
    assert client.get(f"{SESSION}/archive/{handle}").seen.all("pre") == []


def test_every_item_of_a_turn_has_its_form_and_reason(client: Client, closed: Sample) -> None:
    seen = client.get(TURN).seen
    items = [
        element.text for element in seen.all("details") if "item" in (element.attributes.get("class") or "").split()
    ]
    turn = closed.turn("claude-code.3fa91c02", 14)
    assert len(items) >= len(turn["before"])
    for decision in turn["report"]["decisions"]:
        assert any(decision["reason"] in item for item in items)


def test_the_map_adds_up_to_what_came_and_what_was_sent(client: Client, closed: Sample) -> None:
    turn = closed.turn("claude-code.3fa91c02", 14)
    found = contextmap.build(turn, turn["after"], turn["tokens_after"])
    assert found is not None
    assert sum(found.sums("after").values()) == turn["limit"]
    assert sum(found.sums("before").values()) == max(turn["tokens_before"], turn["limit"])
    cells = [element for element in client.get(TURN).seen.all("svg") if element.attributes["class"] == "cells"]
    assert [element.attributes["aria-label"].partition(":")[0] for element in cells] == ["As it came", "As sent"]


def test_a_text_that_is_missing_is_found_with_its_reason(reader: Client, shown: Sample) -> None:
    turn = shown.turn("claude-code.3fa91c02", 14)
    sent = " ".join(message["text"] for message in turn["after"])
    gone = next(
        word for message in turn["before"] for word in re.findall(r"[0-9a-f]{5,}", message["text"]) if word not in sent
    )
    seen = reader.get(f"{TURN}?why={gone}").seen
    assert "It came, and was not sent" in seen.by_id("missing").text
    assert "Left out of Message" in seen.by_id("missing").text
    kept = turn["after"][-1]["text"][:20].replace(" ", "+")
    assert "It is not missing" in reader.get(f"{TURN}?why={kept}").seen.by_id("missing").text
    assert "did not send this text" in reader.get(f"{TURN}?why=nobody-said-so").seen.by_id("missing").text


def test_the_sources_of_an_answer_are_the_messages_that_hold_its_words(shown: Sample) -> None:
    turn = shown.turn("claude-code.3fa91c02", 14)
    found = contextmap.build(turn, turn["after"], turn["tokens_after"])
    assert found is not None
    newest = next(message for message in reversed(turn["after"]) if message["answers"])
    commit = re.findall(r"[0-9a-f]{7,}", newest["text"])[-1]
    told = missing.sources(found, f"It was {commit} that failed.")
    assert told is not None
    assert commit in told
    assert missing.sources(found, "Yes.") is None


def test_an_item_shows_its_text_when_it_is_asked_for(client: Client, reader: Client, shown: Sample) -> None:
    text = shown.turn("claude-code.3fa91c02", 14)["before"][1]["text"]
    page = reader.get(f"{TURN}/items/item-1").seen
    assert text in page.by_id("main").text
    part = reader.get(f"{TURN}/items/item-1?fragment=1")
    assert text in part.seen.elements[0].text
    assert "<html" not in part.text
    assert text not in client.get(f"{TURN}/items/item-1").text
    assert reader.get(f"{TURN}/items/item-999").status == 404


def test_a_turn_can_be_planned_by_another_policy(reader: Client) -> None:
    seen = reader.get(f"{TURN}?budget=4000&policy=rolling").seen
    assert "Policy: rolling" in seen.by_id("told-plan").text
    chosen = [element for element in seen.all("option") if "selected" in element.attributes]
    assert [element.text for element in chosen] == ["rolling"]


@pytest.mark.parametrize("path", [f"{TURN}?budget=4000", f"{TURN}/plan?budget=4000"])
def test_a_turn_can_be_planned_at_another_budget(client: Client, closed: Sample, path: str) -> None:
    seen = client.get(path).seen
    planned = closed.planned_at("claude-code.3fa91c02", 14, 4_000)
    assert seen.all("h3")[0].text == f"Tried at 4,000 tokens: {planned['report']['after']:,} used"
    assert planned["report"]["decisions"][0]["reason"] in seen.by_id("plan").text


def test_the_form_sends_the_budget_without_a_script(client: Client) -> None:
    seen = client.get(f"{TURN}?budget=4000").seen
    form, field = seen.by_id("try-budget"), seen.by_id("budget")
    assert (form.attributes["method"], form.attributes["action"]) == ("get", f"/brim{TURN}")
    assert (field.attributes["name"], field.attributes["value"]) == ("budget", "4000")
    assert "hidden" in seen.by_id("slider-box").attributes


@pytest.mark.parametrize(
    ("budget", "told"),
    [("30", "What must stay needs"), ("-1", "whole number"), ("x", "whole number"), ("9" * 30, "whole number")],
)
def test_a_budget_that_cannot_be_is_refused_in_words(client: Client, budget: str, told: str) -> None:
    got = client.get(f"{TURN}?budget={budget}")
    alerts = [element.text for element in got.seen.elements if element.attributes.get("role") == "alert"]
    assert got.status == 422
    assert told in alerts[0]


def test_changes_are_side_by_side_and_marked_by_elements(reader: Client, shown: Sample) -> None:
    turn = shown.turn("claude-code.3fa91c02", 14)
    found = contextmap.build(turn, turn["after"], turn["tokens_after"])
    assert found is not None
    changed = next(block.key for block in found.blocks if block.pair.status == "changed")
    seen = reader.get(f"{TURN}/items/{changed}").seen
    tables = [element for element in seen.all("table") if element.attributes.get("class") == "diff"]
    assert len(tables) == 1
    assert "As it cameAs sent" in tables[0].text
    assert {element.text for element in seen.all("td") if element.attributes.get("class") == "out"} == {
        element.text for element in seen.all("del")
    }
    assert {element.text for element in seen.all("td") if element.attributes.get("class") == "in"} == {
        element.text for element in seen.all("ins")
    }


def test_changes_without_content_are_told_by_digest_and_size(client: Client, closed: Sample) -> None:
    text = client.get(TURN).seen.by_id("plan").text
    turn = closed.turn("claude-code.3fa91c02", 14)
    kept = {message["digest"] for message in turn["after"]}
    gone = [message for message in turn["before"] if message["digest"] not in kept]
    assert gone
    for message in gone:
        assert message["digest"] in text


def test_a_turn_that_passed_as_it_was_says_so(client: Client) -> None:
    assert "passed it on byte for byte" in client.get(f"{SESSION}/turns/1").text


@pytest.mark.parametrize(
    "path", ["/sessions/none", f"{SESSION}/turns/99", f"{SESSION}/archive/brim:00", "/sessions/a%2Fb"]
)
def test_what_is_not_there_is_a_page_that_says_so(client: Client, path: str) -> None:
    got = client.get(path)
    assert got.status == 404
    assert got.seen.all("h1")[0].text == "Not found"


def test_a_turn_leads_to_its_neighbours_and_no_further(client: Client) -> None:
    links = [link.text for link in client.get(TURN).seen.all("a")]
    assert "Earlier turn" in links
    assert "Later turn" not in links
    links = [link.text for link in client.get(f"{SESSION}/turns/1").seen.all("a")]
    assert "Later turn" in links
    assert "Earlier turn" not in links


def test_a_turn_whose_content_is_gone_still_has_its_numbers() -> None:
    class Forgetful(Sample):
        def turn(self, id: str, number: int) -> ViewValues:
            return {**super().turn(id, number), "report": None, "before": None, "after": None}

    client = Client(Forgetful(turns=3))
    got = client.get(f"{SESSION}/turns/3?budget=500")
    assert got.status == 200
    assert "have expired" in got.text
    assert "try-budget" not in got.text
    assert "no longer in memory" in client.get(SESSION).text


def test_models_show_windows_margins_and_how_errors_spread(client: Client, closed: Sample) -> None:
    seen = client.get("/models").seen
    spread = [element.attributes["aria-label"] for element in seen.all("svg")]
    errors = [row["error"] for row in closed.last if row["model"].startswith("claude")]
    exact = sum(abs(error) < 0.0005 for error in errors)
    assert f"exact {exact}" in spread[0]
    assert f"under by less than 1% {sum(-0.01 <= error < -0.0005 for error in errors)}" in spread[0]
    text = seen.by_id("main").text
    assert "200,000" in text
    assert "3 / 0.3 / 3.75 / 15" in text


def test_settings_show_every_value_with_its_origin(client: Client, closed: Sample) -> None:
    rows = [element.text for element in client.get("/settings").seen.all("tr")]
    for row in closed.settings():
        assert any(row["key"] in text and text.endswith(row["origin"]) for text in rows)
    assert any("gateway.port" in text and "9000" in text and "argument" in text for text in rows)
