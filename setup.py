"""The one compiled part, which is optional: without a compiler the plain-Python counter does its work."""

from setuptools import Extension, setup

claude = Extension(
    "brim.tokens._claude",
    sources=["src/brim/tokens/_claude.c"],
    depends=["src/brim/tokens/_claude_tiles.h"],
    optional=True,
)

setup(ext_modules=[claude])
