"""What providers said prompts took: kept by prefix, shared out, learnt from, and never trusted below what was seen."""

from __future__ import annotations

from typing import Any

import pytest

import brim
from brim import apis, models
from brim.models import Model
from brim.stores.inmemory import InMemoryStore
from brim.tokens.actuals import Analytics, InMemory, UsageRecord, shared_out
from brim.tokens.calibration import MARGINS, Calibration
from brim.tokens.counter import Counter
from tests.conversations import PNG
from tests.hidden_provider import play, providers

GPT = models.find("gpt-4o")
ACME = Model("acme-1", "acme", 100_000, None, "estimate", None, "openai_chat", "test")
BOLT = Model("bolt-1", "bolt", 100_000, None, "estimate", None, "openai_chat", "test")


def chat(*texts: str) -> list[dict[str, Any]]:
    """A conversation in which user and assistant take turns."""
    return [{"role": ("user", "assistant")[n % 2], "content": text} for n, text in enumerate(texts)]


def words(n: int, seed: str = "word") -> str:
    return " ".join(f"{seed}{k}" for k in range(n))


def recorded(actuals: brim.Actuals, messages: Any, tokens: int, model: Model = GPT, **fields: Any) -> None:
    body = {"model": model.name, "messages": messages, **fields}
    Counter(model, "openai_chat", actuals).record(apis.parse(body, "openai_chat"), tokens)


def counted(actuals: brim.Actuals | None, messages: Any, model: Model = GPT, **fields: Any) -> brim.Count:
    return brim.count(
        {"model": model.name, "messages": messages, **fields}, model=model, api="openai_chat", actuals=actuals
    )


def plain(messages: Any) -> int:
    return brim.count(messages, model="gpt-4o").tokens


# -- prefixes


def test_a_request_that_was_charged_before_takes_what_it_took() -> None:
    actuals = brim.Actuals()
    recorded(actuals, chat(words(300)), plain(chat(words(300))) + 21)
    found = counted(actuals, chat(words(300)))
    assert (found.tokens, found.source) == (plain(chat(words(300))) + 21, "actual")
    assert found.upper == pytest.approx(found.tokens * 1.02, abs=1)


def test_the_longest_known_prefix_counts_and_only_the_rest_is_tokenized() -> None:
    actuals = brim.Actuals()
    start, longer = chat("a question"), chat("a question", "an answer", "and more", "yes", words(40))
    recorded(actuals, start, plain(start) + 7)
    recorded(actuals, longer[:3], plain(longer[:3]) + 9)
    found = counted(actuals, longer)
    assert found.source == "actual"
    assert found.tokens == plain(longer) + 9


def test_an_edit_keeps_everything_before_it() -> None:
    actuals = brim.Actuals()
    talk = chat("one", "two", "three", "four", "five")
    for end, more in ((1, 5), (3, 10), (5, 20)):
        recorded(actuals, talk[:end], plain(talk[:end]) + more)
    edited = chat("one", "two", "three", "four", "other words instead")
    # Its answer "four" was charged together with "five", so it has a share; only the edited message is tokenized.
    whole = plain(talk) - plain(talk[:3]) + 10
    share = shared_out(whole, [plain(chat("four")), plain(chat("five"))])[0]
    assert counted(actuals, edited).tokens == plain(talk[:3]) + 10 + share + plain(edited) - plain(edited[:4])
    assert counted(actuals, talk[:3]).tokens == plain(talk[:3]) + 10


def test_messages_after_an_edit_keep_what_they_took() -> None:
    actuals = brim.Actuals()
    talk = chat("one", words(50, "a"), "two", words(70, "b"), "three")
    for end in (1, 3, 5):
        recorded(actuals, talk[:end], round(1.1 * plain(talk[:end])))
    edited = [{"role": "user", "content": "uno"}, *talk[1:]]
    assert counted(actuals, edited).tokens == pytest.approx(1.1 * plain(edited), rel=0.02)


def test_a_branch_starts_from_the_last_number_they_share() -> None:
    actuals = brim.Actuals()
    start, first, branch = chat("one"), chat("one", "two", "three"), chat("one", "zwei", "drei")
    recorded(actuals, start, plain(start) + 6)
    recorded(actuals, first, plain(first) + 8)
    assert counted(actuals, branch).tokens == plain(branch) + 6
    recorded(actuals, branch, plain(branch) + 9)
    assert counted(actuals, branch).tokens == plain(branch) + 9
    assert counted(actuals, first).tokens == plain(first) + 8


def test_other_tools_or_settings_are_another_prompt() -> None:
    actuals = brim.Actuals()
    recorded(actuals, chat("hello"), 20)
    tools = [{"type": "function", "function": {"name": "look_up", "parameters": {"type": "object"}}}]
    schema = {"type": "json_schema", "json_schema": {"name": "x", "schema": {"type": "object"}}}
    assert counted(actuals, chat("hello"), tools=tools).source == "exact"
    assert counted(actuals, chat("hello"), response_format=schema).source == "exact"
    assert counted(actuals, chat("hello"), tool_choice="auto", temperature=0.2).tokens == 20


# -- shares


def test_a_total_is_shared_out_in_proportion_and_adds_up() -> None:
    assert shared_out(100, [10, 30, 60]) == [10, 30, 60]
    shares = shared_out(1_001, [7, 7, 7, 100, 3])
    assert sum(shares) == 1_001
    assert max(shares) == shares[3]
    assert shared_out(-5, [1, 2]) == []


def test_a_message_takes_its_share_in_another_conversation_too() -> None:
    actuals = brim.Actuals()
    text = words(100)
    recorded(actuals, chat(text), round(1.1 * plain(chat(text))))
    prompt = [{"role": "system", "content": "Be brief."}, *chat(text)]
    assert counted(actuals, prompt).tokens == pytest.approx(1.1 * plain(prompt), rel=0.02)


# -- families


def test_models_of_one_vocabulary_share_their_numbers_and_others_do_not() -> None:
    actuals = brim.Actuals()
    recorded(actuals, chat("hello"), 17, GPT)
    assert counted(actuals, chat("hello"), models.find("gpt-4o-mini")).tokens == 17
    assert counted(actuals, chat("hello"), models.find("gpt-4")).tokens == 8
    assert counted(actuals, chat("hello"), models.find("claude-sonnet-4-5")).source == "reconstructed"


def test_a_prompt_with_an_image_is_charged_by_model() -> None:
    actuals = brim.Actuals()
    picture = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}}
    messages = [{"role": "user", "content": [{"type": "text", "text": "What is this?"}, picture]}]
    recorded(actuals, messages, 270, GPT)
    assert counted(actuals, messages, GPT).tokens == 270
    assert counted(actuals, messages, models.find("gpt-4o-mini")).tokens > 2_000


def charged(actuals: brim.Actuals, reports: int, share: float, model: Model = ACME) -> None:
    """Report requests of an unknown vocabulary at a share of what is estimated."""
    for n in range(reports):
        messages = chat(words(300, f"w{chr(97 + n % 26)}"))
        recorded(actuals, messages, round(share * counted(None, messages, model).tokens), model)


def test_models_of_unknown_vocabularies_learn_each_for_itself() -> None:
    actuals = brim.Actuals()
    before = counted(actuals, chat(words(200)), BOLT).tokens
    charged(actuals, 5, 0.7)
    assert counted(actuals, chat(words(200)), BOLT).tokens == before
    assert counted(actuals, chat(words(200)), ACME).tokens < before


# -- the factor


def test_three_reports_have_to_agree_before_a_factor_is_learnt() -> None:
    other = chat(words(300, "other"))
    raw = counted(None, other, ACME)
    for reports in (1, 2):
        actuals = brim.Actuals()
        charged(actuals, reports, 0.7)
        assert (counted(actuals, other, ACME).tokens, counted(actuals, other, ACME).upper) == (raw.tokens, raw.upper)
    charged(actuals, 3, 0.7)
    assert counted(actuals, other, ACME).tokens < raw.tokens


def test_the_factor_of_an_estimate_moves_three_tenths_of_the_way() -> None:
    other = chat(words(300, "other"))
    raw = counted(None, other, ACME).tokens
    for reports in (3, 4, 8):
        actuals = brim.Actuals()
        charged(actuals, reports, 0.7)
        factor = 0.7 + 0.3 * 0.7**reports
        assert counted(actuals, other, ACME).tokens == pytest.approx(factor * raw, rel=0.01)


def test_a_family_with_an_exact_tokenizer_has_no_factor() -> None:
    actuals = brim.Actuals()
    for n in range(4):
        text = chat(words(300, f"w{n}"))
        recorded(actuals, text, round(1.1 * plain(text)))
    other = chat(words(300, "other"))
    assert counted(actuals, other).tokens == plain(other)
    assert counted(actuals, other).upper >= 1.1 * plain(other)


# -- margins


@pytest.mark.parametrize(("source", "share"), [("actual", 0.02), ("exact", 0.05), ("estimated", 0.10)])
def test_margins_start_at_two_five_and_ten_percent(source: Any, share: float) -> None:
    assert MARGINS[source] == share == Calibration().margin(source)


def test_a_margin_tightens_while_counts_are_right() -> None:
    learnt = Calibration()
    seen = [learnt.upper("exact", 10_000)]
    for n in range(30):
        learnt.learn_whole((1_000 * (n + 1), None), 10, 1_000 * (n + 1))
        seen.append(learnt.upper("exact", 10_000))
    assert seen == sorted(seen, reverse=True)
    assert seen[0] >= 10_500
    assert seen[-1] <= 10_100


def test_a_bound_covers_what_reports_agree_on() -> None:
    learnt = Calibration()
    for n in range(60):
        learnt.learn_whole((10_000 + n, None), 5, round((10_000 + n) * (1.06 if n % 5 == 0 else 1.0)))
    assert learnt.upper("exact", 10_000) >= 10_600


def test_errors_that_are_not_seen_any_more_are_forgotten() -> None:
    learnt = Calibration()
    for _ in range(10):
        learnt.learn_whole((10_000, None), 5, 10_300)
    for _ in range(100):
        learnt.learn_whole((10_000, None), 5, 10_000)
    assert learnt.upper("exact", 10_000) <= 10_100
    assert len(learnt.wholes.seen) == 64


def test_an_error_may_be_a_share_or_so_many_tokens_where_no_such_size_was_seen() -> None:
    learnt = Calibration()
    learnt.learn_whole((1_000, None), 5, 1_040)
    assert learnt.upper("exact", 100_000) >= 104_000
    assert learnt.upper("exact", 100) >= 140


def test_sizes_between_two_that_were_seen_follow_them() -> None:
    learnt = Calibration()
    for n in range(40):
        learnt.learn_rest((30, None), 1, 36)
        learnt.learn_rest((3_000 + n, None), 1, 3_006 + n)
    assert 1_006 <= learnt.upper_rest("exact", (1_000, None), 1, 10_000) <= 1_035


def test_the_bound_of_a_number_that_the_provider_changed_covers_both() -> None:
    actuals, text = brim.Actuals(), chat(words(300))
    size = plain(text)
    for tokens in (size, size + 40, *[size] * 20):
        recorded(actuals, text, tokens)
    assert counted(actuals, text).upper >= size + 40


# -- stores


def test_an_in_memory_store_forgets_what_was_not_used_for_long() -> None:
    store = InMemory(limit=100)
    for n in range(1_000):
        store.put_actual(b"%d" % n, n)
        store.get_actual(b"0")
    assert len(store) <= 100
    assert store.get_actual(b"0") == 0
    assert store.get_actual(b"500") is None
    assert store.get_actual(b"999") == 999


@pytest.mark.parametrize("make", [InMemory, InMemoryStore])
def test_numbers_and_what_was_learnt_outlive_their_process_in_a_store(make: Any) -> None:
    store = make()
    first = brim.Actuals(store)
    charged(first, 90, 0.7)
    recorded(first, chat(words(200)), 700, ACME)
    recorded(first, chat(words(200), "yes", words(20)), 780, ACME)
    later = brim.Actuals(store)
    assert counted(later, chat(words(200)), ACME).tokens == 700
    new = chat(words(100, "new"))
    assert counted(later, new, ACME) == counted(first, new, ACME)
    assert later.calibration("estimate/acme-1").learnt == first.calibration("estimate/acme-1").learnt


def test_errors_seen_by_an_earlier_process_are_still_covered() -> None:
    store = InMemory()
    first = brim.Actuals(store)
    for n in range(5):
        text = chat(words(300, f"w{n}"))
        recorded(first, text, round(1.1 * plain(text)))
    new = chat(words(400, "new"))
    assert counted(brim.Actuals(store), new).upper >= 1.1 * plain(new)


def test_a_vocabulary_can_be_forgotten_also_by_another_process() -> None:
    store = InMemory()
    actuals, other_scope = brim.Actuals(store, "upstream"), brim.Actuals(store, "another")
    for known in (actuals, other_scope):
        charged(known, 10, 0.7)
    text = chat(words(300, "wa"))
    brim.Actuals(store).forget("estimate/acme-1")
    for known in (brim.Actuals(store, "upstream"), brim.Actuals(store, "another")):
        assert counted(known, text, ACME) == counted(None, text, ACME)
    actuals.forget("estimate/acme-1")
    assert counted(actuals, text, ACME) == counted(None, text, ACME)
    charged(actuals, 10, 0.7)
    assert counted(actuals, text, ACME).source == "actual"


def test_what_one_scope_learnt_is_not_used_in_another() -> None:
    store = InMemory()
    charged(brim.Actuals(store, "upstream/alice"), 10, 0.7)
    text = chat(words(300, "wa"))
    assert counted(brim.Actuals(store, "upstream/bob"), text, ACME) == counted(None, text, ACME)
    assert counted(brim.Actuals(store, "upstream/alice"), text, ACME).source == "actual"


def test_a_store_that_forgot_everything_only_costs_precision() -> None:
    class Sieve:
        def get_actual(self, key: bytes) -> int | None:
            return None

        def put_actual(self, key: bytes, tokens: int) -> None:
            pass

    actuals = brim.Actuals(Sieve())
    recorded(actuals, chat("hello"), 10)
    assert counted(actuals, chat("hello")).source == "exact"


def test_counts_are_not_mixed_up_between_two_sets_of_actuals() -> None:
    for tokens in (10, 15, 20):
        actuals = brim.Actuals()
        recorded(actuals, chat("hello"), tokens)
        assert counted(actuals, chat("hello")).tokens == tokens
        del actuals


def test_numbers_that_cannot_be_are_not_learnt_from() -> None:
    actuals = brim.Actuals()
    for messages, tokens in ((chat("hello"), 0), ([], 12), (chat("hello"), 1_000), (chat("hello"), -5)):
        recorded(actuals, messages, tokens)
    assert counted(actuals, chat("hello")).source == "exact"


# -- analytics


def record(request: str, estimated: int, actual: int | None, upper: int = 0, model: str = "gpt-4o") -> UsageRecord:
    status: Any = "pending" if actual is None else "success"
    return UsageRecord(request, 0.0, "openai", model, estimated, upper or estimated, actual, 5, status=status)


def test_error_statistics_tell_under_from_over() -> None:
    analytics = Analytics()
    analytics.add(record("a", 110, 100, upper=120))
    analytics.add(record("b", 90, 100, upper=95))
    analytics.add(record("c", 100, None))
    found = analytics.statistics()
    assert found.requests == 2
    assert found.mean == pytest.approx(0.0)
    assert found.mean_absolute == pytest.approx(0.1)
    assert (found.worst_under, found.worst_over) == (pytest.approx(-0.1), pytest.approx(0.1))
    assert found.over_the_upper_bound == 1


def test_a_record_is_replaced_when_its_answer_comes() -> None:
    analytics = Analytics()
    analytics.add(record("a", 110, None))
    analytics.add(record("a", 110, 100))
    assert [one.status for one in analytics.records()] == ["success"]


def test_statistics_of_one_model_leave_out_the_others() -> None:
    analytics = Analytics()
    analytics.add(record("a", 110, 100))
    analytics.add(record("b", 300, 100, model="gpt-4"))
    assert analytics.statistics("gpt-4o").mean == pytest.approx(0.1)
    assert analytics.statistics("other").requests == 0


def test_analytics_keep_the_newest_records() -> None:
    analytics = Analytics(limit=3)
    for n in range(10):
        analytics.add(record(str(n), 1, 1))
    assert [one.request for one in analytics.records()] == ["7", "8", "9"]


# -- a provider whose counts are hidden


@pytest.mark.parametrize("name", sorted(providers()))
def test_no_charge_of_a_hidden_provider_passes_the_predicted_bound(name: str) -> None:
    model, truth = providers()[name]
    for seed in (1, 2):
        played = play(model, truth, seed)
        assert played.requests == 120
        assert played.under == 0
        assert played.mean_over <= 0.015
