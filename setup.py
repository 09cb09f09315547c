"""The compiled parts. All are optional: without a compiler plain Python does the same, more slowly."""

from setuptools import Extension, setup

claude = Extension(
    "brim.tokens._claude",
    sources=["src/brim/tokens/_claude.c"],
    depends=["src/brim/tokens/_claude_tiles.h"],
    optional=True,
)
find = Extension("brim.plan.relevance._find", sources=["src/brim/plan/relevance/_find.c"], optional=True)
plain = Extension("brim.wire._plain", sources=["src/brim/wire/_plain.c"], optional=True)

setup(ext_modules=[claude, find, plain])
