"""The room for input, and what tokens cost."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.errors import BadInput
from brim.models import Model, Prices


def model(window: int, max_output: int | None = None, input_limit: int | None = None) -> Model:
    return Model("m", "p", window, max_output, "estimate", None, "openai_chat", "test", input_limit)


def test_the_largest_output_is_reserved() -> None:
    assert model(200_000, 64_000).max_input() == 136_000


def test_an_asked_for_reserve_is_what_is_reserved() -> None:
    assert model(200_000, 64_000).max_input(4_096) == 195_904
    assert model(200_000, 64_000).max_input(0) == 200_000


def test_without_a_known_largest_output_85_percent_is_input() -> None:
    assert model(100_000).max_input() == 85_000


def test_the_largest_output_never_takes_more_than_half_the_window() -> None:
    assert model(400_000, 272_000).max_input() == 200_000
    assert model(128_000, 128_000).max_input() == 64_000


def test_a_limit_on_the_input_holds_whatever_is_reserved() -> None:
    assert model(400_000, 128_000, 272_000).max_input() == 272_000
    assert model(400_000, 128_000, 272_000).max_input(1_000) == 272_000
    assert model(400_000, 128_000, 272_000).max_input(200_000) == 200_000


def test_a_reserve_beyond_the_window_leaves_nothing() -> None:
    assert model(8_192).max_input(10_000) == 0


def test_a_negative_reserve_is_refused() -> None:
    with pytest.raises(BadInput, match="reserve"):
        model(8_192).max_input(-1)


@given(st.integers(1, 10**7), st.none() | st.integers(1, 10**7), st.none() | st.integers(0, 10**7))
def test_input_and_reserve_always_fit_the_window(window: int, largest: int | None, reserve: int | None) -> None:
    room = model(window, largest).max_input(reserve)
    assert 0 <= room <= window
    if reserve is not None and reserve <= window:
        assert room + reserve <= window


def test_each_kind_of_token_has_its_price() -> None:
    prices = Prices(fresh=3.0, output=15.0, cached=0.3, written=3.75)
    assert prices.cost(1_000_000, 0, 0, 0) == 3.0
    assert prices.cost(cached=1_000_000) == pytest.approx(0.3)
    assert prices.cost(written=1_000_000) == 3.75
    assert prices.cost(1_000, 9_000, 2_000, 500) == pytest.approx(0.003 + 0.0027 + 0.0075 + 0.0075)


def test_unknown_cache_prices_are_those_of_fresh_input() -> None:
    assert Prices(fresh=2.0, output=8.0).cost(0, 1_000_000, 1_000_000, 0) == 4.0
