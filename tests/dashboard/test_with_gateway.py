"""The dashboard over a real gateway: what the gateway tells has the shape that the pages read."""

from __future__ import annotations

import pytest

from brim.dashboard.data import DashboardData
from tests.gateway.conftest import Running, Start, fake, long_chat, loop, start

from .asking import Client

__all__ = ["fake", "loop", "start"]


@pytest.fixture
def running(start: Start) -> Running:
    made = start()
    made.chat({"messages": long_chat(30)}, x_brim_budget="6000", x_brim_session="abc")
    made.chat({"messages": [{"role": "user", "content": "a question of its own"}]})
    made.settled()
    return made


@pytest.fixture
def views(running: Running) -> DashboardData:
    return running.gateway.views


def test_every_page_can_be_made_from_what_a_gateway_knows(views: DashboardData) -> None:
    client = Client(views)
    for path in ("/", "/live.json", "/sessions", "/models", "/settings"):
        assert client.get(path).status == 200
    for session in views.sessions():
        assert client.get(f"/sessions/{session['id']}").status == 200
        assert client.get(f"/sessions/{session['id']}/turns/1").status == 200


def test_a_fitted_turn_shows_what_was_changed_and_can_be_planned_again(views: DashboardData) -> None:
    client = Client(views)
    session = next(row["id"] for row in views.sessions() if "~abc." in row["id"])
    plan = client.get(f"/sessions/{session}/turns/1").seen.by_id("plan").text
    assert "characters" in plan
    assert "overflow avoided" in client.get("/").text
    tried = client.get(f"/sessions/{session}/turns/1?budget=3000")
    assert tried.status == 200
    assert "Tried at 3,000 tokens" in tried.text


def test_a_gateway_keeps_content_off_the_pages_until_told(start: Start) -> None:
    for allowed in (False, True):
        made = start(gateway={"log_content": allowed})
        made.chat({"messages": long_chat(30)}, x_brim_budget="3000")
        made.settled()
        views = made.gateway.views
        page = Client(views).get(f"/sessions/{views.sessions()[0]['id']}/turns/1")
        assert ("Question 5: " in page.text) == allowed
