"""Drives google-genai past a window: every turn counts its tokens first, and every other turn is streamed.

python gemini_client.py http://127.0.0.1:8787 TURNS MODEL       # one line of JSON a turn
"""

from __future__ import annotations

import json
import sys
from typing import Any

from google import genai
from google.genai import errors, types


def pasted(turn: int) -> str:
    lines = [f"record {turn * 1000 + n} holds {n * 7919 % 1013} crates of Äpfel;" for n in range(120)]
    return f"Turn {turn}. {' '.join(lines)} Which record holds most?"


def ask(client: genai.Client, model: str, contents: list[Any], streamed: bool) -> tuple[str, int]:
    """The answer and the tokens that the provider says the prompt took."""
    if not streamed:
        answer = client.models.generate_content(model=model, contents=contents)
        return answer.text or "", answer.usage_metadata.prompt_token_count
    text, used = "", 0
    for chunk in client.models.generate_content_stream(model=model, contents=contents):
        text += chunk.text or ""
        used = chunk.usage_metadata.prompt_token_count if chunk.usage_metadata else used
    return text, used


def main(url: str, turns: int, model: str) -> None:
    client = genai.Client(api_key="no-key-needed", http_options=types.HttpOptions(base_url=url))
    contents: list[Any] = []
    for turn in range(turns):
        contents.append({"role": "user", "parts": [{"text": pasted(turn)}]})
        whole = client.models.count_tokens(model=model, contents=contents).total_tokens
        try:
            text, used = ask(client, model, contents, streamed=bool(turn % 2))
        except errors.APIError as problem:
            print(json.dumps({"turn": turn, "whole": whole, "problem": str(problem)[:200]}))
            return
        print(json.dumps({"turn": turn, "whole": whole, "used": used, "text": text}))
        contents.append({"role": "model", "parts": [{"text": text}]})


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
