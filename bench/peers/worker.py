"""Answers for one library, in the environment where that library is installed: a JSON object a line in, one out.

    PYTHON worker.py by_litellm

{"do": "open", "how": "trim_messages"}             a new conversation -> {}
{"do": "fit", "messages": […], "budget": 8000}     -> {"messages": […], "seconds": 0.01} or {"refused": "why"}
{"do": "held", "values": ["A-1"]}                  which of them one call of the library's own retrieval gives back
{"do": "count", "how": "tiktoken", "requests": […]} -> {"tokens": […], "seconds": 0.01}
{"do": "pack", "how": "lossless", "texts": […]}    -> {"texts": […], "back": […], "seconds": 0.01}
{"do": "cut", "how": "compact", "texts": [["…", 500]]}  each into so many tokens -> {"texts": […], "seconds": 0.01}

`seconds` is processor time of the library's own call. The file of a library has FITS, COUNTS, PACKS and CUTS by name,
and PACKAGES, whose versions are told first.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import time
from importlib.metadata import version
from typing import Any

# What libraries raise when they cannot do what they are asked; anything else ends the worker and is told with its text.
REFUSALS = (ValueError, TypeError, KeyError, IndexError, AttributeError, RuntimeError, NotImplementedError)


class Desk:
    """The library at work on one conversation after another."""

    def __init__(self, library: Any) -> None:
        self._library = library
        self._fitter: Any = None

    def open(self, asked: dict[str, Any]) -> dict[str, Any]:
        self._fitter = self._library.FITS[asked["how"]]()
        return {}

    def fit(self, asked: dict[str, Any]) -> dict[str, Any]:
        begun = time.process_time()
        messages = self._fitter(asked["messages"], asked["budget"])
        return {"seconds": time.process_time() - begun, "messages": messages}

    def held(self, asked: dict[str, Any]) -> dict[str, Any]:
        find = getattr(self._fitter, "held", None)
        return {"held": [bool(find and find(value)) for value in asked["values"]], "can": find is not None}

    def count(self, asked: dict[str, Any]) -> dict[str, Any]:
        count = self._library.COUNTS[asked["how"]]()
        begun = time.process_time()
        tokens = [count(request) for request in asked["requests"]]
        return {"seconds": time.process_time() - begun, "tokens": tokens}

    def pack(self, asked: dict[str, Any]) -> dict[str, Any]:
        pack, unpack = self._library.PACKS[asked["how"]]()
        begun = time.process_time()
        texts = [pack(text) for text in asked["texts"]]
        spent = time.process_time() - begun
        return {"seconds": spent, "texts": texts, "back": [unpack(text) for text in texts] if unpack else None}

    def cut(self, asked: dict[str, Any]) -> dict[str, Any]:
        cut = self._library.CUTS[asked["how"]]()
        begun = time.process_time()
        texts = [cut(text, budget) for text, budget in asked["texts"]]
        return {"seconds": time.process_time() - begun, "texts": texts}


def main() -> int:
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what a library prints must not stand between the answers
    library = importlib.import_module(sys.argv[1])
    desk = Desk(library)
    refusals = (*REFUSALS, *getattr(library, "REFUSALS", ()))
    first = {"versions": {name: version(name) for name in library.PACKAGES}}
    print(json.dumps(first), file=answers, flush=True)
    for line in sys.stdin:
        asked = json.loads(line)
        try:
            answer = getattr(desk, asked["do"])(asked)
        except refusals as problem:
            answer = {"refused": f"{type(problem).__name__}: {problem}"[:300]}
        print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
