"""Zstandard, from the standard library since Python 3.14, else from its backport."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import *  # noqa: F403
else:
    from backports.zstd import *  # noqa: F403
