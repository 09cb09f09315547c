"""Fits a chat as another library does, in the environment where that library is installed; prints its processor time.

    PYTHON trim.py brim|langchain|litellm MESSAGES.json BUDGET -> {"seconds": 1.2, "messages": 40}

One small chat is fitted first, so that what is loaded once is not in the time.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")  # or its import asks the network
Chat = list[dict[str, Any]]
Fit = Callable[[Chat, int], Any]


def by_brim() -> Fit:
    import brim

    return lambda messages, budget: brim.fit(messages, model="gpt-4o", budget=budget).messages


def by_langchain() -> Fit:
    """With its own exact counter, the chat model of gpt-4o, which counts with tiktoken."""
    import litellm
    from langchain_core.messages import convert_to_messages, trim_messages
    from langchain_openai import ChatOpenAI

    # LiteLLM brings the vocabulary along; tiktoken would download it.
    vocabularies = Path(litellm.__file__).parent / "litellm_core_utils" / "tokenizers"
    os.environ.setdefault("TIKTOKEN_CACHE_DIR", str(vocabularies))
    model = ChatOpenAI(model="gpt-4o", api_key="none")
    return lambda messages, budget: trim_messages(
        convert_to_messages(messages), max_tokens=budget, token_counter=model, strategy="last", include_system=True,
        start_on="human",
    )  # fmt: skip


def by_langchain_quick() -> Fit:
    """With the library that Brim counts with itself, which remembers words."""
    import splintr
    from langchain_core.messages import convert_to_messages, trim_messages

    encode = splintr.Tokenizer.from_pretrained("o200k_base").encode_flat

    def count(messages: Any) -> int:
        return 3 + sum(4 + len(encode(message.content)) // 4 for message in messages)

    return lambda messages, budget: trim_messages(
        convert_to_messages(messages), max_tokens=budget, token_counter=count, strategy="last", include_system=True,
        start_on="human",
    )  # fmt: skip


def by_litellm() -> Fit:
    from litellm.utils import trim_messages

    return lambda messages, budget: trim_messages(messages, model="gpt-4o", max_tokens=budget)


FITS: dict[str, Callable[[], Fit]] = {
    "brim": by_brim,
    "langchain": by_langchain,
    "langchain-quick": by_langchain_quick,
    "litellm": by_litellm,
}

PACKAGES = {"langchain": "langchain-core", "langchain-quick": "langchain-core"}


def main() -> int:
    name, file, budget = sys.argv[1:]
    messages = json.loads(Path(file).read_text(encoding="utf-8"))
    fit = FITS[name]()
    fit(
        [{"role": "system", "content": "Be brief."}] + [{"role": "user", "content": f"hello {n}"} for n in range(30)],
        100,
    )
    begun = time.process_time()
    fitted = fit(messages, int(budget))
    spent = time.process_time() - begun
    print(json.dumps({"seconds": spent, "messages": len(fitted), "version": version(PACKAGES.get(name, name))}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
