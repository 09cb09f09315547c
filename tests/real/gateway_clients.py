"""Drives openai-python and anthropic-python past a window, without and with Brim: see README.md here."""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import anthropic
import openai

Ask = Callable[[list[dict[str, str]]], tuple[str, int]]


def words(count: int, salt: int) -> str:
    return " ".join(f"record {salt * 1000 + n} holds {n * 7919 % 1013} crates of Äpfel;" for n in range(count // 12))


def turns(number: int, each: int) -> Iterator[dict[str, str]]:
    for turn in range(number):
        yield {"role": "user", "content": f"Turn {turn}. {words(each, turn)} Which record holds most?"}


def openai_chat(url: str, model: str, stream: bool) -> Ask:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=2, timeout=300)

    def ask(messages: list[dict[str, str]]) -> tuple[str, int]:
        given: Any = messages
        if not stream:
            answer = client.chat.completions.create(model=model, messages=given, max_tokens=16)
            return answer.choices[0].message.content or "…", answer.usage.prompt_tokens
        text, used = "", 0
        options = {"include_usage": True}
        for chunk in client.chat.completions.create(
            model=model, messages=given, max_tokens=16, stream=True, stream_options=options
        ):
            text += "".join(choice.delta.content or "" for choice in chunk.choices)
            used = chunk.usage.prompt_tokens if chunk.usage else used
        return text or "…", used

    return ask


def _item(number: int, message: dict[str, str]) -> dict[str, Any]:
    if message["role"] == "user":
        return {"type": "message", **message}
    content = [{"type": "output_text", "text": message["content"], "annotations": []}]
    return {"type": "message", "id": f"msg_{number}", "role": "assistant", "status": "completed", "content": content}


def openai_responses(url: str, model: str, stream: bool) -> Ask:
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none", max_retries=2, timeout=300)

    def ask(messages: list[dict[str, str]]) -> tuple[str, int]:
        given: Any = [_item(number, message) for number, message in enumerate(messages)]
        if not stream:
            answer = client.responses.create(model=model, input=given, max_output_tokens=16)
            return answer.output_text or "…", answer.usage.input_tokens
        done = None
        for event in client.responses.create(model=model, input=given, max_output_tokens=16, stream=True):
            done = event.response if event.type == "response.completed" else done
        return (done.output_text or "…", done.usage.input_tokens) if done else ("…", 0)

    return ask


def anthropic_messages(url: str, model: str, stream: bool) -> Ask:
    client = anthropic.Anthropic(base_url=url, api_key="none", max_retries=2, timeout=300)

    def ask(messages: list[dict[str, str]]) -> tuple[str, int]:
        given: Any = messages
        if stream:
            with client.messages.stream(model=model, messages=given, max_tokens=16) as events:
                answer = events.get_final_message()
        else:
            answer = client.messages.create(model=model, messages=given, max_tokens=16)
        text = "".join(getattr(block, "text", "") for block in answer.content)
        used = answer.usage
        return text or "…", used.input_tokens + (used.cache_read_input_tokens or 0) + (
            used.cache_creation_input_tokens or 0
        )

    return ask


CLIENTS: dict[str, Callable[[str, str, bool], Ask]] = {
    "openai chat": openai_chat,
    "openai responses": openai_responses,
    "anthropic messages": anthropic_messages,
}


def drive(ask: Ask, number: int, each: int) -> tuple[int, int, str]:
    """Turns answered, the largest prompt that the server saw, and the error that ended it."""
    messages: list[dict[str, str]] = []
    largest = 0
    for done, turn in enumerate(turns(number, each)):
        messages.append(turn)
        try:
            text, used = ask(messages)
        except (openai.APIError, anthropic.APIError) as problem:
            return done, largest, str(problem)[:160]
        largest = max(largest, used)
        messages.append({"role": "assistant", "content": text})
    return number, largest, ""


def start_brim(python: str, upstream: str, model: str, window: int, family: str) -> tuple[subprocess.Popen[bytes], str]:
    folder = Path(tempfile.mkdtemp())
    config = folder / "brim.toml"
    entry = f'[models.{model}]\nwindow = {window}\nmax_output = 512\nfamily = "{family}"\n' if family else ""
    config.write_text(entry)
    command = [
        python,
        "-m",
        "brim.cli.service.serve",
        "--config",
        str(config),
        "--memory",
        "--port",
        "0",
        "--upstream",
        upstream,
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE)
    assert process.stderr is not None
    return process, process.stderr.readline().split()[3].decode()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--upstream", required=True, metavar="URL")
    parser.add_argument("--brim", required=True, metavar="PYTHON", help="an interpreter that has Brim")
    parser.add_argument("--window", type=int, default=16_384)
    parser.add_argument("--family", default="", help="the model's tokenizer, where it is known")
    parser.add_argument("--model", default="tiny")
    parser.add_argument("--turns", type=int, default=14)
    parser.add_argument("--each", type=int, default=1_600, help="tokens a turn")
    args = parser.parse_args()
    process, gateway = start_brim(args.brim, args.upstream, args.model, args.window, args.family)
    bad = 0
    try:
        for name, make in CLIENTS.items():
            for stream in (False, True):
                label = f"{name}{', streamed' if stream else ''}"
                plain = drive(make(args.upstream, args.model, stream), args.turns, args.each)
                through = drive(make(gateway, args.model, stream), args.turns, args.each)
                bad += through[0] < args.turns or "exceeds" not in plain[2]
                print(f"{label:30} without Brim {plain[0]:2}/{args.turns} ({plain[2][:60]})")
                print(f"{'':30} with Brim    {through[0]:2}/{args.turns} (largest prompt {through[1]:,}) {through[2]}")
        with urllib.request.urlopen(f"{gateway}/brim/v1/live") as answer:
            live = json.loads(answer.read())
    finally:
        process.terminate()
        process.communicate()
    print({key: live[key] for key in ("requests", "overflows_avoided", "refits", "over_upper", "mean_error")})
    return 1 if bad or live["over_upper"] else 0


if __name__ == "__main__":
    sys.exit(main())
