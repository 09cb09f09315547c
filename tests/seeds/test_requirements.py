"""The table of requirements is complete, and every test that it names exists."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.seeds.requirements import HELD, NOT_OURS

TESTS = Path(__file__).parent.parent


def test_every_requirement_is_held_by_a_test_or_is_not_ours() -> None:
    numbers = [*HELD, *NOT_OURS]
    assert sorted(numbers) == list(range(1, 191))


@pytest.mark.parametrize("place", sorted(set(HELD.values())))
def test_every_test_that_is_named_exists(place: str) -> None:
    path, _, name = place.partition("::")
    text = (TESTS / f"{path}.py").read_text(encoding="utf-8")
    assert re.search(rf"^(?:async )?def {name}\(", text, re.MULTILINE), place
