"""Zstandard: the standard library's module from Python 3.14 on, its backport before."""

import sys

if sys.version_info >= (3, 14):
    from compression.zstd import *  # noqa: F403
else:
    from backports.zstd import *  # noqa: F403
