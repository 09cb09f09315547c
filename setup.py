"""The one compiled part, which is optional: without a compiler the plain-Python counter does its work."""

from setuptools import Extension, setup

setup(ext_modules=[Extension("brim.tokens._claude", ["src/brim/tokens/_claude.c"], optional=True)])
