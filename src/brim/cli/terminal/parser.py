"""An argument parser that suggests the intended flag, and rewords library errors for the command line."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import Any, NoReturn

# Library arguments that correspond to a flag.
_ARGUMENTS = re.compile(r"\b(budget|reserve|model|policy)=(?:brim\.\w+\(…\))?")
_ONLY_PYTHON = re.compile(r",? and model=brim\.Model\(…\) one to a call")


class SuggestingParser(argparse.ArgumentParser):
    """Says which flag a wrong one looks like. Example: --modle -> did you mean --model?"""

    def parse_known_args(self, args: Any = None, namespace: Any = None) -> tuple[Any, list[str]]:
        found, left = super().parse_known_args(args, namespace)
        wrong = [word for word in left if word.startswith("-") and word != "-"]
        if wrong and not self._subparsers:
            self.error(self._unknown(wrong[0]))
        return found, left

    def _unknown(self, word: str) -> str:
        name = word.partition("=")[0]
        flags = [flag for action in self._actions for flag in action.option_strings if flag.startswith("--")]
        near = difflib.get_close_matches(name, flags, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"{self.prog} --help lists its flags"
        return f"there is no flag {name}: {hint}"

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def in_flags(problem: str) -> str:
    """A library error in terms of flags. Example: "raise budget=, shorten …" -> "raise --budget, shorten …" """
    return _ARGUMENTS.sub(r"--\1", _ONLY_PYTHON.sub("", problem))
