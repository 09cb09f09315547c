"""Pictures: the one that is asked about outlives old text, and an old one says what it was."""

from __future__ import annotations

import base64
import struct
import zlib
from typing import Any

import pytest

import brim
from brim.apis.image_size import written_image_size

MODELS = {
    "openai_chat": "gpt-4o",
    "anthropic": "claude-sonnet-4-5",
    "openai_responses": "gpt-4.1",
    "gemini": "gemini-2.5-pro",
}


def png(seed: int, width: int = 1024, height: int = 768) -> str:
    """A picture of its own, in base64."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    row = b"\0" + bytes([seed % 256, seed // 256, 7]) * width
    return base64.b64encode(
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(row * height)) + chunk(b"IEND", b"")
    ).decode()


def user(api: str, text: str, picture: str = "") -> dict[str, Any]:
    parts: dict[str, Any] = {
        "openai_chat": ({"type": "image_url", "image_url": {"url": f"data:image/png;base64,{picture}"}}, "text"),
        "openai_responses": ({"type": "input_image", "image_url": f"data:image/png;base64,{picture}"}, "input_text"),
        "anthropic": (
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": picture}},
            "text",
        ),
        "gemini": ({"inlineData": {"mimeType": "image/png", "data": picture}}, ""),
    }
    image, kind = parts[api]
    said: dict[str, Any] = {"type": kind, "text": text} if kind else {"text": text}
    blocks = [said, image] if picture else [said]
    return {"role": "user", "parts" if api == "gemini" else "content": blocks}


def answer(api: str, text: str) -> dict[str, Any]:
    return {"role": "model", "parts": [{"text": text}]} if api == "gemini" else {"role": "assistant", "content": text}


def chat(api: str) -> list[dict[str, Any]]:
    """Photos and logs in turn, and at the end a question about the last photo."""
    messages = []
    for turn in range(6):
        log = "\n".join(
            f"2026-03-01T10:{n // 60:02}:{n % 60:02}Z INFO mast {turn} wind {n * 7 % 40}" for n in range(150)
        )
        messages += [
            user(api, f"Photo {turn}: the deck of boat {turn}.", png(turn)),
            answer(api, f"A deck with rope {turn}."),
            user(api, f"Here is the log of its mast:\n{log}"),
            answer(api, "Noted."),
        ]
    messages += [user(api, "And this one?", png(99)), answer(api, "The mast stands.")]
    return [*messages, user(api, "Look at that picture again: which colour is the mast in it?")]


@pytest.mark.parametrize("api", MODELS)
def test_the_picture_that_is_asked_about_outlives_logs(api: str) -> None:
    messages = chat(api)
    size = brim.count([messages[-3]], model=MODELS[api], api=api).tokens
    for budget in (size + 600, size + 2_000):
        fitted = brim.fit(messages, model=MODELS[api], api=api, budget=budget)
        assert fitted.tokens <= budget
        assert messages[-3] in fitted.messages


def test_a_picture_in_the_current_message_outlives_logs() -> None:
    messages = chat("openai_chat")[:-1]
    messages.append(user("openai_chat", "Which colour is the mast here?", png(7)))
    for budget in (1_200, 3_000):
        assert messages[-1] in brim.fit(messages, model="gpt-4o", budget=budget).messages


@pytest.mark.parametrize("api", MODELS)
def test_an_old_picture_says_what_it_was(api: str) -> None:
    messages = chat(api)
    size = brim.count([messages[0]], model=MODELS[api], api=api).tokens
    archived = 0
    for budget in range(size + 600, 5 * size, size // 2):
        sent = brim.fit(messages, model=MODELS[api], api=api, budget=budget)
        archived += "image 1024×768, archived" in str(sent.messages)
        assert "media, about" not in str(sent.messages)
    assert archived


def test_a_session_keeps_the_picture_that_is_asked_about() -> None:
    messages, session = chat("openai_chat"), brim.Session(model="gpt-4o", budget=3_000)
    for end in range(1, len(messages) + 1, 2):
        sent = session.fit(messages[:end]).messages
    assert messages[-3] in sent
    assert session.compactions


def test_the_size_of_a_picture_is_read_from_any_json() -> None:
    for holder in ('{"data":"%s"}', '{"image_url":{"url":"data:image/png;base64,%s"}}', '[1,"%s"]'):
        assert written_image_size(holder % png(1, 640, 480)) == (640, 480)
    assert written_image_size('{"image_url":"https://example.com/a.png"}') is None
    assert written_image_size('{"data":"' + "QUJD" * 30 + '"}') is None
