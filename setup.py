"""The compiled parts. All are optional: without a compiler plain Python does the same, more slowly."""

from setuptools import Extension, setup

claude = Extension(
    "brim.tokens._claude",
    sources=["src/brim/tokens/_claude.c"],
    depends=["src/brim/tokens/_claude_tiles.h"],
    optional=True,
)
scan = Extension("brim.plan.relevance._scan", sources=["src/brim/plan/relevance/_scan.c"], optional=True)
plain = Extension("brim.wire._plain", sources=["src/brim/wire/_plain.c"], optional=True)

setup(ext_modules=[claude, plain, scan])
