"""The compiled parts. All are optional: without a compiler plain Python does the same, more slowly.

BRIM_PURE=1 leaves them out, for the one wheel that every machine takes where there is none of its own.
"""

import os
import sys

from setuptools import Extension, setup

claude = Extension(
    "brim.tokens._claude",
    sources=["src/brim/tokens/_claude.c"],
    depends=["src/brim/tokens/_claude_tiles.h"],
    optional=True,
)
pieces = Extension("brim.tokens._pieces", sources=["src/brim/tokens/_pieces.c"], optional=True)
scan = Extension("brim.relevance._scan", sources=["src/brim/relevance/_scan.c"], optional=True)
share = Extension(
    "brim.relevance._share",
    sources=["src/brim/relevance/_share.c"],
    extra_compile_args=["/fp:precise"] if sys.platform == "win32" else ["-ffp-contract=off"],
    optional=True,
)

# Without what a debugger needs: it is two thirds of their size.
for module in (claude, pieces, scan, share):
    module.extra_compile_args += [] if sys.platform == "win32" else ["-g0"]

setup(ext_modules=[] if os.environ.get("BRIM_PURE") else [claude, pieces, scan, share])
