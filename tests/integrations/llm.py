"""simonw/llm with Brim's plugin: needs tests/integrations/requirements/llm.txt."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import llm
import openai
import pytest
from click.testing import CliRunner
from llm.cli import cli

import brim
from brim.integrations.llm import fitted_model
from brim.stores.resilient import open_store
from brim.testing import Call, FakeProvider, Say
from tests.integrations.scripted import ANSWER, BUDGET, FIRST, MODEL, STEPS, SYSTEM, check, example, output, read_log


@pytest.fixture
def fake(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeProvider]:
    """llm with a home of its own, whose model is OpenAI's as llm itself asks it, and a provider with a small window."""
    monkeypatch.setenv("LLM_USER_PATH", str(tmp_path))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    with FakeProvider(window=BUDGET, default=Say(ANSWER)) as found:
        found.script(*(Call("read_log", {"day": step}, id=f"call_{step}") for step in range(STEPS)))
        listed = [{"model_id": "small", "model_name": MODEL, "api_base": f"{found.url}/v1", "supports_tools": True}]
        (tmp_path / "extra-openai-models.yaml").write_text(json.dumps(listed))
        (tmp_path / "brim.toml").write_text(f'[models.small]\nwindow = {BUDGET}\nfamily = "o200k"\n')
        monkeypatch.chdir(tmp_path)
        yield found


def sent(fake: FakeProvider) -> list[Any]:
    return [json.loads(seen.body)["messages"] for seen in fake.posts]


def test_a_chain_of_tool_calls_stays_within_the_window(fake: FakeProvider) -> None:
    model = llm.get_model("brim/small")
    said = model.conversation().chain(FIRST, system=SYSTEM, tools=[read_log], chain_limit=0).text()
    assert said == ANSWER
    check(sent(fake))


def test_without_brim_the_same_chain_overflows(fake: FakeProvider) -> None:
    with pytest.raises(openai.BadRequestError):
        llm.get_model("small").conversation().chain(FIRST, tools=[read_log], chain_limit=0).text()


def test_an_asynchronous_chain_stays_within_the_window(fake: FakeProvider) -> None:
    async def run() -> str:
        model = llm.get_async_model("brim/small")
        return str(await model.conversation().chain(FIRST, system=SYSTEM, tools=[read_log], chain_limit=0).text())

    assert asyncio.run(run()) == ANSWER
    check(sent(fake))


def test_the_example_of_the_docs_runs(fake: FakeProvider) -> None:
    assert example("llm", tools=[read_log], request=FIRST, model_name="small")["answer"] == ANSWER
    check(sent(fake), system=False)


def test_the_command_line_asks_the_fitted_model(fake: FakeProvider) -> None:
    fake._script.clear()
    done = CliRunner().invoke(cli, ["-m", "brim/small", "--no-stream", FIRST])
    assert done.exit_code == 0, done.output
    assert ANSWER in done.output
    assert sent(fake) == [[{"role": "user", "content": FIRST}]]


def test_llm_brim_is_brims_own_command_line(fake: FakeProvider, capfd: pytest.CaptureFixture[str]) -> None:
    Path("a.txt").write_text(output(1))
    with pytest.raises(SystemExit) as ended:
        cli.main(["brim", "count", "--model", MODEL, "a.txt"], standalone_mode=False)
    assert ended.value.code == 0
    assert f"{brim.count(output(1), model=MODEL).tokens:,}" in capfd.readouterr().out


def test_a_fragment_brings_back_what_was_archived(fake: FakeProvider) -> None:
    fake._script.clear()
    store = Path.home() / ".local/share/brim/brim.db"
    store.parent.mkdir(parents=True, exist_ok=True)
    kept = open_store(store)
    handle = kept.put_blobs([output(3).encode()])[0].hex()
    kept.close()
    done = CliRunner().invoke(cli, ["-m", "small", "-f", f"brim:{handle}", "--no-stream", "What happened?"])
    assert done.exit_code == 0, done.output
    assert output(3) in sent(fake)[0][0]["content"]


def test_a_fragment_brings_a_file_in_so_many_tokens(fake: FakeProvider) -> None:
    fake._script.clear()
    Path("log.txt").write_text("\n".join(map(output, range(5))))
    done = CliRunner().invoke(cli, ["-m", "small", "-f", "brim-compact:500:log.txt", "--no-stream", "What happened?"])
    assert done.exit_code == 0, done.output
    assert brim.count(sent(fake)[0][0]["content"], model=MODEL).tokens < 520


def test_a_model_that_brim_does_not_know_says_what_to_do() -> None:
    class Odd(llm.Model):
        model_id = "odd-1"

        def execute(self, *_: Any) -> Iterator[str]:
            yield "never asked"

    with pytest.raises(llm.ModelError, match=r"brim\.toml"):
        fitted_model(Odd()).prompt("hello").text()
