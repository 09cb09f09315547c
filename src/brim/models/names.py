"""The many ways to write one model's name, reduced to keys that can be looked up."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

# How gateways and SDKs spell the providers of the catalog, after `canonical`.
PROVIDERS: Final[dict[str, str]] = {
    "azure-ai": "azure",
    "azure-openai": "azure",
    "bedrock": "aws",
    "bedrock-converse": "aws",
    "amazon-bedrock": "aws",
    "converse": "aws",
    "invoke": "aws",
    "copilot": "github-copilot",
    "dashscope": "alibaba",
    "fireworks-ai": "fireworks",
    "gemini": "google",
    "google-vertex": "google",
    "vertex": "google",
    "vertex-ai": "google",
    "models": "google",
    "grok": "x-ai",
    "xai": "x-ai",
    "hugging-face": "huggingface",
    "meta-llama": "meta",
    "mistralai": "mistral",
    "moonshot": "moonshotai",
    "novita-ai": "novita",
    "together-ai": "together",
    "togethercomputer": "together",
    "z-ai": "zai",
    "zai-org": "zai",
}

# Patterns are text, compiled at the first use: importing must stay cheap, and lookups are cached.
_VERSION_ONLY: Final = r"[vr]\d"
_LLAMA: Final = r"llama-?v?(?=\d)"
_VERSION_DOT: Final = r"(?<=\d)[.p](?=\d)"
# Bedrock: an optional region or profile, the maker, the model: "us.anthropic.claude-…", "deepseek.v3-2".
_DOTTED: Final = (
    r"^(?:[a-z]{2,8}(?:-[a-z]{2,8})?\.)?"
    r"((?:ai21|amazon|anthropic|cohere|deepseek|google|meta|minimax|mistral|moonshotai|moonshot|nvidia|openai|qwen|"
    r"twelvelabs|writer|xai|zai)\.)(.+)$"
)
# Prefixes that some hosts put before a model's name.
_MAKER_PREFIXES: Final = ("databricks-", "system.ai.", "meta-", "zai-", "fw-", "open-")
# Ollama's tag, where it says the size that others have in the name: "qwen3:8b", "llama3.1:8b-instruct-q4_K_M".
_SIZE_TAG: Final = r":(?=\d+(?:[.-]\d+)?b(?:-|$))"
_DECORATION: Final = (
    r"(?:"
    r"-v\d+(?::\d+)?(?::\d+k)?"  # Bedrock's -v1:0
    r"|:[a-z0-9.-]+"  # :free, :thinking, Ollama's :8b-instruct-q4
    r"|-(?:latest|default|preview|exp|experimental|beta|stable)"
    r"|-\d{4}-\d{2}-\d{2}|-\d{2}-\d{4}|-\d{2}-\d{2}|-\d{8}|-\d{6}|-\d{4}|-00\d"  # dates
    r"|-(?:fp4|fp8|fp16|bf16|int4|int8|nvfp4|mxfp4|awq|gptq|gguf|mlx|[48]bit|q[2-8](?:-[a-z0-9]+)*)"
    r")$"
)


def canonical(name: str) -> str:
    """One spelling for names that differ only in case and punctuation.

    Example: `"Anthropic/Claude-3.5_Sonnet@20241022"` -> `"anthropic/claude-3-5-sonnet-20241022"`;
    `"llama-v3p1-8b"` and `"Llama3.1-8B"` -> `"llama-3-1-8b"`.
    """
    lowered = name.strip().lower().replace("_", "-").replace("@", "-").replace(" ", "-")
    return re.sub(_VERSION_DOT, "-", re.sub(_LLAMA, "llama-", lowered))


def undecorated(key: str) -> Iterator[str]:
    """The key with one more decoration removed each time: date, `-latest`, `:free`, `-v1:0`, `-fp8` ….

    Example: `"gemini-2-5-pro-preview-05-06"` -> `"gemini-2-5-pro-preview"`, `"gemini-2-5-pro"`.
    """
    while (shorter := re.sub(_DECORATION, "", key)) != key and shorter and not shorter.endswith("/"):
        yield shorter
        key = shorter


def spellings(name: str) -> Iterator[str]:
    """The keys under which a name may be known, most specific first, with decorations still on.

    Example: `"openrouter/openai/gpt-4o"` -> itself, `"openai/gpt-4o"`, `"gpt-4o"`.
    """
    segments = [part for part in canonical(name).split("/") if part]
    if not segments:
        return
    last = segments[-1]
    for at in range(len(segments)):
        yield "/".join(segments[at:])
        if at < len(segments) - 1:
            provider = PROVIDERS.get(segments[at], segments[at])
            yield provider + "/" + "/".join(segments[at + 1 :])
            for bare in _bare_names(last):
                yield f"{provider}/{bare}"
    yield from _bare_names(last)


def _bare_names(last: str) -> Iterator[str]:
    """A last segment without region, maker, fine-tuning frame and host prefix."""
    yield last
    if last.startswith("ft:"):
        base = last.split(":")[1]
        yield f"ft:{base}"
        yield base
        return
    if ":" in last and (sized := re.sub(_SIZE_TAG, "-", last)) != last:
        yield sized
    dotted = re.match(_DOTTED, last)
    if dotted:
        maker, rest = dotted.groups()
        yield maker + rest
        last = maker[:-1] + "-" + rest if re.match(_VERSION_ONLY, rest) else rest
        yield last
    for prefix in _MAKER_PREFIXES:
        if last.startswith(prefix):
            yield last.removeprefix(prefix)


def prefixes(key: str) -> Iterator[str]:
    """The key cut at each separator of its last segment, longest first.

    Example: `"openai/gpt-4o-mini-x"` -> `"openai/gpt-4o-mini"`, `"openai/gpt-4o"`, `"openai/gpt"`.
    """
    start = key.rfind("/") + 1
    for at in range(len(key) - 1, start, -1):
        if key[at] in "-.:":
            yield key[:at]
