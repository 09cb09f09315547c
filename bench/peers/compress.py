"""Compresses texts as headroom does, in the environment where it is installed.

PYTHON compress.py lossless|default < ["text", …] -> {"version": "0.42.0", "texts": […]}
"""

from __future__ import annotations

import json
import sys
from importlib.metadata import version


def main() -> int:
    from headroom import SmartCrusher

    crusher = SmartCrusher(lossless_only=sys.argv[1] == "lossless")
    texts = [crusher.crush(text).compressed for text in json.load(sys.stdin)]
    print(json.dumps({"version": version("headroom-ai"), "texts": texts}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
