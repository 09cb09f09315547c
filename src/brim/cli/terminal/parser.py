"""An argument parser that suggests the intended flag, and rewords library errors for the command line."""

from __future__ import annotations

import argparse
import difflib
import re
from typing import Any, NoReturn

# Library arguments that correspond to a flag.
_ARGUMENTS = re.compile(r"\b(budget|reserve|model|policy)=(?:brim\.\w+\(…\))?")
_CHOICE = re.compile(r"argument ([\w-]+)\S*: invalid choice: ('.*?') \(choose from (.*)\)", re.DOTALL)
_FLAG = re.compile(r"argument (--[\w-]+)(?:/-\w)?:")
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
        flags.remove("--help")  # which every command has, so that it would be near to many a word
        near = difflib.get_close_matches(name, flags, n=2, cutoff=0.6)
        hint = f"did you mean {' or '.join(near)}?" if near else f"{self.prog} --help lists its flags"
        return f"there is no flag {name}: {hint}"

    def error(self, message: str) -> NoReturn:
        for action in self._actions:
            if isinstance(action, argparse._SubParsersAction) and "are required" in message:
                message = f"name what to do: {', '.join(action.choices)}"
        told = _FLAG.sub(r"\1:", _CHOICE.sub(_no_choice, message))
        self.exit(2, f"{self.prog}: {told}\n")


def _no_choice(found: re.Match[str]) -> str:
    """Example: "argument agent: invalid choice: 'x' (choose from 'a', 'b')" -> "there is no agent 'x': give a, b" """
    return f"there is no {found[1].lstrip('-').lower()} {found[2]}: give one of {found[3].replace(chr(39), '')}"


def in_flags(problem: str) -> str:
    """A library error in terms of flags. Example: "raise budget=, shorten …" -> "raise --budget, shorten …" """
    return _ARGUMENTS.sub(r"--\1", _ONLY_PYTHON.sub("", problem))
