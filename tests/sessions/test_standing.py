"""What holds for good, and what was done once, outlive every compaction."""

from __future__ import annotations

import pytest

from bench import standing


@pytest.mark.parametrize("number", [0, 8, 15])
@pytest.mark.parametrize("budget", [1_000, 4_000])
def test_a_standing_instruction_is_in_every_request_of_a_chat(number: int, budget: int) -> None:
    found, every = standing.kept(standing.chat_requests(number, 25), standing.TOLD[number], budget)
    assert found == every == 25


@pytest.mark.parametrize("budget", [1_000, 2_000, 8_000])
def test_a_command_that_was_run_once_is_never_forgotten(budget: int) -> None:
    found, every = standing.kept(standing.agent_requests(0, 40), "deploy.sh prod-7", budget)
    assert found == every == 40
