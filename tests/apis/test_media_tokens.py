from __future__ import annotations

import base64
import struct
import zlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from brim.apis.image_size import base64_head, base64_image_size, base64_length, image_size
from brim.apis.media_tokens import (
    anthropic_image_tokens,
    audio_seconds,
    claude_version,
    gemini_image_tokens,
    openai_image_tokens,
    pdf_pages,
)

SIDES = st.integers(min_value=1, max_value=20_000)
MODELS = [
    "gpt-4o",
    "gpt-4o-mini",
    "gpt-4.1",
    "gpt-4.1-mini",
    "o1",
    "o4-mini",
    "gpt-5",
    "gpt-5-nano",
    "gpt-5.5",
    "gpt-6",
    "x",
]


def png(width: int, height: int) -> bytes:
    header = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    chunk = b"IHDR" + header
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + chunk + struct.pack(">I", zlib.crc32(chunk))


def jpeg(width: int, height: int, padding: int = 0) -> bytes:
    app = b"\xff\xe0" + struct.pack(">H", 16) + b"JFIF\0" + bytes(9)
    extra = b"".join(b"\xff\xe1" + struct.pack(">H", 60_002) + bytes(60_000) for _ in range(padding))
    frame = b"\xff\xc2" + struct.pack(">HBHHB", 17, 8, height, width, 3) + bytes(9)
    return b"\xff\xd8" + app + extra + b"\xff\xff" + frame[1:] + b"\xff\xd9"


def webp(kind: bytes, width: int, height: int) -> bytes:
    if kind == b"VP8X":
        body = bytes(4) + (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    elif kind == b"VP8L":
        body = b"\x2f" + ((width - 1) | (height - 1) << 14).to_bytes(4, "little") + bytes(8)
    else:
        body = b"\x30\x01\x00\x9d\x01\x2a" + struct.pack("<HH", width, height) + bytes(4)
    return b"RIFF" + struct.pack("<I", len(body) + 12) + b"WEBP" + kind + struct.pack("<I", len(body)) + body


@given(st.integers(1, 16_383), st.integers(1, 16_383))
def test_the_size_of_every_format_is_read_from_its_header(width: int, height: int) -> None:
    gif = b"GIF89a" + struct.pack("<HH", width, height)
    for data in (
        png(width, height),
        jpeg(width, height),
        gif,
        *(webp(k, width, height) for k in (b"VP8X", b"VP8L", b"VP8 ")),
    ):
        assert image_size(data) == (width, height)


def test_a_jpeg_with_a_large_thumbnail_before_its_frame_is_still_read() -> None:
    text = "data:image/jpeg;base64," + base64.b64encode(jpeg(4032, 3024, padding=3) + bytes(100_000)).decode()
    assert base64_image_size(text) == (4032, 3024)


@given(st.binary(max_size=64))
def test_bytes_that_are_no_image_have_no_size_and_do_not_raise(data: bytes) -> None:
    for head in (b"", b"\xff\xd8", b"\x89PNG\r\n\x1a\n", b"RIFF\0\0\0\0WEBPVP8 ", b"GIF89a"):
        size = image_size(head + data)
        assert size is None or min(size) >= 1


@pytest.mark.parametrize("text", ["", "not base64 at all!", "data:image/png;base64,", "data:,x", "é", "A"])
def test_text_that_is_no_base64_image_has_no_size(text: str) -> None:
    assert base64_image_size(text) is None


def test_only_the_head_of_a_file_is_decoded() -> None:
    assert base64_head("aGVsbG8gd29ybGQ=", 8) == b"hello "
    assert base64_length("data:text/plain;base64,aGVsbG8=") == 5


@pytest.mark.parametrize(
    ("width", "height", "detail", "model", "tokens"),
    [
        (1024, 1024, "high", "gpt-4o", 765),
        (2048, 4096, "high", "gpt-4o", 1105),
        (4096, 8192, "low", "gpt-4o", 85),
        (1024, 1024, "high", "gpt-4o-mini", 2833 + 4 * 5667),
        (1024, 1024, "high", "gpt-5", 70 + 4 * 140),
        (1024, 1024, "high", "o1", 75 + 4 * 150),
        (1024, 1024, None, "gpt-4.1-mini", 1659),
        (1800, 2400, None, "o4-mini", 2642),
        (256, 256, None, "gpt-5.5", 77),
        (4032, 3024, None, "gpt-6", 14_364),
        (None, None, None, "gpt-4o", 85 + 8 * 170),
        (None, None, "low", "gpt-4o-2024-08-06", 85),
    ],
)
def test_openai_images_follow_the_published_rules(
    width: int | None, height: int | None, detail: str | None, model: str, tokens: int
) -> None:
    assert openai_image_tokens(width, height, detail, model) == tokens


@pytest.mark.parametrize(
    ("width", "height", "model", "lowest", "highest"),
    [
        (1024, 1024, "claude-opus-5-5", 1369, 1369),
        (1920, 1080, "claude-opus-5-5", 2691, 2691),
        (4032, 3024, "claude-sonnet-5-5", 3928, 3928),
        (256, 256, "claude-haiku-4-5", 100, 100),
        (3840, 2160, "claude-haiku-4-5", 1592, 1640),
        (1000, 1000, "claude-3-5-sonnet-20241022", 1334, 1400),
    ],
)
def test_claude_images_follow_the_measured_sizes(
    width: int, height: int, model: str, lowest: int, highest: int
) -> None:
    assert lowest <= anthropic_image_tokens(width, height, model) <= highest


@pytest.mark.parametrize(
    ("model", "version"),
    [
        ("claude-3-opus-20240229", (3, 0)),
        ("claude-3-5-haiku-latest", (3, 5)),
        ("claude-opus-4-20250514", (4, 0)),
        ("anthropic/claude-opus-4.7", (4, 7)),
        ("claude-sonnet-5", (5, 0)),
        ("us.anthropic.claude-haiku-4-5-20251001-v1:0", (4, 5)),
        ("claude-latest", (99, 0)),
    ],
)
def test_the_version_is_read_from_a_claude_model_name(model: str, version: tuple[int, int]) -> None:
    assert claude_version(model) == version


@pytest.mark.parametrize(
    ("width", "height", "model", "resolution", "tokens"),
    [
        (300, 300, "gemini-2.5-pro", None, 258),
        (960, 540, "gemini-2.0-flash", None, 6 * 258),
        (4000, 3000, "gemini-3-pro", None, 1120),
        (4000, 3000, "gemini-3-pro", "MEDIA_RESOLUTION_LOW", 280),
        (4000, 3000, "gemini-2.5-pro", "MEDIA_RESOLUTION_LOW", 64),
    ],
)
def test_gemini_images_follow_the_published_rules(
    width: int, height: int, model: str, resolution: str | None, tokens: int
) -> None:
    assert gemini_image_tokens(width, height, model, resolution) == tokens


@given(SIDES, SIDES, st.sampled_from(MODELS), st.sampled_from([None, "auto", "low", "high"]))
def test_an_image_of_unknown_size_costs_at_least_as_much_as_any_openai_image(
    width: int, height: int, model: str, detail: str | None
) -> None:
    assert openai_image_tokens(width, height, detail, model) <= openai_image_tokens(None, None, detail, model)


@given(SIDES, SIDES, st.sampled_from(["claude-3-haiku", "claude-opus-4-5", "claude-opus-4-7", "claude-opus-5-5"]))
def test_an_image_of_unknown_size_costs_at_least_as_much_as_any_claude_image(
    width: int, height: int, model: str
) -> None:
    assert anthropic_image_tokens(width, height, model) <= anthropic_image_tokens(None, None, model)


@given(SIDES, SIDES, st.sampled_from(["gemini-1.5-pro", "gemini-2.5-flash", "gemini-3-flash"]))
def test_an_image_of_unknown_size_costs_at_least_as_much_as_any_gemini_image(
    width: int, height: int, model: str
) -> None:
    assert gemini_image_tokens(width, height, model) <= gemini_image_tokens(None, None, model)


def test_pages_come_from_the_page_tree_or_from_the_size() -> None:
    assert pdf_pages(b"%PDF-1.4 /Type /Pages /Count 12 /Type /Page /Type/Page") == 12
    assert pdf_pages(b"%PDF-1.4 /Type /Page /Type/Page /Type /PageLabel") == 2
    assert pdf_pages(b"%PDF-1.7" + bytes(40_000)) == 11


def test_seconds_of_a_wav_come_from_its_header() -> None:
    header = b"RIFF" + bytes(4) + b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, 16_000, 32_000, 2, 16)
    assert audio_seconds(header, 320_000) == 10
    assert audio_seconds(b"", 40_000) == 10
