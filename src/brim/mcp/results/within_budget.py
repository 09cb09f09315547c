"""Brings the result of a tool call within its budget, keeping it valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from brim.content.reshape import SHAPES, Shape
from brim.head_tail import head_and_tail
from brim.mcp.options import Level
from brim.mcp.results.archive import ResultArchive
from brim.mcp.results.compacting import Compact, compact_text, count_tokens
from brim.mcp.results.meta_budgets import RESULT_KEY
from brim.mcp.transport.json_rpc import RpcObject, dump, meta_of, parse

# A result this short can't be shortened enough to be worth it.
SMALL_BYTES = 600
_BYTES_A_TOKEN = 4
_SMALLEST_SHARE = 40
# This many or more consecutive text blocks are treated as one text.
_RUN = 3


@dataclass(frozen=True, slots=True)
class ResultLimits:
    """The limits of a result, and the abilities of its reader."""

    level: Level
    tokens: int
    chars: int | None
    recall: bool
    links: bool
    shapes: tuple[Shape, ...] = ()


@dataclass(frozen=True, slots=True)
class FittedResult:
    """A result to send; `changed` says whether it differs from the server's."""

    result: RpcObject
    tokens: int
    saved: int
    changed: bool


def fit_result(
    result: RpcObject, limits: ResultLimits, tool: str, archive: ResultArchive, query: str = ""
) -> FittedResult:
    """Return the result with its texts compacted to `limits`; what is left out goes to the archive.

    Text blocks and the texts of embedded resources are compacted, other blocks stay as they are. Clients
    show a model `structuredContent` in place of the text where both are there, so a compacted result has
    none; its value is in the text, and whole behind the link.
    """
    blocks = result.get("content")
    blocks = list(blocks) if isinstance(blocks, list) else []
    structured = result.get("structuredContent")
    extra = structured is not None and not _said(structured, blocks)
    if extra:
        blocks.append({"type": "text", "text": dump(structured).decode()})
    blocks = _joined(blocks)
    texts = [(place, text) for place, block in enumerate(blocks) if (text := _text(block)) is not None]
    sizes = [_size(text, limits.tokens) for _, text in texts]
    shares = _share(sizes, _whole(limits, texts))
    done = [_within(text, limits, share, tool, archive, query) for (_, text), share in zip(texts, shares, strict=True)]
    if all(one.fidelity == "same" for one in done):
        return FittedResult(result, sum(sizes), 0, False)
    for (place, _), one in zip(texts, done, strict=True):
        blocks[place] = _with_text(blocks[place], one.text)
    handles = [one.handle for one in done if one.handle]
    if structured is not None and not handles and (handle := archive.put(dump(structured).decode())):
        handles.append(handle)
    if limits.links and (structured is not None or not limits.recall):
        blocks += [_link(handle, tool, structured is not None) for handle in handles]
    tokens, before = sum(one.tokens for one in done), sum(sizes)
    sent = {key: value for key, value in result.items() if key != "structuredContent"}
    note = {"level": limits.level, "tokens": tokens, "of": before, "fidelity": _worst(done), "handles": handles}
    sent["content"] = blocks
    sent["_meta"] = {**meta_of(result), RESULT_KEY: note}
    return FittedResult(sent, tokens, before - tokens, True)


def plain_result(result: RpcObject, limits: ResultLimits, archive: ResultArchive) -> FittedResult:
    """The result within its limits by size alone, for when compacting failed.

    Each text keeps its beginning and end. A text that can't be archived gets no handle.
    """
    blocks = list(result["content"])
    structured = result.get("structuredContent")
    texts = [(place, text) for place, block in enumerate(blocks) if (text := _text(block)) is not None]
    if structured is not None and not texts:
        blocks.append({"type": "text", "text": dump(structured).decode()})
        texts = [(len(blocks) - 1, blocks[-1]["text"])]
    sizes = [_size(text, limits.tokens) for _, text in texts]
    shares = _share(sizes, _whole(limits, texts))
    done = [_ends(text, limits, share, archive) for (_, text), share in zip(texts, shares, strict=True)]
    if structured is None and all(one.fidelity == "same" for one in done):
        return FittedResult(result, sum(sizes), 0, False)
    for (place, _), one in zip(texts, done, strict=True):
        blocks[place] = _with_text(blocks[place], one.text)
    tokens, handles = sum(one.tokens for one in done), [one.handle for one in done if one.handle]
    note = {"level": limits.level, "tokens": tokens, "of": sum(sizes), "fidelity": "recoverable", "handles": handles}
    sent = {key: value for key, value in result.items() if key != "structuredContent"}
    sent |= {"content": blocks, "_meta": {**meta_of(result), RESULT_KEY: note}}
    return FittedResult(sent, tokens, sum(sizes) - tokens, True)


def _ends(text: str, limits: ResultLimits, share: int, archive: ResultArchive) -> Compact:
    fits = len(text) <= share * _BYTES_A_TOKEN * 3 and (size := count_tokens(text)) <= share
    if fits and (limits.chars is None or len(text) <= limits.chars):
        return Compact(text, size, "same")
    handle = archive.put(text)
    short = head_and_tail(text, share, count_tokens, handle)
    while limits.chars is not None and len(short) > limits.chars and share > 1:
        share = max(1, share // 2)
        short = head_and_tail(text, share, count_tokens, handle)
    short = short if limits.chars is None else short[: limits.chars]
    return Compact(short, count_tokens(short), "recoverable", handle)


def _joined(blocks: list[Any]) -> list[Any]:
    """Join runs of plain text blocks: some servers return a list as one block per item, which hides it from compactors.

    Example: three blocks with {"id": 1}, {"id": 2}, {"id": 3} -> one with [{"id": 1},{"id": 2},{"id": 3}]
    """
    found: list[Any] = []
    run: list[Any] = []
    for block in [*blocks, None]:
        if isinstance(block, dict) and set(block) == {"type", "text"} and isinstance(block["text"], str):
            run.append(block)
            continue
        found += run if len(run) < _RUN else [{"type": "text", "text": _join([one["text"] for one in run])}]
        run = []
        found += [block] if block is not None else []
    return found


def _join(texts: list[str]) -> str:
    if all(text.lstrip()[:1] in ("{", "[") for text in texts):
        try:
            return dump([parse(text) for text in texts]).decode()
        except ValueError:
            return "\n".join(texts)
    return "\n".join(texts)


def _worst(done: list[Compact]) -> str:
    return "recoverable" if any(one.fidelity == "recoverable" for one in done) else "lossless"


def _text(block: Any) -> str | None:
    if not isinstance(block, dict):
        return None
    if block.get("type") == "text":
        text = block.get("text")
    elif block.get("type") == "resource" and isinstance(block.get("resource"), dict):
        text = block["resource"].get("text")
    else:
        return None
    return text if isinstance(text, str) else None


def _with_text(block: RpcObject, text: str) -> RpcObject:
    if block.get("type") == "resource":
        return {**block, "resource": {**block["resource"], "text": text}}
    return {**block, "text": text}


def _said(structured: Any, blocks: list[Any]) -> bool:
    """Whether the text blocks already contain the structured content."""
    texts = [text for block in blocks if (text := _text(block)) is not None]
    if not texts:
        return False
    wrapped = structured["result"] if isinstance(structured, dict) and set(structured) == {"result"} else None
    if wrapped is not None and (wrapped == texts or [wrapped] == texts):
        return True
    if sum(map(len, texts)) > 3 * len(dump(structured)) + 1_000:
        return False
    try:
        values = [parse(text) for text in texts]
    except ValueError:
        return False
    return structured in values or (wrapped is not None and (wrapped == values or [wrapped] == values))


def _size(text: str, budget: int) -> int:
    """Tokens of a text, counted when it may fit and estimated when it certainly does not."""
    if len(text) > budget * 12:
        return len(text) // _BYTES_A_TOKEN
    return count_tokens(text)


def _whole(limits: ResultLimits, texts: list[tuple[int, str]]) -> int:
    return max(limits.tokens - 8 * max(len(texts) - 1, 0), _SMALLEST_SHARE)


def _share(sizes: list[int], whole: int) -> list[int]:
    """Divide a budget: small texts get what they need, large ones what is left, in equal parts.

    Example: [10, 500, 900], 300 -> [10, 145, 145]
    """
    shares = [0] * len(sizes)
    left = whole
    for rank, place in enumerate(sorted(range(len(sizes)), key=lambda place: sizes[place])):
        shares[place] = min(sizes[place], max(left // (len(sizes) - rank), 1)) if rank < len(sizes) - 1 else left
        left = max(left - shares[place], 1)
    return shares


def _within(text: str, limits: ResultLimits, share: int, tool: str, archive: ResultArchive, query: str) -> Compact:
    """The text within its share of tokens and within the characters that the client takes."""
    kept: list[str] = []

    def keep(whole: str) -> str:
        if not kept:
            kept.append(archive.put(whole))
        return kept[0]

    def at(tokens: int) -> Compact:
        return compact_text(
            text,
            limits.level,
            tokens,
            tool=tool,
            keep=keep,
            recall=limits.recall,
            query=query,
            shapes=(*limits.shapes, *SHAPES),
        )

    if limits.chars is None or len(text) <= limits.chars:
        return at(share)
    share = min(share, max(limits.chars // 2, 1))
    one = at(share)
    while len(one.text) > limits.chars and share > 1:
        share = min(share - 1, max(int(share * limits.chars / len(one.text) * 0.97), 1))
        one = at(share)
    return one if len(one.text) <= limits.chars else Compact("…"[: limits.chars], 1, "recoverable")


def _link(handle: str, tool: str, structured: bool) -> RpcObject:
    return {
        "type": "resource_link",
        "uri": handle,
        "name": f"{tool} result in full",
        "mimeType": "application/json" if structured else "text/plain",
    }


def text_result(text: str, *, error: bool = False, modern: bool = False) -> RpcObject:
    """A result of the wrapper's own."""
    result: RpcObject = {"content": [{"type": "text", "text": text}], "isError": error}
    return {"resultType": "complete", **result} if modern else result
