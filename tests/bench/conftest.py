"""The benchmarks are scripts beside the package; the tests import them as they import each other."""

from __future__ import annotations

import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parent.parent.parent / "bench"
if str(BENCH) not in sys.path:
    sys.path.append(str(BENCH))
