"""OpenAI chat requests against the prompt_tokens that the API reported (token_vectors.json)."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from brim.apis.openai_chat.framing import chat_tokens
from brim.tokens.tokenizers import tokenizer

Row = tuple[str, float, str]
FAMILIES = {"o200k_base": "o200k", "cl100k_base": "cl100k"}


def vectors(data_dir: Path) -> list[dict[str, Any]]:
    """The chat requests of an OpenAI encoding; none, and a line on stderr, when the file is not there."""
    file = Path(data_dir) / "token_vectors.json"
    if not file.is_file():
        print(f"openai: no {file}; its requests are from hmarr/openai-chat-tokens and its kin", file=sys.stderr)
        return []
    return [vector for vector in json.loads(file.read_text())["openai_chat"] if vector["encoding"] in FAMILIES]


def model_of(vector: dict[str, Any]) -> str:
    """The model's name without the source's remarks: "gpt-4o (expected values)" -> "gpt-4o"."""
    return str(vector["model"]).split(" ")[0].split("/")[0]


def rows(data_dir: Path) -> list[Row]:
    """Exact share of the verified vectors, under-counts of the upper bound on all, and how far above it is."""
    verified = exact = under = total = above = 0
    for vector in vectors(data_dir):
        framed = chat_tokens(vector["request"], tokenizer(FAMILIES[vector["encoding"]]), model=model_of(vector))
        truth = vector["prompt_tokens"]
        if vector["api_verified"] is True:
            verified += 1
            exact += framed.tokens == truth
        under += framed.upper < truth
        above += framed.upper - truth
        total += truth
    if not total:
        return []
    return [
        (f"OpenAI vectors exact, {verified} verified by the API", exact / verified, ">= 0.96"),
        ("OpenAI vectors with upper below the truth", under, "0"),
        ("OpenAI upper above the truth, share of all tokens", above / total, "small"),
    ]
