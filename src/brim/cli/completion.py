"""`brim completion`: print a script for shell completion of `brim`."""

from __future__ import annotations

import argparse
from typing import Any

from brim.cli import COMMANDS, module_of

_EXAMPLES = """examples:
  brim completion bash > ~/.local/share/bash-completion/completions/brim
  brim completion zsh > "${fpath[1]}/_brim"
  brim completion fish > ~/.config/fish/completions/brim.fish
"""


def add(subparsers: Any) -> None:
    """Register `completion` with the command line."""
    parser = subparsers.add_parser(
        "completion",
        help="complete commands in a shell",
        description="Print what makes a shell complete Brim's commands and their flags.",
        epilog=_EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("shell", choices=tuple(SHELLS), help="the shell")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    print(SHELLS[args.shell](words()), end="")
    return 0


def words() -> dict[str, list[str]]:
    """The words that may follow each command: its flags, subcommands and possible arguments."""
    return {name: _words_of(name) for name in COMMANDS}


def _words_of(name: str) -> list[str]:
    root = argparse.ArgumentParser(prog="brim")
    subparsers = root.add_subparsers()
    module_of(name).add(subparsers)
    found: list[str] = []
    for action in subparsers.choices[name]._actions:
        found += action.option_strings
        if not action.option_strings and action.choices is not None:
            found += map(str, action.choices)
    return found


def _bash(known: dict[str, list[str]]) -> str:
    cases = "\n".join(f"    {name}) words='{' '.join(found)}' ;;" for name, found in known.items())
    return f"""_brim() {{
  local words='{" ".join(known)}'
  [ "$COMP_CWORD" -gt 1 ] && case "${{COMP_WORDS[1]}}" in
{cases}
    *) words='' ;;
  esac
  COMPREPLY=($(compgen -W "$words" -- "${{COMP_WORDS[COMP_CWORD]}}"))
}}
complete -o default -F _brim brim
"""


def _zsh(known: dict[str, list[str]]) -> str:
    cases = "\n".join(f"    {name}) compadd -- {' '.join(found)} ;;" for name, found in known.items())
    return f"""#compdef brim
_brim() {{
  if (( CURRENT == 2 )); then
    compadd -- {" ".join(known)}
    return
  fi
  case "$words[2]" in
{cases}
  esac
  _files
}}
compdef _brim brim
"""


def _fish(known: dict[str, list[str]]) -> str:
    lines = [f"complete -c brim -n __fish_use_subcommand -a {name} -d '{_quoted(COMMANDS[name])}'" for name in known]
    for name, found in known.items():
        lines += [f"complete -c brim -n '__fish_seen_subcommand_from {name}' -a '{word}'" for word in found]
    return "\n".join(lines) + "\n"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


SHELLS = {"bash": _bash, "zsh": _zsh, "fish": _fish}
