"""Bytes written as text: base64, data URLs, hexadecimal, hex dumps, and minified bundles.

Each becomes a stub that gives its type and size. Base64 of text is decoded instead, which is lossless.
"""

from __future__ import annotations

import base64
import binascii
import re
from dataclasses import replace

from brim.content import plain_text
from brim.content.detect import file_signatures, line_patterns
from brim.content.detect.line_patterns import ODD
from brim.content.selection import fits, least, plural
from brim.content.types import Room
from brim.errors import NotDecodable

_DATA_URL = re.compile(r"data:([\w.+-]{1,60}/[\w.+-]{1,80})?(?:;[\w-]{1,30}=[\w.-]{1,60})*;base64,")
# Long runs inside other text: after a data URL's head, wrapped into lines (also as "\n" in JSON), bare, or hexadecimal.
_EMBEDDED = re.compile(
    r"data:(?:[\w.+-]{1,60}/[\w.+-]{1,80})?(?:;[\w-]{1,30}=[\w.-]{1,60})*;base64,[A-Za-z0-9+/_%-]{100,}={0,2}"
    r"|(?:[A-Za-z0-9+/]{56,80}(?:\\n|\r?\n)){3,}[A-Za-z0-9+/]{0,80}={0,2}"
    r"|[A-Za-z0-9+/_-]{200,}={0,2}"
)
_HEX_DUMP = re.compile(r"(?:[0-9a-fA-F]{4,16})[:\s]\s{0,3}((?:[0-9a-fA-F]{2,8}[ -]{1,3}){4,17})")
_BANNER = re.compile(r"/\*!.{1,400}?\*/", re.DOTALL)
_STYLE_RULE = re.compile(r"[\w.#*\]) -]\{[\w-]+:[^{}]{0,200}\}")
_HEX = frozenset("0123456789abcdefABCDEF")
_LARGEST = 20_000_000
_TITLE = "#brim binary base64"
_HEAD = re.compile(
    r"#brim binary base64(?: urlsafe)?(?: wrapped at (\d{1,4}))?(?: after (\S+))?: the text below is what it encodes"
)


def dense(text: str) -> str | None:
    """The text that base64 encodes; None for other bytes.

    Example: "aGVsbG8gd29ybGQsIGhlbGxvIHdvcmxk" -> "#brim binary base64: the text below …\\nhello world, hello world"
    """
    if len(text) > _LARGEST:
        return None
    url = _DATA_URL.match(text)
    body = text[url.end() :] if url else text
    safe = "-" in body or "_" in body
    width = body.find("\n")
    decoded = _decoded(body)
    said = file_signatures.as_text(decoded) if decoded else None
    if said is None or len(said) < 24:
        return None
    wrapped = f" wrapped at {width}" if width > 0 else ""
    title = f"{_TITLE}{' urlsafe' if safe else ''}{wrapped}{f' after {url.group()}' if url else ''}"
    result = f"{title}: the text below is what it encodes\n{said}"
    if len(result) >= len(text):
        return None
    return result if decode(result) == text else None


def decode(text: str) -> str:
    """The base64 that `dense` was given. Raises NotDecodable for a text it didn't produce."""
    title, _, said = text.partition("\n")
    head = _HEAD.fullmatch(title)
    if head is None:
        raise NotDecodable("not base64 in brim's dense form: the first line is another")
    encode = base64.urlsafe_b64encode if title.startswith(f"{_TITLE} urlsafe") else base64.b64encode
    body = encode(said.encode("utf-8", "surrogatepass")).decode("ascii")
    if head.group(1):
        width = max(1, int(head.group(1)))
        body = "".join(f"{body[at : at + width]}\n" for at in range(0, len(body), width))
    return (head.group(2) or "") + body


def extract(text: str, room: Room) -> str:
    """A stub that says what the bytes are; for encoded text and bundles, as much as fits.

    Example: 400 kB of "iVBORw0KGgo…" -> "[… base64, PNG image 640×480, 300,012 bytes]"
    """
    if fits(text, room):
        return text
    form = dense(text)
    if form is not None:
        if fits(form, room):
            return form
        return _titled("[base64 of a text, decoded below]", form.partition("\n")[2], room)
    said = describe(text)
    if said.startswith("hex dump"):
        return _titled(f"[{said}]", text, room)
    said = said or _raw(text)
    if said:
        return least(room, said)
    banner = _BANNER.search(text, 0, 2_000)
    title = f"[{_made(text)}, {plural(len(text), 'character')} in {plural(text.count(chr(10)) + 1, 'line')}]"
    if banner is not None and banner.start() > 0:
        title = f"{title}\n{banner.group()}"
    return _titled(title, text, room)


def _raw(text: str) -> str:
    """The type of bytes that were read as text; "" for real text.

    Example: "\\x7fELF\\x02\\x01…" -> "binary, ELF program, 29,811 characters that are not text"
    """
    part = text[:8_000]
    if sum(map(part.count, ODD)) <= len(part) * 0.02:
        return ""
    # Decoding with replacement loses bytes, but enough of the signature remains to recognize it.
    kind = file_signatures.describe(part[:2_000].encode("latin-1", "replace"))
    known = f"{kind}, " if kind not in ("data", "text") else ""
    return f"binary, {known}{plural(len(text), 'character')} that are not text"


def _made(text: str) -> str:
    """The kind of a text that no person wrote: one long word, or minified code."""
    part = text[:3_000]
    if not any(map(str.isspace, part.strip())) and part.strip().isalnum():
        return "one word"
    styled = len(_STYLE_RULE.findall(part))
    return "minified CSS" if styled > len(line_patterns.SCRIPT.findall(part.replace(":", ""))) else "minified code"


def _titled(title: str, text: str, room: Room) -> str:
    left = room.tokens - room.count(title) - 2
    for share in (1.0, 0.8, 0.5):  # one endless word takes more tokens in pieces than whole
        if left * share >= 16:
            result = f"{title}\n{plain_text.extract(text, replace(room, tokens=int(left * share)))}"
            if room.count(result) <= room.tokens:
                return result
    return least(room, title.strip("[]"))


def describe(text: str) -> str:
    """What a text of encoded bytes holds; "" if it isn't one.

    Example: describe("data:image/gif;base64,R0lGODdh…") -> "data URL image/gif, GIF image 8×8, 35 bytes"
    """
    url = _DATA_URL.match(text)
    body = text[url.end() :] if url else text
    dump = _HEX_DUMP.match(text)
    if dump is not None:
        start = bytes.fromhex("".join(char for char in dump.group(1) if char in _HEX))
        return f"hex dump, {file_signatures.describe(start)}, {text.count(chr(10)) + 1:,} lines"
    compact = "".join(body[:8_000].replace("\\n", "\n").split())
    if not compact:
        return ""
    if all(char in _HEX for char in compact) and len(set(compact)) > 8:
        start = bytes.fromhex(compact[: len(compact) // 2 * 2])
        size = sum(char in _HEX for char in body[:200_000]) * len(body) // min(len(body), 200_000) // 2
        return f"hexadecimal, {file_signatures.describe(start)}, {size:,} bytes"
    start_bytes = _decoded(compact[: len(compact) // 4 * 4])
    if url and start_bytes is None:
        return f"data URL {url.group(1) or 'text/plain'}, {len(body):,} characters"
    if start_bytes is None or not (url or _mixed(compact)):
        return ""
    kind = f"data URL {url.group(1) or 'text/plain'}" if url else "base64"
    return f"{kind}, {file_signatures.describe(start_bytes)}, {_size(body):,} bytes"


def _size(body: str) -> int:
    breaks = body.count("\n") + body.count("\r") + 2 * body.count("\\n")
    return (len(body) - breaks) * 3 // 4 - body.count("=", len(body) - 4)


def _decoded(body: str) -> bytes | None:
    compact = body.replace("\r", "").replace("\n", "").replace("\\n", "")
    if not compact or not compact.isascii():
        return None
    padded = compact + "=" * (-len(compact) % 4)
    try:
        return base64.b64decode(padded, altchars=b"-_" if "-" in body or "_" in body else None, validate=True)
    except (binascii.Error, ValueError):
        return None


def _mixed(run: str) -> bool:
    """Whether a run of letters and digits looks random, unlike words, paths and names."""
    sample = run[:2_000]
    upper = sum(char.isupper() for char in sample)
    lower = sum(char.islower() for char in sample)
    digits = sum(char.isdigit() for char in sample)
    separators = sum(char in "/_-" for char in sample)
    most = len(sample)
    return upper * 8 > most and lower * 8 > most and digits * 50 > most and separators * 10 < most


def stub_embedded(text: str, room: Room) -> str:
    """Replace long encoded bytes inside a text with stubs; everything else stays unchanged.

    Example: '{"icon": "data:image/gif;base64,R0lG…"}' -> '{"icon": "[… data URL image/gif, GIF image 8×8, 312 bytes]"}'
    """
    named = False

    def stub(run: re.Match[str]) -> str:
        nonlocal named
        found = run.group()
        said = describe(found)
        if not said:
            return found
        mark = f"[… {said}]" if named else room.mark(said)
        named = True
        return mark if len(mark) < len(found) else found

    return _EMBEDDED.sub(stub, text)
