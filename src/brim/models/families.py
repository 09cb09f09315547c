"""Which tokenizer a model name stands for: one ordered table of name patterns.

A new name of a known family resolves by its pattern, without a catalog entry; a name that fits no
pattern is `"estimate"`. Where a maker has not published whether a new generation kept its tokenizer,
the row says what it rests on.
"""

from __future__ import annotations

import re
from functools import cache
from typing import Final, Literal, get_args

Family = Literal[
    "o200k",
    "cl100k",
    "gpt-oss",
    "llama-2",
    "llama-3",
    "qwen-2",
    "qwen-3",
    "deepseek-v3",
    "gemma-2",
    "gemma-3",
    "mistral-v1",
    "mistral",
    "kimi-k2",
    "glm-4",
    "phi-4",
    "claude-3",
    "claude-4.7",
    "claude-4.8",
    "estimate",
]
FAMILIES: Final[tuple[Family, ...]] = get_args(Family)

# "claude-3-5-sonnet", "claude-sonnet-4.5", "claude-v2:1"; in "claude-opus-4@20250514" a date is no version.
_CLAUDE: Final = r"claude-(?:[a-z]+-)?v?(\d{1,2})(?:[-.:p](\d{1,2}))?(?!\d)"

# The first row that matches decides, so what is derived from another model stands above its namesake.
_RULES: Final[tuple[tuple[str, Family], ...]] = (
    (r"gpt-?oss", "gpt-oss"),
    (r"deepseek-r1-distill-qwen|deepseek-r1-0528-qwen3", "qwen-2"),
    # Models named after the Llama 3 that they were trained from (Hermes, Nemotron, R1 distills, …).
    (r"(?:meta-)?llama-?v?3(?![0-9])", "llama-3"),
    (r"deepseek-r1-distill-llama|hermes-4-(?:70b|405b)", "llama-3"),
    # Qwen 3.5 brought a vocabulary of its own; the unversioned qwen-max/plus/turbo follow the newest.
    (r"qwen-?3[.p-]?[5-9](?![0-9b])|qwen-?[4-9](?![0-9])", "estimate"),
    (r"qwen-?3(?![0-9])", "qwen-3"),
    (r"qwen-?(?:1[.p]5|2)(?![0-9])|qwq|qvq", "qwen-2"),
    # V2 and the first coder models have older vocabularies; V4 kept that of V3.
    (r"deepseek-(?:v2|coder|llm|moe|vl)", "estimate"),
    (r"deepseek", "deepseek-v3"),
    (r"(?:meta-)?llama-?v?2(?![0-9])|code-?llama", "llama-2"),
    # Gemma 1 and 2 share one vocabulary, which Gemma 3 left; "gemma-2b" is of the first.
    (r"gemma-?(?:1|2|7b)(?![0-9])|(?:code|recurrent)gemma", "gemma-2"),
    # Models after Gemini 1.5 are published as using Gemma 3's vocabulary.
    (r"gemini|gemma|learnlm", "gemma-3"),
    # SentencePiece generations (7B, Mixtral, first Codestral, 24-02) are not the Tekken vocabulary.
    # Its later versions only added control tokens.
    (r"(?:open-)?(?:mistral-7b|mixtral|mathstral|codestral-(?:22b|2405|mamba)|mistral-tiny)", "mistral-v1"),
    (r"mistral-(?:small|medium|large)-(?:2312|2402)", "estimate"),
    (r"(?:labs-|open-)?(?:mistral|ministral|codestral|devstral|magistral|pixtral|voxtral|leanstral)-", "mistral"),
    (r"kimi-|moonlight-", "kimi-k2"),  # K3 has the merges of K2
    (r"glm-?[45](?![0-9])|chatglm|glm-z1", "glm-4"),
    (r"phi-4-(?:mini|multimodal|flash)", "o200k"),  # the 200k vocabulary, unlike Phi-4 itself
    (r"phi-?4(?![0-9])", "phi-4"),
    (r"gpt-?4[.-]?(?:o|1|5)(?![0-9])|chatgpt|codex|computer-use", "o200k"),
    # tiktoken lists gpt-5*; later generations have published no other vocabulary.
    (r"gpt-?(?:[5-9]|audio|realtime|chat|live|rosalind)|o[1-9](?![a-z0-9])", "o200k"),
    (r"gpt-?(?:4|3[.-]?5)|text-embedding|davinci-002|babbage-002", "cl100k"),
)


@cache
def _compiled() -> tuple[tuple[re.Pattern[str], Family], ...]:
    """The rules, compiled at the first use: importing must stay cheap."""
    return tuple((re.compile(rf"(?:^|[^a-z0-9])(?:{pattern})"), family) for pattern, family in _RULES)


def family_of(name: str) -> Family:
    """The tokenizer family of a model name, whatever host prefixes and dates it carries.

    Example: `"us.anthropic.claude-opus-4-8-v1:0"` -> `"claude-4.8"`; `"my-model"` -> `"estimate"`.
    """
    lowered = name.lower().replace("_", "-")
    if "claude" in lowered:
        return _claude_family(lowered)
    for pattern, family in _compiled():
        if pattern.search(lowered):
            return family
    return "estimate"


def _claude_family(name: str) -> Family:
    found = re.search(_CLAUDE, name)
    if not found:
        # No version: "claude-instant" is older than Claude 3, any other name is a preview of the newest.
        return "estimate" if "instant" in name else "claude-4.8"
    version = (int(found[1]), int(found[2] or 0))
    if version < (3, 0):
        return "estimate"
    if version < (4, 7):
        return "claude-3"
    return "claude-4.7" if version < (4, 8) else "claude-4.8"
