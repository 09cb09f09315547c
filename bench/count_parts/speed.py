"""Texts to time counters with, and the texts that make tokenizers slow.

No text is counted twice: every round has texts of its own, and each counter sees each of them once. What a tokenizer
keeps from earlier texts (pieces of words that occur again) it may use, as it would in a running process.
"""

from __future__ import annotations

import base64
import json
import random
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from brim.tokens.tokenizers import families, tokenizer

Row = tuple[str, float, str]
ROUNDS = 9
MEGABYTE = 1_000_000

# Common words, to make sentences that no earlier round had.
_CHINESE = (
    "我们 可以 使用 这个 系统 进行 数据 分析 如果 没有 问题 用户 需要 时间 公司 发展 技术 中国 世界 研究 经济 社会 "
    "工作 学习 生活 城市 环境 保护 政府 教育 文化 历史 今天 昨天 明天 已经 正在 开始 结束 重要 主要 方法 结果 模型 "
    "的 了 是 在 和 有 不 人 这 中 大 为 上 个 国 以 要 他 时 来 用 们 生 到 作 地 于 出 就 分 对 成 会 可 主 发 年 动"
).split()
_JAPANESE = (
    "これは それが 私たちは システムを データの 分析する ことが できます 問題が ない 場合 には 利用者 時間 会社 技術 "
    "日本 世界 研究 経済 社会 仕事 学習 生活 都市 環境 政府 教育 文化 歴史 今日 昨日 明日 すでに 始まる 終わる 重要な "
    "方法 結果 です ます でした という として について によって ために"
).split()


def _cjk(rnd: random.Random, size: int) -> str:
    """Sentences of common words in random order: clauses hardly ever repeat, characters do."""
    parts: list[str] = []
    length = 0
    words = rnd.choice((_CHINESE, _JAPANESE))
    while length < size:
        clause = "".join(rnd.choices(words, k=rnd.randrange(3, 12))) + rnd.choice(("，", "。", "、", "。\n"))
        parts.append(clause)
        length += len(clause)
    return "".join(parts)[:size]


def _texts(file: Path, *keys: str) -> str:
    """The text of a JSONL file: the named field of each line, or of each message inside it."""
    found: list[str] = []
    with file.open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            for holder in record.get("messages", [record]):
                value = next((holder[key] for key in keys if holder.get(key)), None)
                found.append(value if isinstance(value, str) else json.dumps(value, indent=1, ensure_ascii=False))
    return "\n".join(found)


def _rounds(source: str, size: int, each: int) -> list[list[str]]:
    """`ROUNDS` lists of up to `each` texts of `size` characters, no two from the same place."""
    pieces = [source[at : at + size] for at in range(0, len(source) - size, size)]
    random.Random(4).shuffle(pieces)
    each = min(each, len(pieces) // ROUNDS)
    return [pieces[number * each : (number + 1) * each] for number in range(ROUNDS)]


def sets(data_dir: Path) -> Iterator[tuple[str, str, list[list[str]]]]:
    rnd = random.Random(8)
    yield "CJK, 2,000 characters", ">= 3", [[_cjk(rnd, 2_000) for _ in range(10)] for _ in range(ROUNDS)]
    for name, bar, file, keys, size, each in (
        ("200-character messages", ">= 0.9", "tau_airline_gpt4o.jsonl", ("content",), 200, 300),
        ("10 KB code", ">= 3", "coderag_chunks.jsonl", ("text",), 10_000, 5),
        ("100 KB JSON", ">= 3", "json_tool_outputs.jsonl", ("body",), 100_000, 3),
    ):
        path = Path(data_dir) / file
        if path.is_file():
            yield name, bar, _rounds(_texts(path, *keys), size, each)
        else:
            print(f"speed: no {path}, {name} skipped", file=sys.stderr)


def _megabyte_texts() -> dict[str, str]:
    rnd = random.Random(5)
    return {
        "a": "a" * MEGABYTE,
        "spaces": " " * MEGABYTE,
        "newlines": "\n" * MEGABYTE,
        "-": "-" * MEGABYTE,
        "base64": base64.b64encode(rnd.randbytes(MEGABYTE * 3 // 4)).decode(),
        "emoji families": "👨‍👩‍👧‍👦" * (MEGABYTE // 7),
        "punctuation": "".join(rnd.choices("!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~", k=MEGABYTE)),
    }


def rows() -> list[Row]:
    """The slowest megabyte of every family."""
    texts = _megabyte_texts()
    slowest = ("", "", 0.0)
    for family in families():
        count = tokenizer(family)
        count("warm")
        for label, text in texts.items():
            begun = time.process_time()
            count(text)
            slowest = max(slowest, (family, label, time.process_time() - begun), key=lambda one: one[2])
    return [(f"slowest megabyte in CPU seconds ({slowest[0]}, {slowest[1]})", slowest[2], "<= 2")]
